package lifecycle_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

func TestAnswersWaitForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConn(t, func(o *lifecycle.Options) { o.Limits.QueueFrames = 2 })
		first, err := c.ReserveAnswer(t.Context())
		require.NoError(t, err)
		second, err := c.ReserveAnswer(t.Context())
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() {
			a, err := c.ReserveAnswer(t.Context())
			if err == nil {
				a.Drop()
			}
			done <- err
		}()
		synctest.Wait()
		require.Empty(t, done, "the reader waits")
		first.Send(wire.AppendNotice(nil, why))
		synctest.Wait()
		require.Empty(t, done, "a sent answer still needs its room")
		require.Equal(t, []string{"NOTICE"}, take(c))
		require.NoError(t, <-done)
		second.Drop()
		require.Equal(t, lifecycle.Usage{}, c.Usage())
	})
}

func TestUnsolicitedFramesAreDroppedWithoutRoom(t *testing.T) {
	t.Parallel()
	c := newConn(t, func(o *lifecycle.Options) { o.Limits.QueueFrames = 1 })
	require.True(t, c.Notify(wire.AppendNotice(nil, why)))
	require.False(t, c.Notify(wire.AppendNotice(nil, why)))
	require.Len(t, take(c), 1)
}

func TestReserveWaitsForRoomAndCountsWhatThePredecessorGivesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConn(t, func(o *lifecycle.Options) { o.Limits.QueueFrames = 3 })
		a := goLive(t, c, "a") // holds one frame for its CLOSED
		a.Deliver(1, event(1), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, _, err := c.Reserve(ctx, "b", nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.True(t, a.Current())

		h, old, err := c.Reserve(t.Context(), "a", nil)
		require.NoError(t, err)
		require.NotNil(t, h)
		require.Same(t, a, old)
	})
}

func TestCloseKeepsAnswersAndNothingElse(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	h := goLive(t, c, "a")
	h.Deliver(1, event(1), nil)
	answer, err := c.ReserveAnswer(t.Context())
	require.NoError(t, err)

	c.Close(lifecycle.Cause{Code: 1001, Text: "bye"})
	c.Close(lifecycle.Cause{Code: 1008, Text: "too late"})
	require.Equal(t, lifecycle.Cause{Code: 1001, Text: "bye"}, c.Cause())
	require.Equal(t, lifecycle.Dropped, h.Deliver(2, event(2), nil))
	require.False(t, h.Evict(why))
	require.False(t, c.Notify(wire.AppendNotice(nil, why)))
	_, _, err = c.Reserve(t.Context(), "b", nil)
	require.ErrorIs(t, err, lifecycle.ErrClosed)
	_, err = c.ReserveAnswer(t.Context())
	require.ErrorIs(t, err, lifecycle.ErrClosed)

	frames, done := c.Take(nil, 1<<20)
	require.Empty(t, frames)
	require.False(t, done, "an answer is owed")
	answer.Send(wire.AppendOK(nil, "", true, wire.Reason{}))
	require.Len(t, take(c), 1)
	_, done = c.Take(nil, 1<<20)
	require.True(t, done)
	require.Equal(t, []*lifecycle.Handle{h}, c.Finish())
	require.Empty(t, c.Finish(), "each ended handle is returned once")
	require.Equal(t, lifecycle.Usage{}, c.Usage())
}

func TestDrainTellsEverySubscriptionBeforeItCloses(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	goLive(t, c, "a")
	goLive(t, c, "b")
	require.Len(t, c.EvictAll(wire.Because(wire.Failed, "shutting down")), 2)
	c.Close(lifecycle.Cause{Code: 1001})
	require.ElementsMatch(t, []string{"CLOSED a", "CLOSED b"}, take(c))
	require.Empty(t, c.Finish())
}

func TestQueryWaitsForAPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConn(t, func(o *lifecycle.Options) { o.Limits.Queries = 1 })
		release := make(chan struct{})
		c.Query(t.Context(), "slow", func(context.Context) { <-release })
		synctest.Wait()

		ran := make(chan error, 2)
		withdrawn, cancel := context.WithCancel(t.Context())
		c.Query(withdrawn, "withdrawn", func(ctx context.Context) { ran <- ctx.Err() })
		synctest.Wait()
		require.Empty(t, ran)
		cancel()
		require.ErrorIs(t, <-ran, context.Canceled, "it runs without a place to give up its answer")

		c.Query(t.Context(), "next", func(ctx context.Context) { ran <- ctx.Err() })
		synctest.Wait()
		require.Empty(t, ran)
		close(release)
		require.NoError(t, <-ran)
	})
}

func TestTheContextOfAConnectionEndsWithClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		c := lifecycle.NewConn(context.WithValue(t.Context(), key{}, "value"), lifecycle.Options{ID: 1, Limits: limits()})
		ctx := c.Context()
		derived, cancel := context.WithCancel(ctx)
		defer cancel()
		require.NoError(t, ctx.Err())
		require.False(t, closed(ctx.Done()))
		require.Equal(t, "value", ctx.Value(key{}))
		c.Close(lifecycle.Cause{Code: 1000})
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		<-ctx.Done()
		<-derived.Done()
		require.NoError(t, c.Group().Context().Err(), "what was read is still worked on")
		c.Finish()
	})
}

func TestALiveSubscriptionKeepsNoContext(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	h := reserve(t, c, "a")
	replay := h.Context()
	require.NoError(t, replay.Err())
	_, err := h.GoLive(wire.HintFinish)
	require.NoError(t, err)
	require.ErrorIs(t, replay.Err(), context.Canceled)
	require.ErrorIs(t, h.Context().Err(), context.Canceled)
	require.True(t, closed(h.Context().Done()))
}
