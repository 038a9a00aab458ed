package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// rule is a permission that can be taken away: one scope, and who may see what.
type rule struct {
	scope  *lifecycle.Scope
	closed atomic.Pointer[[]string] // contents that nobody may see
	asked  atomic.Int32
	ask    func(ctx context.Context, keys []string) (bool, error)
}

func newRule() *rule {
	r := &rule{scope: lifecycle.NewScope(0)}
	r.closed.Store(&[]string{})
	return r
}

func (r *rule) sight(ev *wire.Event) lifecycle.Sight {
	r.asked.Add(1)
	return lifecycle.Sight{
		Grant: lifecycle.NewGrant(r.scope),
		May:   func([]string) bool { return !slices.Contains(*r.closed.Load(), ev.Content) },
		Ask:   r.ask,
	}
}

// revoke closes events, state first, and moves the epoch afterwards.
func (r *rule) revoke(at store.Position, events ...int) {
	closed := slices.Clone(*r.closed.Load())
	for _, n := range events {
		closed = append(closed, event(n).Content)
	}
	r.closed.Store(&closed)
	r.scope.Move(at)
}

// ruled runs test in a bubble with a connection under a rule.
func ruled(t *testing.T, test func(t *testing.T, c *lifecycle.Conn, r *rule), change ...func(*lifecycle.Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRule()
		c := newConn(t, append(change, func(o *lifecycle.Options) { o.Sight = r.sight })...)
		test(t, c, r)
	})
}

// settle takes until nothing moves any more. Rounds are counted, so that what is
// never decided fails a test instead of hanging it.
func settle(c *lifecycle.Conn) (all []string) {
	for range 100 {
		got := take(c)
		all = append(all, got...)
		synctest.Wait()
		if len(got) == 0 && c.Usage().Frames == 0 {
			break
		}
	}
	return all
}

func TestGrantHoldsUntilOneOfItsScopesMoves(t *testing.T) {
	t.Parallel()
	a, b := lifecycle.NewScope(3), lifecycle.NewScope(0)
	both, first := lifecycle.NewGrant(a, b), lifecycle.NewGrant(a)
	require.True(t, both.Holds())
	b.Move(9)
	require.False(t, both.Holds())
	require.True(t, first.Holds())
	require.True(t, lifecycle.NewGrant(a, b).Holds(), "decided again")
	require.True(t, (*lifecycle.Grant)(nil).Holds(), "what hangs on nothing")
	require.False(t, lifecycle.Undecided.Holds())
}

func TestQueuedFrameIsDroppedAfterARevocationAndOthersKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, c *lifecycle.Conn, r *rule) {
		h, other := goLive(t, c, "a"), goLive(t, c, "b")
		for i := 1; i <= 4; i++ {
			h.Deliver(store.Position(i), event(i), lifecycle.NewGrant(r.scope))
			other.Deliver(store.Position(i), event(i), nil)
		}
		r.revoke(5, 2, 3)
		require.Equal(t, []string{"EVENT b 1", "EVENT b 2", "EVENT b 3", "EVENT b 4"}, take(c), "b does not wait")
		synctest.Wait()
		require.Equal(t, []string{"EVENT a 1", "EVENT a 4"}, take(c))
		require.EqualValues(t, 4, r.asked.Load(), "once each")
		require.Equal(t, lifecycle.Usage{Subscriptions: 2, Reserved: c.Usage().Reserved}, c.Usage())
	})
}

func TestOrderOfAGenerationIsKeptBehindAnUndecidedFrame(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, c *lifecycle.Conn, r *rule) {
		h := reserve(t, c, "a")
		h.Begin(0)
		require.NoError(t, h.Replay(t.Context(), event(1), lifecycle.NewGrant(r.scope)))
		require.NoError(t, h.Replay(t.Context(), event(2), nil))
		h.Deliver(3, event(3), nil)
		_, err := h.GoLive(wire.HintFinish)
		require.NoError(t, err)
		h.Deliver(4, event(4), lifecycle.Undecided)
		c.Notify(wire.AppendNotice(nil, wire.Because(wire.Failed, "passes")))
		r.revoke(5)
		require.Equal(t, []string{"NOTICE"}, take(c), "EOSE does not overtake a stored event")
		require.Equal(t, []string{"EVENT a 1", "EVENT a 2", "EOSE a", "EVENT a 3", "EVENT a 4"}, settle(c))
	})
}

