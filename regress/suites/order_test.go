//go:build !nopause

package suites_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Messages of one connection take effect in the order in which they were read:
// G9, and E1 for OK.

// TestLastREQOfABurstWins starts many queries of one id and lets them go in any
// order: first to last, last to first.
func TestLastREQOfABurstWins(t *testing.T) {
	t.Parallel()
	for _, at := range reqPoints[1:] {
		for _, backwards := range []bool{false, true} {
			t.Run(fmt.Sprint(at, " ", backwards), func(t *testing.T) {
				t.Parallel()
				o := harness.Options{Limits: harness.DefaultLimits()}
				o.Limits.Queries = 8
				inWorld(t, o, func(t *testing.T, w *world) { burst(t, w, at, backwards) })
			})
		}
	}
}

func burst(t *testing.T, w *world, at pause.Point, backwards bool) {
	const first, last = 41, 45
	for kind := first; kind <= last; kind++ {
		w.Commit(t, note(kind, kind))
	}
	w.Step(t)
	var queries []*task
	for kind := first; kind <= last; kind++ {
		q := w.send(at, req("x", kind))
		require.True(t, q.parked())
		queries = append(queries, q)
	}
	if backwards {
		slices.Reverse(queries)
	}
	for _, q := range queries {
		q.finish(t)
	}
	require.Equal(t, []string{frame("x", note(last, last)), eose("x")}, w.client.Settle())
	w.settled(1)
}

// TestCloseAndREQAlternateInOrder ends a burst with either.
func TestCloseAndREQAlternateInOrder(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{false, true} {
		inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
			w.Commit(t, note(1, 1))
			w.Step(t)
			for range 20 {
				w.client.Send(req("x", 1))
				w.client.Send(closing("x"))
			}
			if !open {
				require.Empty(t, w.client.Settle())
				w.settled(0)
				return
			}
			w.client.Send(req("x", 1))
			require.Equal(t, []string{frame("x", note(1, 1)), eose("x")}, w.client.Settle())
			w.settled(1)
		})
	}
}

// TestSlowQueriesDelayNeitherCloseNorEventsNorAuth: every query place is taken
// by one that stands.
func TestSlowQueriesDelayNeitherCloseNorEventsNorAuth(t *testing.T) {
	t.Parallel()
	o := harness.Options{Limits: harness.DefaultLimits()}
	o.Limits.Queries = 2
	inWorld(t, o, func(t *testing.T, w *world) {
		a, b := w.send(pause.ReqSnapshot, req("a", 1)), w.send(pause.ReqSnapshot, req("b", 1))
		w.client.Send(req("c", 1))
		w.client.Send(closing("a"))
		w.client.Send(closing("c")) // its query has no place yet
		msg, ev := publish(t, 1)
		w.client.Send(msg)
		w.client.Send(authMessage(t, w))
		require.ElementsMatch(t, []string{"OK", "OK"}, verbs(t, w.client.Settle()))
		w.Step(t)
		other := w.Connect(t)
		other.Send(req("a", 1))
		require.Equal(t, []string{frame("a", ev), eose("a")}, other.Settle())
		other.Disconnect(t)
		a.finish(t)
		b.finish(t)
		w.settled(1)
	})
}

// TestEventsCommitInReadOrder lets events pile up behind one that stands before
// its commit.
func TestEventsCommitInReadOrder(t *testing.T) {
	t.Parallel()
	for _, at := range []pause.Point{pause.EventVerified, pause.EventCommitted} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
				var want []string
				var first *task
				for n := range 10 {
					msg, ev := publish(t, n)
					want = append(want, ev.ID)
					if n == 0 {
						first = w.send(at, msg)
						require.True(t, first.parked())
						continue
					}
					w.client.Send(msg)
				}
				first.finish(t)
				require.Equal(t, want, logIDs(t, w))
				w.settled(0)
			})
		})
	}
}

func logIDs(t *testing.T, w *world) (ids []string) {
	t.Helper()
	entries, err := w.Store.ReadLog(t.Context(), 0, 1000)
	require.NoError(t, err)
	for _, e := range entries {
		ids = append(ids, e.Event.ID)
	}
	return ids
}

// TestVerificationOutOfOrderCommitsInOrder: the checks end last to first, the
// serial stage sees first to last.
func TestVerificationOutOfOrderCommitsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const items = 8
		group := lifecycle.NewGroup(t.Context())
		var got []int
		lane := lifecycle.NewLane(group, lifecycle.NewPool(group, items), harness.DefaultLimits(),
			func(_ context.Context, batch []int) { got = append(got, batch...) })
		verified := make([]chan struct{}, items+1)
		for i := range verified {
			verified[i] = make(chan struct{})
		}
		for i := range items {
			require.NoError(t, lane.Push(t.Context(), i, 1, func() {
				<-verified[i+1]
				close(verified[i])
			}))
		}
		synctest.Wait()
		require.Empty(t, got)
		close(verified[items])
		synctest.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, got)
		group.Cancel()
		require.NoError(t, group.Wait(t.Context()))
	})
}

