package outbox_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/relay/store"
)

func TestAwaitReturnsAtOnceWhenThePositionIsApplied(t *testing.T) {
	t.Parallel()
	in(t, 5, func(t *testing.T, w *world) {
		over, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, w.Await(over, 5), "it does not look at its context")
		require.NoError(t, w.Await(over, 0))
		require.ErrorIs(t, w.Await(over, 6), context.Canceled)
	})
}

// Everybody goes on with the row that they wait for, neither sooner nor later.
func TestAwaitEndsWithItsRow(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		const rows, each = 20, 3
		var done [rows + 1]atomic.Int32
		var waiters errgroup.Group
		for n := rows * each; n > 0; n-- {
			at := n%rows + 1
			waiters.Go(func() error {
				err := w.Await(t.Context(), store.Position(at))
				done[at].Add(1)
				return err
			})
		}
		synctest.Wait()
		for n := 1; n <= rows; n++ {
			require.Zero(t, done[n].Load())
			w.commit(t, note(n, 1))
			w.step(t)
			synctest.Wait()
			require.EqualValues(t, each, done[n].Load())
		}
		require.NoError(t, waiters.Wait())
	})
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var impatient, patient atomic.Bool
		var waiters errgroup.Group
		waiters.Go(func() error {
			err := w.Await(short, 1)
			impatient.Store(err != nil)
			return nil
		})
		waiters.Go(func() error {
			err := w.Await(t.Context(), 1)
			patient.Store(err == nil)
			return err
		})
		after(time.Minute)
		require.True(t, impatient.Load())
		require.False(t, patient.Load(), "the other one still waits")
		require.Equal(t, 1, w.Gates())
		w.commit(t, note(1, 1))
		w.step(t)
		require.NoError(t, waiters.Wait())
		require.True(t, patient.Load())
		require.Zero(t, w.Gates())
	})
}

func TestWhoGivesUpLeavesNothing(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var waiters errgroup.Group
		for n := range 100 {
			waiters.Go(func() error {
				require.Error(t, w.Await(short, store.Position(1+n%10)))
				return nil
			})
		}
		synctest.Wait()
		require.Equal(t, 10, w.Gates())
		require.NoError(t, waiters.Wait())
		require.Zero(t, w.Gates())
	})
}

func TestWaitersRaceTheFollower(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		stop := w.run(t)
		defer stop()
		var all errgroup.Group
		for worker := range 4 {
			all.Go(func() error {
				for n := range 100 {
					if err := w.Await(t.Context(), store.Position(n+worker)); err != nil {
						return err
					}
				}
				return nil
			})
		}
		for n := range 110 {
			w.commit(t, note(n, 1))
		}
		require.NoError(t, all.Wait())
		require.Zero(t, w.Gates())
	})
}
