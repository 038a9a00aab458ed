package lifecycle_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestLaneTakesNothingThatIsNotPrepared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []int
		lane, _ := newLane(t, func(_ context.Context, batch []int) { got = append(got, batch...) })
		prepared := make([]chan struct{}, 3)
		for i := range prepared {
			prepared[i] = make(chan struct{})
			require.NoError(t, lane.Push(t.Context(), i, 1, func() { <-prepared[i] }))
		}
		close(prepared[0])
		close(prepared[2])
		synctest.Wait()
		require.Equal(t, []int{0}, got, "1 is not prepared, and 2 stands behind it")
		close(prepared[1])
		synctest.Wait()
		require.Equal(t, []int{0, 1, 2}, got)
	})
}

func TestLaneFlushesOneBatchAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var running, most atomic.Int32
		lane, _ := newLane(t, func(_ context.Context, batch []int) {
			most.Store(max(most.Load(), running.Add(1)))
			<-release
			running.Add(-1)
		})
		for i := range 3 {
			require.NoError(t, lane.Push(t.Context(), i, 1, func() {}))
			synctest.Wait()
		}
		close(release)
		synctest.Wait()
		require.EqualValues(t, 1, most.Load())
	})
}

// One item of any size fits an empty lane, and a second waits for it to leave.
func TestLaneIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bound := limits().PendingBytes
		release := make(chan struct{})
		lane, g := newLane(t, func(context.Context, []int) { <-release })
		pushed := make(chan error, 3)
		go func() {
			for i := range 3 {
				pushed <- lane.Push(t.Context(), i, 2*bound, func() {})
			}
		}()
		synctest.Wait()
		require.Len(t, pushed, 2, "the first is being flushed, the second waits in the lane, the third outside")
		close(release)
		synctest.Wait()
		require.Len(t, pushed, 3)
		require.Empty(t, g.Running())
	})
}
