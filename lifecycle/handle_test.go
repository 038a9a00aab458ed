package lifecycle_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

var why = wire.Because(wire.Restricted, "no longer allowed")

func TestReleaseDropsWhatIsQueuedAndWhatComesLater(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	h := goLive(t, c, "a")
	require.Equal(t, lifecycle.Queued, h.Deliver(1, event(1), nil))

	require.Same(t, h, c.Release("a"))
	require.Equal(t, lifecycle.Dropped, h.Deliver(2, event(2), nil))

	require.Empty(t, take(c))
	require.Equal(t, lifecycle.Usage{}, c.Usage())
	require.Nil(t, c.Release("a"), "a second CLOSE finds nothing")
}

func TestReserveRetiresThePredecessorInTheSameStep(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	older := goLive(t, c, "a")
	older.Deliver(1, event(1), nil)

	newer, old, err := c.Reserve(t.Context(), "a", nil)
	require.NoError(t, err)
	require.Same(t, older, old)
	require.False(t, older.Current())
	require.True(t, newer.Current())
	require.Equal(t, lifecycle.Dropped, older.Deliver(2, event(2), nil))
	require.ErrorIs(t, older.Replay(t.Context(), event(3), nil), lifecycle.ErrRetired)
	_, err = older.GoLive(wire.HintFinish)
	require.ErrorIs(t, err, lifecycle.ErrRetired)
	require.Error(t, older.Context().Err())

	newer.Begin(2)
	newer.Deliver(3, event(3), nil)
	_, err = newer.GoLive(wire.HintFinish)
	require.NoError(t, err)
	require.Equal(t, []string{"EOSE a", "EVENT a 3"}, take(c))
}

func TestEvictEndsItsOwnGenerationOnly(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	older := goLive(t, c, "a")
	newer := goLive(t, c, "a")

	require.False(t, older.Evict(why), "the older generation is over")
	require.True(t, newer.Current())
	require.Empty(t, take(c))

	require.True(t, newer.Evict(why))
	require.False(t, newer.Evict(why), "a second eviction does nothing")
	require.Equal(t, []string{"CLOSED a"}, take(c))
	require.Equal(t, lifecycle.Usage{}, c.Usage())
}

func TestEvictDropsQueuedFramesAndKeepsClosed(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	h, other := goLive(t, c, "a"), goLive(t, c, "b")
	h.Deliver(1, event(1), nil)
	other.Deliver(1, event(1), nil)
	h.Evict(why)
	require.Equal(t, []string{"EVENT b 1", "CLOSED a"}, take(c))
}

func TestNewerRequestMutesTheQueuedClosedOfAnOlderOne(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	goLive(t, c, "a").Evict(why)
	h, old, err := c.Reserve(t.Context(), "a", nil)
	require.NoError(t, err)
	require.Nil(t, old)
	h.Begin(0)
	_, err = h.GoLive(wire.HintMore)
	require.NoError(t, err)
	require.Equal(t, []string{"EOSE a"}, take(c))
}

func TestCloseMutesTheQueuedClosed(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	goLive(t, c, "a").Evict(why)
	require.Nil(t, c.Release("a"))
	require.Empty(t, take(c))
	require.Equal(t, lifecycle.Usage{}, c.Usage())
}

func TestRefusalEndsTheOlderGeneration(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	h := goLive(t, c, "a")
	h.Deliver(1, event(1), nil)
	old, err := c.Refuse(t.Context(), "a", why)
	require.NoError(t, err)
	require.Same(t, h, old)
	require.Equal(t, lifecycle.Dropped, h.Deliver(2, event(2), nil))
	require.Equal(t, []string{"CLOSED a"}, take(c))
	require.Equal(t, lifecycle.Usage{}, c.Usage())
}

func TestTooManySubscriptionsAreRefused(t *testing.T) {
	t.Parallel()
	c := newConn(t, func(o *lifecycle.Options) { o.Limits.Subscriptions = 2 })
	a := goLive(t, c, "a")
	goLive(t, c, "b")

	h, old, err := c.Reserve(t.Context(), "c", nil)
	require.NoError(t, err)
	require.Nil(t, h)
	require.Nil(t, old)
	require.Equal(t, []string{"CLOSED c"}, take(c))

	h, old, err = c.Reserve(t.Context(), "a", nil)
	require.NoError(t, err)
	require.NotNil(t, h, "a replacement needs no second place")
	require.Same(t, a, old)
	require.Equal(t, 2, c.Usage().Subscriptions)
}

func TestCloseAckIsTheLastFrameOfItsGeneration(t *testing.T) {
	t.Parallel()
	c := newConn(t, func(o *lifecycle.Options) { o.CloseAck = true })
	h := goLive(t, c, "a")
	h.Deliver(1, event(1), nil)
	require.Same(t, h, c.Release("a"))
	h.Deliver(2, event(2), nil)
	require.Equal(t, []string{"CLOSED a"}, take(c))
}

