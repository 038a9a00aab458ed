package kv_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/fence"
	"fencepost/lifecycle/fence/kv"
	"fencepost/lifecycle/pause"
	"fencepost/regress/dapr"
	"fencepost/regress/harness"
)

// bubbles runs a test in a bubble over each behaviour of a component.
func bubbles(t *testing.T, test func(t *testing.T, w *town, m *dapr.Memory)) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := dapr.NewMemory(kind)
				test(t, newTown(t, m), m)
			})
		})
	}
}

// P6, P7: an owner is stopped between its look at the fence and its admission, for longer
// than its lease, and another takes over. Its frame is admitted by nobody, and leaves no
// item behind on a store that wrote it all the same.
func TestAPausedOwnerAdmitsNothingAfterItsSuccessor(t *testing.T) {
	t.Parallel()
	bubbles(t, func(t *testing.T, w *town, m *dapr.Memory) {
		c := harness.NewController()
		a, b := w.process(c), w.process(nil)
		w.claim(a, "", "one")
		judged := c.Arm(pause.FenceJudged)
		paused := w.publishing(a, "one", note(1))
		synctest.Wait()
		<-time.After(lease)
		w.claim(b, "", "two")
		_, err := publish(t.Context(), b, "two", note(2))
		require.NoError(t, err)
		judged.Release()
		requireRefused(t, fence.FailedPrecondition, (<-paused).err)
		require.Equal(t, []string{"2"}, w.log())
		require.Zero(t, m.Keys("item"))
	})
}

// A claim, or a revocation, that was decided before a frame was admitted is decided again:
// every frame of the old owner comes before any of its successor (P8).
func TestAClaimThatRacesAnAdmissionSeesIt(t *testing.T) {
	t.Parallel()
	bubbles(t, func(t *testing.T, w *town, _ *dapr.Memory) {
		c := harness.NewController()
		a, b := w.process(nil), w.process(c)
		w.claim(a, "", "one")
		w.sink.fail(note(1))
		judged := c.Arm(pause.FenceJudged)
		claimed := make(chan error, 1)
		ctx := t.Context()
		go func() { _, err := b.Set(ctx, stream, change("one", "two", true)); claimed <- err }()
		synctest.Wait()
		_, err := publish(t.Context(), a, "one", note(1))
		require.ErrorIs(t, err, errSink, "it is admitted and waits")
		judged.Release()
		require.NoError(t, <-claimed)
		w.sink.fail()
		got, err := publish(t.Context(), b, "two", note(2))
		require.NoError(t, err)
		require.Equal(t, uint64(2), got.Number)
		require.Equal(t, []string{"1", "2"}, w.log())
	})
}

// P1, P2: a claim that raced a revocation, and two that raced each other.
func TestChangesThatRaceAreDecidedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		parked, rival fence.Change
		after         time.Duration
		code          fence.Code // of the parked one
	}{
		"claim and revocation":           {change("one", "two", true), change("one", "one", false), 0, ""},
		"claim and claim":                {change("one", "two", true), change("one", "three", true), 0, fence.Aborted},
		"claim by lease, twice":          {change("", "two", true), change("", "three", true), lease, fence.Aborted},
		"renewal and claim":              {change("one", "one", true), change("", "three", true), lease, fence.Aborted},
		"revocation and claim":           {change("one", "one", false), change("", "three", true), lease, fence.Aborted},
		"renewal and revocation":         {change("one", "one", true), change("one", "one", false), 0, fence.FailedPrecondition},
		"claim by lease against renewal": {change("", "two", true), change("one", "one", true), lease, fence.Aborted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubbles(t, func(t *testing.T, w *town, _ *dapr.Memory) {
				c := harness.NewController()
				a, b := w.process(c), w.process(nil)
				w.claim(b, "", "one")
				<-time.After(row.after)
				judged := c.Arm(pause.FenceJudged)
				done := make(chan error, 1)
				ctx := t.Context()
				go func() { _, err := a.Set(ctx, stream, row.parked); done <- err }()
				synctest.Wait()
				_, err := b.Set(t.Context(), stream, row.rival)
				require.NoError(t, err)
				judged.Release()
				if err := <-done; row.code == "" {
					require.NoError(t, err)
				} else {
					requireRefused(t, row.code, err)
				}
			})
		})
	}
}

