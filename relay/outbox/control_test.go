package outbox_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// control commits one control row.
func (w *world) control(t *testing.T) store.Position {
	t.Helper()
	out := w.log.Append(t.Context(), []store.Write{{Controls: []store.Control{{Scopes: []string{"relay"}, Data: []byte("{}")}}}})
	require.NoError(t, out[0].Err)
	return out[0].Position
}

// The events before a control row go out under what held before it, those behind
// it under what holds then.
func TestControlRowsAreAppliedAtTheirPosition(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.subscribe(t, "x", 1)
		open := true
		w.policy.sight = func(*wire.Event) lifecycle.Sight {
			return lifecycle.Sight{May: func([]string) bool { return open }}
		}
		w.policy.apply = func(e *store.Entry) error {
			require.Equal(t, e.Position, w.Begun())
			require.Equal(t, e.Position-1, w.Applied(), "it is in force when Apply returns, not before")
			open = !open
			return nil
		}
		w.commit(t, note(1, 1))
		first := w.control(t)
		w.commit(t, note(2, 1))
		second := w.control(t)
		w.commit(t, note(3, 1))
		require.Equal(t, 5, w.step(t))
		require.Equal(t, []string{"1", "3"}, w.take(t))
		require.Equal(t, []store.Position{first, second}, w.policy.applied)
	})
}

// O16: what cannot be applied stops all that follows, and is tried again.
func TestControlRowThatCannotBeAppliedStopsTheFollower(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.subscribe(t, "x", 1)
		unknown := errors.New("unknown row")
		var broken atomic.Bool
		broken.Store(true)
		w.policy.apply = func(*store.Entry) error {
			if broken.Load() {
				return unknown
			}
			return nil
		}
		w.commit(t, note(1, 1))
		row := w.control(t)
		w.commit(t, note(2, 1))
		n, err := w.Step(t.Context())
		require.ErrorIs(t, err, unknown)
		require.Equal(t, 1, n)
		require.Equal(t, row-1, w.Applied())
		require.Equal(t, row, w.Begun())
		require.Equal(t, counts{begun: uint64(row), applied: uint64(row - 1)}, *w.counts)

		stop := w.run(t)
		defer stop()
		after(time.Minute)
		require.True(t, w.Failing())
		require.Equal(t, []string{"1"}, w.take(t), "nothing behind it goes out")
		waiting, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, w.Await(waiting, row), context.DeadlineExceeded)

		broken.Store(false)
		after(10 * time.Second)
		require.False(t, w.Failing())
		require.Equal(t, []store.Position{row}, w.policy.applied)
		require.Equal(t, []string{"2"}, w.take(t))
	})
}

func TestFanoutAsksOnceAnEventAndOnlyWithCandidates(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.commit(t, note(1, 1))
		w.step(t)
		require.Zero(t, w.policy.asked)
		w.subscribe(t, "x", 1)
		w.subscribe(t, "y", 1)
		w.commit(t, note(2, 1))
		w.step(t)
		require.Equal(t, 1, w.policy.asked)
		require.Equal(t, []string{"2", "2"}, w.take(t))
	})
}

func TestReadersAreJudgedByTheKeysThatTheyHaveThen(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.subscribe(t, "x", 1)
		var seen [][]string
		w.policy.sight = func(*wire.Event) lifecycle.Sight {
			return lifecycle.Sight{May: func(keys []string) bool {
				seen = append(seen, keys)
				return len(keys) > 0
			}}
		}
		w.commit(t, note(1, 1))
		w.step(t)
		w.conn.AddKey("alice")
		w.commit(t, note(2, 1))
		w.step(t)
		require.Equal(t, [][]string{nil, {"alice"}}, seen)
		require.Equal(t, []string{"2"}, w.take(t))
		require.Equal(t, counts{begun: 2, applied: 2}, *w.counts, "a reader who may not see it loses nothing")
	})
}

// G4: the grant goes with the frame.
func TestFramesCarryTheGrantOfTheirDecision(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.subscribe(t, "x", 1)
		scope, member := lifecycle.NewScope(0), true
		w.policy.sight = func(*wire.Event) lifecycle.Sight {
			return lifecycle.Sight{Grant: lifecycle.NewGrant(scope), May: func([]string) bool { return member }}
		}
		w.commit(t, note(1, 1), note(2, 1))
		w.step(t)
		member = false
		scope.Move(3)
		require.Empty(t, w.take(t))
		synctest.Wait() // it is decided again, and refused
		require.Empty(t, w.take(t))
		require.Zero(t, w.conn.Usage().Frames)
	})
}

// A decision from outside is taken in the reader's own time: fan-out goes on to
// others, and the frame keeps its place.
func TestDecisionFromOutsideHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.subscribe(t, "x", 1)
		w.subscribe(t, "y", 2)
		answer := make(chan struct{})
		w.policy.sight = func(ev *wire.Event) lifecycle.Sight {
			if ev.Kind != 1 || ev.Content == "3" {
				return lifecycle.Sight{}
			}
			return lifecycle.Sight{Ask: func(ctx context.Context, _ []string) (bool, error) {
				<-answer
				return ev.Content == "1", nil
			}}
		}
		w.commit(t, note(1, 1), note(2, 1), note(3, 1), note(4, 2))
		require.Equal(t, 4, w.step(t), "the follower does not wait")
		require.Equal(t, []string{"4"}, w.take(t))
		close(answer)
		synctest.Wait()
		require.Equal(t, []string{"1", "3"}, w.take(t))
	})
}

func TestOutsideIsNotAskedAboutWhoMayNotSeeAnyway(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.subscribe(t, "x", 1)
		w.policy.sight = func(*wire.Event) lifecycle.Sight {
			return lifecycle.Sight{
				May: func([]string) bool { return false },
				Ask: func(context.Context, []string) (bool, error) { return true, errors.New("asked") },
			}
		}
		w.commit(t, note(1, 1))
		w.step(t)
		synctest.Wait()
		require.Empty(t, w.take(t))
		require.Zero(t, w.conn.Usage().Frames)
	})
}
