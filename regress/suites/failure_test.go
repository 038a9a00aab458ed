//go:build !nopause

package suites_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/wire"
)

// A store that fails while a REQ or the fan-out reads it: G6, E3.

// TestFailedQueryIsClosedAndNeverEOSE lets the store fail at every call of a REQ.
func TestFailedQueryIsClosedAndNeverEOSE(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name  string
		spoil func(f *faults)
	}{
		{"no snapshot", func(f *faults) { f.snapshot = errDisk }},
		{"no query", func(f *faults) { f.query = errDisk }},
		{"no first page", func(f *faults) { f.next = errDisk }},
		{"no third page", func(f *faults) { f.next, f.pages = errDisk, 2 }},
		{"no end", func(f *faults) { f.next, f.pages = errDisk, 4 }},
		{"rows do not close", func(f *faults) { f.rowsClose = errDisk }},
		{"snapshot does not close", func(f *faults) { f.snapshotClose = errDisk }},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			inFaultyWorld(t, harness.Options{}, func(t *testing.T, w *world, f *faults) {
				w.Commit(t, notes(200, 1)...)
				w.Step(t)
				r.spoil(f)
				requireClosed(t, w.open(req("x", 1)), "x", wire.Failed)
				w.settled(0)

				*f = faults{Store: f.Store}
				require.Len(t, w.open(req("x", 1)), 201)
				w.settled(1)
			})
		})
	}
}

// TestFailedCatchUpIsClosed: EOSE was sent, what follows cannot be read.
func TestFailedCatchUpIsClosed(t *testing.T) {
	t.Parallel()
	o := harness.Options{Limits: harness.DefaultLimits()}
	o.Limits.HoldFrames = 1
	inFaultyWorld(t, o, func(t *testing.T, w *world, f *faults) {
		query := w.send(pause.ReqReplayed, req("x", 1))
		w.Commit(t, notes(3, 1)...)
		w.Step(t)
		f.readLog = errDisk
		query.finish(t)
		f.readLog = nil
		requireClosed(t, w.client.Settle(), "x", wire.Failed)
		w.settled(0)
	})
}

// TestFailedQueryOfAReplacedGenerationIsSilent: the CLOSED would be the newer
// one's.
func TestFailedQueryOfAReplacedGenerationIsSilent(t *testing.T) {
	t.Parallel()
	inFaultyWorld(t, harness.Options{}, func(t *testing.T, w *world, f *faults) {
		w.Commit(t, notes(200, 1)...)
		w.Step(t)
		older := w.send(pause.ReqPage, req("x", 1))
		require.Equal(t, []string{eose("x")}, w.open(req("x", 2)))
		f.next = errDisk
		older.finish(t)
		require.Empty(t, w.client.Settle())
		w.settled(1)
	})
}

// TestFollowerThatCannotReadDelaysAndDropsNothing is E3 in one process.
func TestFollowerThatCannotReadDelaysAndDropsNothing(t *testing.T) {
	t.Parallel()
	inFaultyWorld(t, harness.Options{}, func(t *testing.T, w *world, f *faults) {
		w.open(req("x", 1))
		w.Commit(t, notes(3, 1)...)
		f.readLog = errDisk
		_, err := w.Follower.Step(t.Context())
		require.ErrorIs(t, err, errDisk)
		require.Empty(t, w.client.Settle())
		f.readLog = nil
		w.settled(1)
	})
}