// P3, P4: an admission that was decided before the lease ran out counts, and renews it,
// unless another owner came first; see TestAPausedOwnerAdmitsNothingAfterItsSuccessor.
func TestAnAdmissionThatRacesTheEndOfTheLeaseIsGood(t *testing.T) {
	t.Parallel()
	bubbles(t, func(t *testing.T, w *town, _ *dapr.Memory) {
		c := harness.NewController()
		a := w.process(c)
		w.claim(a, "", "one")
		judged := c.Arm(pause.FenceJudged)
		<-time.After(lease - time.Second)
		paused := w.publishing(a, "one", note(1))
		synctest.Wait()
		<-time.After(2 * time.Second)
		judged.Release()
		require.NoError(t, (<-paused).err)
		_, err := w.process(nil).Set(t.Context(), stream, change("", "two", true))
		requireRefused(t, fence.Aborted, err)
	})
}

// P8, P10: a drainer is stopped for longer than its lock, before or after its delivery,
// and another one goes on. What it does on waking takes nothing away and changes no order.
func TestADrainerThatLostItsLockTakesNothingAway(t *testing.T) {
	t.Parallel()
	for _, point := range []pause.Point{pause.DrainLocked, pause.DrainDelivered, pause.DrainSwapped} {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			bubbles(t, func(t *testing.T, w *town, m *dapr.Memory) {
				c := harness.NewController()
				a, b := w.process(c), w.process(nil)
				w.claim(a, "", "one")
				parked := c.Arm(point)
				first := w.publishing(a, "one", note(1))
				synctest.Wait()
				second := w.publishing(b, "one", note(2))
				<-time.After(kv.DrainLock - 100*time.Millisecond)
				synctest.Wait()
				require.Empty(t, second, "nobody delivers while the lock is held")
				<-time.After(200 * time.Millisecond)
				synctest.Wait()
				got := <-second
				require.NoError(t, got.err)
				require.Equal(t, fence.Receipt{Position: 2, Epoch: 1, Number: 2}, got.receipt)
				third, err := publish(t.Context(), b, "one", note(3))
				require.NoError(t, err)
				require.Equal(t, uint64(3), third.Number)
				w.sink.fail(note(4))
				_, err = publish(t.Context(), b, "one", note(4))
				require.ErrorIs(t, err, errSink)
				parked.Release()
				got = <-first
				require.NoError(t, got.err)
				require.Equal(t, uint64(1), got.receipt.Position)
				w.sink.fail()
				require.NoError(t, b.Sweep(t.Context()))
				require.Equal(t, []string{"1", "2", "3", "4"}, w.log())
				require.Equal(t, uint64(5), w.view().Next)
				require.Zero(t, m.Keys("item"))
			})
		})
	}
}

// P11: what a drainer leaves behind that is killed is delivered by the sweep of another
// process within the lock and one sweep.
func TestTheSweepDeliversWhatADrainerLeftBehind(t *testing.T) {
	t.Parallel()
	for _, point := range []pause.Point{pause.DrainLocked, pause.DrainDelivered} {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			bubbles(t, func(t *testing.T, w *town, _ *dapr.Memory) {
				c := harness.NewController()
				a, b := w.process(c), w.process(nil)
				w.claim(a, "", "one")
				parked := c.Arm(point)
				killed := w.publishing(a, "one", note(1))
				synctest.Wait()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go b.Run(ctx)
				<-time.After(kv.DrainLock + kv.SweepEvery)
				synctest.Wait()
				require.Equal(t, []string{"1"}, w.log())
				require.Zero(t, w.view().Pending)
				parked.Release()
				require.NoError(t, (<-killed).err)
				cancel()
				synctest.Wait()
			})
		})
	}
}

// A stream is claimed while the sweep takes it off the list, on which it stood before it
// had a record: it must be on it afterwards, or nobody would deliver what is left behind.
func TestAClaimThatRacesTheSweepIsOnTheList(t *testing.T) {
	t.Parallel()
	bubbles(t, func(t *testing.T, w *town, _ *dapr.Memory) {
		c := harness.NewController()
		a, sweeper := w.process(c), w.process(nil)
		judged := c.Arm(pause.FenceJudged)
		claimed := make(chan error, 1)
		ctx := t.Context()
		go func() { _, err := a.Set(ctx, stream, change("", "one", true)); claimed <- err }()
		synctest.Wait()
		require.NoError(t, sweeper.Sweep(t.Context()), "finds no record")
		judged.Release()
		require.NoError(t, <-claimed)
		w.sink.fail(note(1))
		_, err := publish(t.Context(), a, "one", note(1))
		require.ErrorIs(t, err, errSink)
		w.sink.fail()
		require.NoError(t, sweeper.Sweep(t.Context()))
		require.Equal(t, []string{"1"}, w.log())
	})
}