func TestHeldFrameIsDecidedAgain(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, c *lifecycle.Conn, r *rule) {
		h := reserve(t, c, "a")
		h.Begin(0)
		h.Deliver(1, event(1), lifecycle.NewGrant(r.scope))
		h.Deliver(2, event(2), lifecycle.NewGrant(r.scope))
		r.revoke(3, 1)
		_, err := h.GoLive(wire.HintFinish)
		require.NoError(t, err)
		require.Equal(t, []string{"EOSE a", "EVENT a 2"}, settle(c))
	})
}

func TestRevocationBetweenDecisionAndAnswerIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, point := range []pause.Point{pause.DecideChosen, pause.DecideDone} {
		var r *rule
		passes := 0
		hook := pause.NewHook(func(p pause.Point) {
			if p == point {
				if passes++; passes == 1 {
					r.revoke(9, 1)
				}
			}
		})
		ruled(t, func(t *testing.T, c *lifecycle.Conn, made *rule) {
			r = made
			h := goLive(t, c, "a")
			h.Deliver(1, event(1), lifecycle.Undecided)
			h.Deliver(2, event(2), lifecycle.Undecided)
			require.Equal(t, []string{"EVENT a 2"}, settle(c))
		}, func(o *lifecycle.Options) { o.Pause = hook })
	}
}

// What ends a generation while its frames are being decided about leaves no
// question open, and the answers to the others find their frames.
func TestGenerationEndsWhileItsFramesAreDecidedAbout(t *testing.T) {
	t.Parallel()
	ends := map[string]struct {
		end  func(c *lifecycle.Conn, h *lifecycle.Handle)
		want []string
	}{
		"CLOSE":       {func(c *lifecycle.Conn, _ *lifecycle.Handle) { c.Release("a") }, []string{"EVENT b 1", "EVENT b 2"}},
		"eviction":    {func(_ *lifecycle.Conn, h *lifecycle.Handle) { h.Evict(wire.Because(wire.Restricted, "no")) }, []string{"CLOSED a", "EVENT b 1", "EVENT b 2"}},
		"replacement": {func(c *lifecycle.Conn, _ *lifecycle.Handle) { _, _, _ = c.Reserve(context.Background(), "a", nil) }, []string{"EVENT b 1", "EVENT b 2"}},
		"end":         {func(c *lifecycle.Conn, _ *lifecycle.Handle) { c.Close(lifecycle.Cause{Code: 1000}) }, nil},
	}
	for name, end := range ends {
		var do func()
		hook := pause.NewHook(func(p pause.Point) {
			if p == pause.DecideDone && do != nil {
				now := do
				do = nil
				now()
			}
		})
		ruled(t, func(t *testing.T, c *lifecycle.Conn, _ *rule) {
			a, b := goLive(t, c, "a"), goLive(t, c, "b")
			for i := 1; i <= 2; i++ {
				a.Deliver(store.Position(i), event(i), lifecycle.Undecided)
				b.Deliver(store.Position(i), event(i), lifecycle.Undecided)
			}
			var got []string
			do = func() {
				end.end(c, a)
				got = take(c) // what is over leaves the queue
			}
			rest := settle(c)
			require.ElementsMatch(t, end.want, append(got, rest...), name)
		}, func(o *lifecycle.Options) { o.Pause = hook })
	}
}