// TestOKComesAfterTheCommit: at the point before the OK the event can be read by
// others, and before the commit there is neither (E1).
func TestOKComesAfterTheCommit(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		msg, ev := publish(t, 1)
		verified := w.send(pause.EventVerified, msg)
		require.Empty(t, w.client.Take())
		require.Empty(t, logIDs(t, w))
		committed := w.control.Arm(pause.EventCommitted)
		verified.finish(t)
		require.True(t, committed.Parked())
		require.Empty(t, w.client.Take())
		require.Equal(t, []string{ev.ID}, logIDs(t, w))
		committed.Release()
		require.Equal(t, []string{string(wire.AppendOK(nil, ev.ID, true, wire.Reason{}))}, w.client.Settle())
		w.settled(0)
	})
}

// TestRefusedEventsDoNotHoldUpTheOrder mixes events that are refused at each
// stage into a run of good ones; each has its own OK.
func TestRefusedEventsDoNotHoldUpTheOrder(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		var want []string
		for n := range 6 {
			good, ev := publish(t, n)
			want = append(want, ev.ID)
			forged := note(n, 1) // its signature is none
			auth := note(n, nostr.KindClientAuthentication)
			w.client.Send(string(wire.AppendEventMessage(nil, forged)))
			w.client.Send(good)
			w.client.Send(good)
			w.client.Send(string(wire.AppendEventMessage(nil, auth)))
		}
		require.Len(t, w.client.Settle(), 24)
		require.Equal(t, want, logIDs(t, w))
		w.settled(0)
	})
}

// TestAuthEndsBeforeTheNextMessage: a burst of refused, AUTH, accepted.
func TestAuthEndsBeforeTheNextMessage(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{Auth: "all"}, func(t *testing.T, w *world) {
		early, _ := publish(t, 1)
		late, ev := publish(t, 2, nostr.Tag{"-"})
		parked := w.startTo(pause.EventVerified, func() {
			for _, m := range []string{
				early, req("x", 1), `["COUNT","c",{}]`, authMessage(t, w), late, req("y", 1), `["COUNT","c",{}]`,
			} {
				w.client.Send(m)
			}
		})
		require.True(t, parked.parked())
		parked.finish(t)
		w.Step(t)
		got := w.client.Settle()
		require.Equal(t, []string{"OK", "CLOSED", "CLOSED", "OK"}, verbs(t, got[:4]))
		requireClosed(t, got[1:2], "x", wire.AuthRequired)
		require.ElementsMatch(t, []string{"OK", "EVENT", "EOSE", "COUNT"}, verbs(t, got[4:]))
		require.Contains(t, got, frame("y", ev))
		w.settled(1)
	})
}

// TestStoreSeesBatchesOfOneConnectionOneAfterAnother: the next batch is not
// handed over while one is being committed.
func TestStoreSeesBatchesOfOneConnectionOneAfterAnother(t *testing.T) {
	t.Parallel()
	gate := &gatedStore{enter: make(chan int, 16), leave: make(chan struct{})}
	synctest.Test(t, func(t *testing.T) {
		gate.leave = make(chan struct{}) // of this bubble
		gate.enter = make(chan int, 16)
		o := harness.Options{Control: harness.NewController(), Trace: true}
		o.Wrap = func(s store.Store) store.Store {
			gate.Store = s
			return gate
		}
		w := &world{Relay: harness.New(t, o), t: t, control: o.Control}
		w.client = w.Connect(t)
		var want []string
		for n := range 5 {
			msg, ev := publish(t, n)
			want = append(want, ev.ID)
			w.client.Send(msg)
			synctest.Wait()
		}
		require.Len(t, gate.enter, 1)
		close(gate.leave)
		synctest.Wait()
		require.Equal(t, 2, len(gate.enter), "what piled up is one commit")
		require.Equal(t, 1, <-gate.enter)
		require.Equal(t, 4, <-gate.enter)
		require.Equal(t, want, logIDs(t, w))
		w.settled(0)
	})
}

// gatedStore holds up Append until leave is closed.
type gatedStore struct {
	store.Store
	enter chan int // sizes of the batches
	leave chan struct{}
}

func (g *gatedStore) Append(ctx context.Context, writes []store.Write) []store.Outcome {
	g.enter <- len(writes)
	<-g.leave
	return g.Store.Append(ctx, writes)
}