func TestLiveFramesWaitForTheReplay(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	h := reserve(t, c, "a")
	require.Equal(t, lifecycle.Held, h.Deliver(4, event(4), nil))
	h.Begin(5)
	require.Equal(t, lifecycle.Dropped, h.Deliver(5, event(5), nil), "at A: stored")
	require.Equal(t, lifecycle.Held, h.Deliver(6, event(6), nil))
	require.NoError(t, h.Replay(t.Context(), event(2), nil))
	ok, err := h.GoLive(wire.HintFinish)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, lifecycle.Dropped, h.Deliver(6, event(6), nil), "the high-water mark")
	require.Equal(t, lifecycle.Queued, h.Deliver(7, event(7), nil))
	require.Equal(t, []string{"EVENT a 2", "EOSE a", "EVENT a 6", "EVENT a 7"}, take(c))
}

func TestOverflowedHoldIsReadFromTheLog(t *testing.T) {
	t.Parallel()
	c := newConn(t, func(o *lifecycle.Options) { o.Limits.HoldFrames = 2 })
	h := reserve(t, c, "a")
	h.Begin(0)
	for i := 1; i <= 3; i++ {
		require.Equal(t, lifecycle.Held, h.Deliver(store.Position(i), event(i), nil))
	}
	ok, err := h.GoLive(wire.HintFinish)
	require.NoError(t, err)
	require.False(t, ok)
	h.Restart()
	require.Equal(t, lifecycle.Held, h.Deliver(4, event(4), nil))
	for i := 1; i <= 3; i++ { // what the log holds up to the new begun position
		require.NoError(t, h.Replay(t.Context(), event(i), nil))
	}
	h.Begin(3)
	ok, err = h.GoLive(wire.HintFinish)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []string{"EOSE a", "EVENT a 1", "EVENT a 2", "EVENT a 3", "EVENT a 4"}, take(c))
}

func TestLiveFrameWithoutRoomEndsThatSubscription(t *testing.T) {
	t.Parallel()
	c := newConn(t, func(o *lifecycle.Options) { o.Limits.QueueFrames = 6 })
	a, b := goLive(t, c, "a"), goLive(t, c, "b")
	for i := 1; i <= 4; i++ {
		require.Equal(t, lifecycle.Queued, a.Deliver(store.Position(i), event(i), nil))
	}
	require.Equal(t, lifecycle.Ended, a.Deliver(5, event(5), nil))
	require.Equal(t, lifecycle.Queued, b.Deliver(5, event(5), nil), "a gave its room back")
	require.Equal(t, []string{"CLOSED a", "EVENT b 5"}, take(c))
}

func TestStoredEventsWaitForRoomAndThenEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConn(t, func(o *lifecycle.Options) { o.Limits.QueueFrames = 8 })
		h := reserve(t, c, "a")
		h.Begin(0)
		for i := 1; i <= 4; i++ { // half of the queue
			require.NoError(t, h.Replay(t.Context(), event(i), nil))
		}
		done := make(chan error, 1)
		go func() { done <- h.Replay(t.Context(), event(5), nil) }()
		synctest.Wait()
		require.Len(t, take(c), 4)
		synctest.Wait()
		require.NoError(t, <-done, "the writer made room")

		for i := 6; i <= 8; i++ {
			require.NoError(t, h.Replay(t.Context(), event(i), nil))
		}
		require.ErrorIs(t, h.Replay(t.Context(), event(9), nil), lifecycle.ErrSlow)
		require.Equal(t, []string{"CLOSED a"}, take(c))
	})
}

func TestReplayStopsWaitingWhenTheGenerationEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConn(t, func(o *lifecycle.Options) { o.Limits.QueueFrames = 4 })
		h := reserve(t, c, "a")
		h.Begin(0)
		for i := 1; i <= 2; i++ {
			require.NoError(t, h.Replay(t.Context(), event(i), nil))
		}
		done := make(chan error, 1)
		go func() { done <- h.Replay(h.Context(), event(3), nil) }()
		synctest.Wait()
		c.Release("a")
		require.Error(t, <-done)
		require.Empty(t, take(c))
	})
}

func TestDeadFramesDoNotPileUp(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	for range 10_000 { // a client that replaces and never reads
		h := reserve(t, c, "a")
		h.Begin(0)
		_, err := h.GoLive(wire.HintFinish)
		require.NoError(t, err)
		for i := 1; i <= 5; i++ {
			h.Deliver(store.Position(i), event(i), nil)
		}
	}
	require.LessOrEqual(t, lifecycle.QueueSlots(c), 200)
	require.Len(t, take(c), 6)
}