func TestDecisionThatTakesTimeHoldsUpItsOwnSubscriptionOnly(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, c *lifecycle.Conn, r *rule) {
		answer := make(chan bool)
		r.ask = func(ctx context.Context, _ []string) (bool, error) {
			select {
			case yes := <-answer:
				return yes, nil
			case <-ctx.Done():
				return false, ctx.Err()
			}
		}
		a, b := goLive(t, c, "a"), goLive(t, c, "b")
		a.Deliver(1, event(1), lifecycle.Undecided)
		a.Deliver(2, event(2), lifecycle.Undecided)
		b.Deliver(1, event(1), nil)
		require.Equal(t, []string{"EVENT b 1"}, take(c))
		synctest.Wait()
		b.Deliver(3, event(3), nil)
		require.Equal(t, []string{"EVENT b 3"}, take(c))
		answer <- false
		answer <- true
		synctest.Wait()
		require.Equal(t, []string{"EVENT a 2"}, take(c))
	})
}

func TestSubscriptionEndsWhenNobodyCanDecide(t *testing.T) {
	t.Parallel()
	var ended []*lifecycle.Handle
	ruled(t, func(t *testing.T, c *lifecycle.Conn, r *rule) {
		r.ask = func(context.Context, []string) (bool, error) { return true, errors.New("nobody there") }
		h, other := goLive(t, c, "a"), goLive(t, c, "b")
		h.Deliver(1, event(1), lifecycle.Undecided)
		h.Deliver(2, event(2), lifecycle.Undecided)
		other.Deliver(2, event(2), nil)
		require.Equal(t, []string{"EVENT b 2", "CLOSED a"}, settle(c))
		require.Equal(t, []*lifecycle.Handle{h}, ended)
		require.False(t, h.Current())
	}, func(o *lifecycle.Options) { o.OnEnded = func(h *lifecycle.Handle) { ended = append(ended, h) } })
}

// Many frames, some of them of generations that end, are asked about in several
// rounds; the ones that were passed over are counted until they are settled.
func TestUndecidedFramesStayInTheAccounts(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, c *lifecycle.Conn, r *rule) {
		h := goLive(t, c, "a")
		for i := 1; i <= 40; i++ {
			grant := lifecycle.Undecided
			if i%3 == 0 {
				grant = nil
			}
			require.Equal(t, lifecycle.Queued, h.Deliver(store.Position(i), event(i), grant))
			if i%5 == 0 {
				r.revoke(store.Position(100+i), i)
			}
		}
		require.Equal(t, 40, c.Usage().Frames)
		got := settle(c)
		require.True(t, slices.IsSortedFunc(got, func(a, b string) int { return number(t, a) - number(t, b) }))
		require.Len(t, got, 40-8+2, "of every fifth, what hung on no grant came")
		require.Zero(t, c.Usage().Bytes)
		require.Zero(t, lifecycle.QueueSlots(c))
	})
}

// number reads the event's number out of "EVENT id n".
func number(t *testing.T, frame string) (n int) {
	t.Helper()
	_, err := fmt.Sscanf(frame, "EVENT a %d", &n)
	require.NoError(t, err)
	return n
}

func TestKeysAreAddedOnce(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	require.Empty(t, c.Keys())
	c.AddKey("a")
	before := c.Keys()
	c.AddKey("b")
	c.AddKey("a")
	require.Equal(t, []string{"a"}, before, "what was given out does not change")
	require.Equal(t, []string{"a", "b"}, c.Keys())
}

func TestHandlesAreTheCurrentOnes(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	a, b := goLive(t, c, "a"), goLive(t, c, "b")
	goLive(t, c, "c").Evict(wire.Because(wire.Restricted, "no"))
	require.ElementsMatch(t, []*lifecycle.Handle{a, b}, c.Handles())
	c.Release("a")
	require.Equal(t, []*lifecycle.Handle{b}, c.Handles())
}

func TestAnswersWakeTheWriter(t *testing.T) {
	t.Parallel()
	var starts atomic.Int32
	writing := func(o *lifecycle.Options) {
		o.Write = func(context.Context) (over bool) { return starts.Add(1) > 1 }
	}
	ruled(t, func(t *testing.T, c *lifecycle.Conn, _ *rule) {
		goLive(t, c, "a").Deliver(1, event(1), lifecycle.Undecided)
		synctest.Wait()
		require.EqualValues(t, 1, starts.Load())
		require.Empty(t, take(c))
		synctest.Wait()
		require.EqualValues(t, 2, starts.Load())
	}, writing)
}
