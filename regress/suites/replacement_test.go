//go:build !nopause

package suites_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
)

// Fan-out against a REQ with the same id: G2, and G6 for the newer generation.

// TestReplacementDuringFanoutSendsNothingOfTheOlder parks the fan-out of an
// event for the older generation at each of its points, lets a newer REQ with a
// disjoint filter come to each of its own, and lets the fan-out go on first.
func TestReplacementDuringFanoutSendsNothingOfTheOlder(t *testing.T) {
	t.Parallel()
	for _, at := range fanoutPoints {
		for _, rival := range append(reqPoints, "") { // "" is the whole REQ
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) { replaceDuringFanout(t, w, at, rival) })
			})
		}
	}
}

func replaceDuringFanout(t *testing.T, w *world, at, rival pause.Point) {
	w.Commit(t, note(1, 2)) // what the newer one has stored
	w.Step(t)
	w.open(req("x", 1))
	old, both := note(2, 1), note(3, 2)
	w.Commit(t, old, both)

	fanout := w.fanout(at)
	require.True(t, fanout.parked())
	newer := w.send(rival, req("x", 2))
	require.Equal(t, rival != "", newer.parked())

	fanout.finish(t)
	require.NotContains(t, w.client.Settle(), frame("x", old))
	newer.finish(t)
	w.settled(1)
}

// TestReplacementAfterFanoutDropsWhatIsQueued is the pause after the cut-over:
// the frames of the older generation are in the queue already.
func TestReplacementAfterFanoutDropsWhatIsQueued(t *testing.T) {
	t.Parallel()
	for _, rival := range append(reqPoints, "") {
		t.Run(string(rival), func(t *testing.T) {
			t.Parallel()
			inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
				w.Commit(t, note(1, 2))
				w.Step(t)
				w.open(req("x", 1))
				w.Commit(t, note(2, 1), note(3, 2))
				w.Step(t)
				require.Equal(t, 1, w.client.Conn.Usage().Frames)

				newer := w.send(rival, req("x", 2))
				require.NotContains(t, w.client.Take(), frame("x", note(2, 1)))
				newer.finish(t)
				w.settled(1)
			})
		})
	}
}

// TestFramesTakenBeforeTheReplacementAreTheOldersLast is the pause before it.
func TestFramesTakenBeforeTheReplacementAreTheOldersLast(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.open(req("x", 1))
		w.Commit(t, note(1, 1), note(2, 1))
		w.Step(t)
		require.Equal(t, []string{frame("x", note(1, 1))}, w.client.TakeBytes(1))
		w.client.Send(req("x", 2))
		require.Equal(t, []string{eose("x")}, w.client.Settle())
		w.settled(1)
	})
}

// TestReplacementDuringReplaySendsNothingOfTheOlder parks the older generation's
// own query instead of the fan-out.
func TestReplacementDuringReplaySendsNothingOfTheOlder(t *testing.T) {
	t.Parallel()
	for _, at := range reqPoints[1:] { // at the first the reader itself stands
		for _, rival := range append(reqPoints, "") {
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) { replaceDuringReplay(t, w, at, rival) })
			})
			t.Run(string(at)+" x "+string(rival)+" over a deaf store", func(t *testing.T) {
				t.Parallel()
				inFaultyWorld(t, harness.Options{}, func(t *testing.T, w *world, f *faults) {
					f.deaf = true
					replaceDuringReplay(t, w, at, rival)
				})
			})
		}
	}
}

func replaceDuringReplay(t *testing.T, w *world, at, rival pause.Point) {
	w.Commit(t, note(1, 1), note(2, 2))
	w.Step(t)
	older := w.send(at, req("x", 1))
	require.True(t, older.parked())
	newer := w.send(rival, req("x", 2))
	require.Equal(t, rival != "", newer.parked())

	older.stop.Release()
	require.NotContains(t, w.client.Settle(), frame("x", note(1, 1)))
	newer.finish(t)
	require.True(t, older.ended())
	w.Commit(t, note(3, 1), note(4, 2))
	w.settled(1)
}

// TestReplacementEndsTheOlderQuery shows that a replaced query does not go on
// reading for nobody, and that its place is free again.
func TestReplacementEndsTheOlderQuery(t *testing.T) {
	t.Parallel()
	o := harness.Options{Limits: harness.DefaultLimits()}
	o.Limits.Queries = 1
	inWorld(t, o, func(t *testing.T, w *world) {
		w.Commit(t, notes(200, 1)...)
		w.Step(t)
		older := w.send(pause.ReqPage, req("x", 1))
		require.True(t, older.parked())
		pages := w.control.Arm(pause.ReqPage)
		w.client.Send(req("x", 2))
		older.finish(t)
		synctest.Wait()
		require.False(t, pages.Parked())
		require.Equal(t, []string{eose("x")}, w.client.Take())
		pages.Release()
		w.settled(1)
	})
}
