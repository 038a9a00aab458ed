package lifecycle_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
)

func TestGroupWaitsForItsGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := lifecycle.NewGroup(t.Context())
		g.Go("worker", func(ctx context.Context) { <-ctx.Done() })
		require.Equal(t, map[string]int{"worker": 1}, g.Running())

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorContains(t, g.Wait(ctx), "worker:1")
		require.False(t, g.Go("late", func(context.Context) {}), "Wait was called")
		g.Cancel()
		require.NoError(t, g.Wait(t.Context()))
		require.Empty(t, g.Running())
	})
}

func TestPanicEndsTheGroupAndIsReported(t *testing.T) {
	t.Parallel()
	g := lifecycle.NewGroup(t.Context())
	g.Go("other", func(ctx context.Context) { <-ctx.Done() })
	g.Go("bad", func(context.Context) { panic("boom") })
	require.ErrorContains(t, <-g.Failed(), "panic in bad: boom")
	require.NoError(t, g.Wait(t.Context()))
}

func newLane(t *testing.T, flush func(ctx context.Context, batch []int)) (*lifecycle.Lane[int], *lifecycle.Group) {
	g, shared := lifecycle.NewGroup(t.Context()), lifecycle.NewGroup(t.Context())
	t.Cleanup(func() {
		shared.Cancel()
		require.NoError(t, shared.Wait(context.Background()))
	})
	return lifecycle.NewLane(g, lifecycle.NewPool(shared, 4), limits(), flush), g
}

func TestLaneKeepsPushOrderThoughPreparationDoesNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []int
		lane, g := newLane(t, func(_ context.Context, batch []int) { got = append(got, batch...) })
		first := make(chan struct{})
		require.NoError(t, lane.Push(t.Context(), 0, 1, func() { <-first }))
		for i := 1; i < 5; i++ {
			require.NoError(t, lane.Push(t.Context(), i, 1, func() {}))
		}
		synctest.Wait()
		require.Empty(t, got, "1 to 4 are prepared and wait for 0")
		close(first)
		synctest.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4}, got)
		require.Empty(t, g.Running(), "an empty lane has no goroutine")
	})
}

func TestLaneBlocksAtItsBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var flushed atomic.Int32
		lane, _ := newLane(t, func(_ context.Context, batch []int) {
			<-release
			flushed.Add(int32(len(batch)))
		})
		pushed := make(chan struct{})
		go func() {
			defer close(pushed)
			for i := range 40 {
				_ = lane.Push(t.Context(), i, 1, func() {}) // nobody cancels it
			}
		}()
		synctest.Wait()
		require.False(t, closed(pushed), "the lane holds 8")
		close(release)
		<-pushed
		synctest.Wait()
		require.EqualValues(t, 40, flushed.Load())
	})
}

func TestPanicInPreparationEndsTheConnectionAndNotThePool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []int
		flush := func(_ context.Context, batch []int) { got = append(got, batch...) }
		lane, g := newLane(t, flush)
		require.NoError(t, lane.Push(t.Context(), 1, 1, func() {}))
		require.NoError(t, lane.Push(t.Context(), 2, 1, func() { panic("bad signature code") }))
		require.ErrorContains(t, <-g.Failed(), "bad signature code")
		require.Equal(t, []int{1}, got)
	})
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestPoolRunWaitsAndRaisesPanicsInItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := lifecycle.NewGroup(t.Context())
		pool := lifecycle.NewPool(shared, 1)
		ran := false
		require.NoError(t, pool.Run(t.Context(), func() { ran = true }))
		require.True(t, ran)
		require.PanicsWithValue(t, "boom", func() { _ = pool.Run(t.Context(), func() { panic("boom") }) })

		release := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, pool.Run(ctx, func() { <-release }), context.DeadlineExceeded)
		close(release)
		require.NoError(t, pool.Run(t.Context(), func() {}), "the worker lives on")
		shared.Cancel()
		require.NoError(t, shared.Wait(t.Context()))
	})
}
