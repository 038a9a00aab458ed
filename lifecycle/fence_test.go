package lifecycle_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// large returns an event whose frame takes somewhat more than n bytes.
func large(n int) *wire.Event {
	return wire.NewEvent(nostr.Event{Kind: 1, Content: "event " + strings.Repeat("x", n)})
}

func TestAPositionIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	h := goLive(t, c, "a")
	require.Equal(t, lifecycle.Queued, h.Deliver(7, event(7), nil))
	require.Equal(t, lifecycle.Dropped, h.Deliver(7, event(7), nil))
	require.Equal(t, lifecycle.Dropped, h.Deliver(6, event(6), nil))
	require.Equal(t, []string{"EVENT a 7"}, take(c))
}

func TestBeginNeverLowersTheFloor(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	h := reserve(t, c, "a")
	h.Begin(5)
	h.Begin(3)
	require.Equal(t, lifecycle.Dropped, h.Deliver(4, event(4), nil))
}

func TestHoldIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	c := newConn(t, func(o *lifecycle.Options) { o.Limits.HoldBytes = 3000 })
	h := reserve(t, c, "a")
	h.Begin(0)
	for i := 1; i <= 3; i++ {
		require.Equal(t, lifecycle.Held, h.Deliver(store.Position(i), large(1000), nil))
	}
	ok, err := h.GoLive(wire.HintFinish)
	require.NoError(t, err)
	require.False(t, ok, "the third was not kept")
}

func TestHoldThatDoesNotFitTheQueueIsReadFromTheLog(t *testing.T) {
	t.Parallel()
	c := newConn(t, func(o *lifecycle.Options) { o.Limits.QueueFrames, o.Limits.HoldFrames = 6, 8 })
	h := reserve(t, c, "a")
	h.Begin(0)
	for i := 1; i <= 5; i++ { // EOSE and the room for CLOSED leave four
		require.Equal(t, lifecycle.Held, h.Deliver(store.Position(i), event(i), nil))
	}
	ok, err := h.GoLive(wire.HintFinish)
	require.NoError(t, err)
	require.False(t, ok)
	require.Equal(t, []string{"EOSE a"}, take(c))
	require.LessOrEqual(t, c.Usage().Frames, 6)
}

func TestAStoredEventLargerThanHalfOfTheQueueIsSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConn(t, func(o *lifecycle.Options) { o.Limits.QueueBytes = 8000 })
		h := reserve(t, c, "a")
		h.Begin(0)
		require.NoError(t, h.Replay(t.Context(), large(5000), nil))
		require.Len(t, take(c), 1)
	})
}

func TestClearingDeadFramesKeepsTheLiveOnes(t *testing.T) {
	t.Parallel()
	c := newConn(t, func(o *lifecycle.Options) { o.Limits.QueueFrames = 400 })
	stays, goes := goLive(t, c, "stays"), goLive(t, c, "goes")
	var want []string
	goes.Deliver(1, event(1), nil)
	for i := 2; i <= 200; i++ {
		if i%10 != 3 { // the first that is left is for stays
			goes.Deliver(store.Position(i), event(i), nil)
		} else {
			stays.Deliver(store.Position(i), event(i), nil)
			want = append(want, "EVENT stays "+strings.TrimPrefix(event(i).Content, "event "))
		}
	}
	first, _ := c.Take(nil, 2*len(event(1).Raw())) // what is taken is not skipped again
	require.Len(t, first, 2)
	c.Release("goes")
	require.LessOrEqual(t, lifecycle.QueueSlots(c), len(want)+1)
	require.Equal(t, want, take(c))
}

// Every way of ending a generation gives back exactly what it had: afterwards
// the queue takes as many answers as in the beginning, and no more.
func TestRoomIsNeitherLostNorGainedByChurn(t *testing.T) {
	t.Parallel()
	const frames = 8
	c := newConn(t, func(o *lifecycle.Options) { o.Limits.QueueFrames = frames })
	for range 20 {
		live, evicted := goLive(t, c, "live"), goLive(t, c, "evicted")
		live.Deliver(1, event(1), nil)
		evicted.Evict(why)
		take(c)
		reserve(t, c, "live")    // replaced, and then closed while pending
		reserve(t, c, "evicted") // closed while pending
		c.Release("live")
		c.Release("evicted")
		_, err := c.Refuse(t.Context(), "refused", why)
		require.NoError(t, err)
		_, err = c.Refuse(t.Context(), "refused", why) // mutes the first
		require.NoError(t, err)
		require.Equal(t, []string{"CLOSED refused"}, take(c))
	}
	for range frames {
		require.True(t, c.Notify(wire.AppendNotice(nil, why)))
	}
	require.False(t, c.Notify(wire.AppendNotice(nil, why)))
}

func TestReserveWaitsUntilAnEvictionFreesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConn(t, func(o *lifecycle.Options) { o.Limits.QueueFrames = 5 })
		a := goLive(t, c, "a") // one frame reserved
		for i := 1; i <= 4; i++ {
			a.Deliver(store.Position(i), event(i), nil)
		}
		reserved := make(chan error, 1)
		go func() {
			_, _, err := c.Reserve(t.Context(), "b", nil)
			reserved <- err
		}()
		synctest.Wait()
		require.Empty(t, reserved)
		a.Evict(why)
		synctest.Wait()
		require.Len(t, reserved, 1)
	})
}

func TestRefusalWaitsForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConn(t, func(o *lifecycle.Options) { o.Limits.QueueFrames = 2 })
		for _, id := range []string{"a", "b"} {
			_, err := c.Refuse(t.Context(), id, why)
			require.NoError(t, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := c.Refuse(ctx, "c", why)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Len(t, take(c), 2)
	})
}

func TestADroppedAnswerFreesItsRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConn(t, func(o *lifecycle.Options) { o.Limits.QueueFrames = 1 })
		first, err := c.ReserveAnswer(t.Context())
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() {
			_, err := c.ReserveAnswer(t.Context())
			done <- err
		}()
		synctest.Wait()
		require.Empty(t, done)
		first.Drop()
		synctest.Wait()
		require.Len(t, done, 1)
	})
}

func TestDrainSparesWhatIsEvictedAlready(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	goLive(t, c, "a").Evict(why)
	b := reserve(t, c, "b")
	require.Equal(t, []*lifecycle.Handle{b}, c.EvictAll(wire.Because(wire.Failed, "shutting down")))
	require.Equal(t, []string{"CLOSED a", "CLOSED b"}, take(c))
	require.Equal(t, lifecycle.Usage{}, c.Usage())
}

func TestFinishEndsTheGoroutinesOfTheConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := lifecycle.NewConn(t.Context(), lifecycle.Options{ID: 1, Limits: limits()})
		c.Group().Go("endless", func(ctx context.Context) { <-ctx.Done() })
		c.Finish()
		synctest.Wait()
		require.Empty(t, c.Group().Running())
		require.NoError(t, c.Group().Wait(t.Context()))
	})
}

func TestReasonOfClosedFitsItsReservation(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	before := c.Usage()
	h := reserve(t, c, "a")
	promised := c.Usage().Reserved - before.Reserved
	h.Evict(wire.Because(wire.Restricted, strings.Repeat("\"ü", 1000)))
	frames, _ := c.Take(nil, 1<<20)
	require.Len(t, frames, 1)
	require.LessOrEqual(t, frames[0].Len(), promised)
}

func TestABatchEndsAtItsSize(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	h := goLive(t, c, "a")
	for i := 1; i <= 5; i++ {
		require.Equal(t, lifecycle.Queued, h.Deliver(store.Position(i), large(1000), nil))
	}
	frames, _ := c.Take(nil, 2000)
	require.Len(t, frames, 2)
	c.Release("a")
	require.Empty(t, take(c), "the rest can still be dropped")
}

// A query that is at work is told to stop, however its generation ends.
func TestTheContextOfAGenerationEndsWithIt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		end  func(c *lifecycle.Conn, h *lifecycle.Handle) error
	}{
		{"CLOSE", func(c *lifecycle.Conn, _ *lifecycle.Handle) error { c.Release("a"); return nil }},
		{"a newer REQ", func(c *lifecycle.Conn, _ *lifecycle.Handle) error {
			_, _, err := c.Reserve(context.Background(), "a", nil)
			return err
		}},
		{"a refused REQ", func(c *lifecycle.Conn, _ *lifecycle.Handle) error {
			_, err := c.Refuse(context.Background(), "a", why)
			return err
		}},
		{"an eviction", func(_ *lifecycle.Conn, h *lifecycle.Handle) error { h.Evict(why); return nil }},
		{"a drain", func(c *lifecycle.Conn, _ *lifecycle.Handle) error { c.EvictAll(why); return nil }},
		{"the end", func(c *lifecycle.Conn, _ *lifecycle.Handle) error { c.Close(lifecycle.Cause{}); return nil }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newConn(t)
			h := reserve(t, c, "a")
			require.NoError(t, h.Context().Err())
			require.NoError(t, test.end(c, h))
			require.Error(t, h.Context().Err())
		})
	}
}
