//go:build !nopause

package suites_test

import (
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// The seam between what is stored and what is live: G6.

// count returns how many frames are f.
func count(frames []string, f string) int {
	n := 0
	for _, g := range frames {
		if g == f {
			n++
		}
	}
	return n
}

// TestEventAtTheSeamArrivesOnce lets a REQ and the fan-out of two events stand at
// each of their points, the one or the other there first.
func TestEventAtTheSeamArrivesOnce(t *testing.T) {
	t.Parallel()
	for _, query := range reqPoints {
		for _, fanout := range append(fanoutPoints, "") { // "" is all of it
			t.Run(string(query)+" then "+string(fanout), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) { queryThenFanout(t, w, query, fanout) })
			})
			t.Run(string(fanout)+" then "+string(query), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) { fanoutThenQuery(t, w, query, fanout) })
			})
		}
	}
}

func queryThenFanout(t *testing.T, w *world, query, fanout pause.Point) {
	w.Commit(t, note(1, 1))
	w.Step(t)
	q := w.send(query, req("x", 1))
	require.True(t, q.parked())
	w.Commit(t, note(2, 1), note(3, 1))
	f := w.fanout(fanout)
	indexed := slices.Index(reqPoints, query) >= slices.Index(reqPoints, pause.ReqIndexed)
	require.Equal(t, fanout != "" && (indexed || fanout != pause.FanoutDecided), f.parked())
	q.finish(t)
	f.finish(t)
	requireSeam(t, w)
}

func fanoutThenQuery(t *testing.T, w *world, query, fanout pause.Point) {
	w.Commit(t, note(1, 1))
	w.Step(t)
	w.Commit(t, note(2, 1), note(3, 1))
	f := w.fanout(fanout)
	q := w.send(query, req("x", 1))
	require.True(t, q.parked())
	f.finish(t)
	q.finish(t)
	requireSeam(t, w)
}

func requireSeam(t *testing.T, w *world) {
	frames := w.client.Settle()
	for n := 1; n <= 3; n++ {
		require.Equal(t, 1, count(frames, frame("x", note(n, 1))), "event %d in %v", n, frames)
	}
	require.Equal(t, 1, count(frames, eose("x")))
	w.settled(1)
}

// TestChangeAtTheSeamIsSeenOnce replaces or deletes a stored event while the
// query stands at each point, with the fan-out before or after the query's end.
func TestChangeAtTheSeamIsSeenOnce(t *testing.T) {
	t.Parallel()
	old := storetest.Draft{Key: 1, At: 1000, Kind: 10001}.Event()
	changes := map[string]*wire.Event{
		"replaced": storetest.Draft{Key: 1, At: 1001, Kind: 10001}.Event(),
		"deleted":  storetest.Draft{Key: 1, At: 1001, Kind: 5, Tags: nostr.Tags{{"e", old.ID}}}.Event(),
	}
	for name, change := range changes {
		for i, at := range reqPoints {
			for _, early := range []bool{false, true} {
				t.Run(name+" at "+string(at), func(t *testing.T) {
					t.Parallel()
					inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
						w.Commit(t, old)
						w.Step(t)
						query := w.send(at, `["REQ","x",{"kinds":[5,10001]}]`)
						require.True(t, query.parked())
						w.Commit(t, change)
						if early {
							w.Step(t)
						}
						query.finish(t)
						w.Step(t)

						frames, opened := w.client.Settle(), slices.Index(reqPoints, pause.ReqSnapshot)
						require.Equal(t, i >= opened, count(frames, frame("x", old)) == 1, "stored in the snapshot")
						require.Equal(t, 1, count(frames, frame("x", change)))
						w.settled(1)
					})
				})
			}
		}
	}
}

// TestHoldOverflowIsReadFromTheLog overflows the hold again and again: at the end
// of the replay, after it was emptied and after the log was read.
func TestHoldOverflowIsReadFromTheLog(t *testing.T) {
	t.Parallel()
	o := harness.Options{Limits: harness.DefaultLimits()}
	o.Limits.HoldFrames = 2
	inWorld(t, o, func(t *testing.T, w *world) {
		n := 0
		more := func() { // overflows the hold
			for range 3 {
				n++
				w.Commit(t, note(n, 1), note(n, 2))
			}
			w.Step(t)
		}
		more()
		query := w.send(pause.ReqReplayed, req("x", 1))
		more()
		for _, at := range slices.Repeat([]pause.Point{pause.ReqRestarted, pause.ReqCaughtUp}, 4) {
			next := w.control.Arm(at)
			query.stop.Release()
			start(func() {})
			require.True(t, next.Parked(), at)
			query.stop = next
			more()
		}
		query.finish(t)
		frames := w.client.Settle()
		require.Len(t, frames, n+1)
		require.Equal(t, eose("x"), frames[3], "right behind what was stored")
		for i := 4; i <= n; i++ {
			require.Equal(t, frame("x", note(i, 1)), frames[i])
		}
		w.settled(1)
	})
}

// TestEventWhileTheHoldIsReadAgainArrivesOnce lets the fan-out stand at each
// point while the query stands in the catch-up.
func TestEventWhileTheHoldIsReadAgainArrivesOnce(t *testing.T) {
	t.Parallel()
	for _, at := range []pause.Point{pause.ReqRestarted, pause.ReqCaughtUp} {
		for _, fanout := range append(fanoutPoints, "") {
			for _, first := range []bool{true, false} {
				t.Run(string(at)+" x "+string(fanout), func(t *testing.T) {
					t.Parallel()
					o := harness.Options{Limits: harness.DefaultLimits()}
					o.Limits.HoldFrames = 2
					inWorld(t, o, func(t *testing.T, w *world) { catchUpAgainstFanout(t, w, at, fanout, first) })
				})
			}
		}
	}
}

func catchUpAgainstFanout(t *testing.T, w *world, at, fanout pause.Point, queryFirst bool) {
	query := w.send(pause.ReqReplayed, req("x", 1))
	w.Commit(t, notes(3, 1)...)
	w.Step(t)
	again := w.control.Arm(at)
	query.stop.Release()
	start(func() {})
	require.True(t, again.Parked())
	query.stop = again
	w.Commit(t, note(5, 1), note(6, 1))
	f := w.fanout(fanout)
	require.Equal(t, fanout != "", f.parked())
	if queryFirst {
		query.finish(t)
		f.finish(t)
	} else {
		f.finish(t)
		query.finish(t)
	}
	w.settled(1)
}

// TestEventThatIsBeingDeliveredIsReadAgain lets the query go on while the fan-out of
// an event, which the hold has lost, has not come to the next reader.
func TestEventThatIsBeingDeliveredIsReadAgain(t *testing.T) {
	t.Parallel()
	o := harness.Options{Limits: harness.DefaultLimits()}
	o.Limits.HoldFrames = 1
	inWorld(t, o, func(t *testing.T, w *world) {
		query := w.send(pause.ReqReplayed, req("x", 1))
		w.open(req("y", 1))
		w.Commit(t, note(1, 1), note(2, 1))
		w.Step(t)
		w.Commit(t, note(3, 1))
		f := w.fanout(pause.FanoutDecided)
		second := w.control.Arm(pause.FanoutDecided)
		f.stop.Release()
		start(func() {})
		require.True(t, second.Parked())
		f.stop = second
		query.finish(t)
		f.finish(t)
		frames := w.client.Settle()
		for n := 1; n <= 3; n++ {
			require.Equal(t, 1, count(frames, frame("x", note(n, 1))), "event %d in %v", n, frames)
		}
		w.settled(2)
	})
}

// TestLongLogIsReadAgainInPages: more than one page of it, between rows that
// nobody asked for.
func TestLongLogIsReadAgainInPages(t *testing.T) {
	t.Parallel()
	o := harness.Options{Limits: harness.DefaultLimits()}
	o.Limits.HoldFrames = 1
	inWorld(t, o, func(t *testing.T, w *world) {
		query := w.send(pause.ReqReplayed, req("x", 1))
		for n := range 200 {
			w.Commit(t, note(n, 1), note(n, 2))
		}
		w.Step(t)
		query.finish(t)
		require.Len(t, w.client.Settle(), 201)
		w.settled(1)
	})
}

// TestLogReadAgainLeavesOutWhatWasRemoved: an event removed from the log before
// it was read again is not sent, and leaves no hole behind.
func TestLogReadAgainLeavesOutWhatWasRemoved(t *testing.T) {
	t.Parallel()
	o := harness.Options{Limits: harness.DefaultLimits()}
	o.Limits.HoldFrames = 1
	inWorld(t, o, func(t *testing.T, w *world) {
		query := w.send(pause.ReqReplayed, req("x", 1))
		w.Commit(t, notes(3, 1)...)
		w.Step(t)
		w.Commit(t, note(4, 5, nostr.Tag{"e", note(1, 1).ID}))
		query.finish(t)
		want := []string{eose("x"), frame("x", note(0, 1)), frame("x", note(2, 1))}
		require.Equal(t, want, w.client.Settle())
		w.settled(1)
	})
}

func TestStoredEventsComeNewestFirstAndOnceAcrossFilters(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		twins := []*wire.Event{
			storetest.Draft{Key: 2, At: 1001, Kind: 1, Content: "a"}.Event(),
			storetest.Draft{Key: 2, At: 1001, Kind: 1, Content: "b"}.Event(),
		}
		w.Commit(t, note(0, 1), note(2, 2))
		w.Commit(t, twins...)
		w.Step(t)
		slices.SortFunc(twins, func(a, b *wire.Event) int { return slices.Compare([]byte(a.ID), []byte(b.ID)) })
		want := []string{
			frame("x", note(2, 2)), frame("x", twins[0]), frame("x", twins[1]), frame("x", note(0, 1)), eose("x"),
		}
		require.Equal(t, want, w.open(`["REQ","x",{"kinds":[1]},{"kinds":[1,2]},{"ids":["`+twins[0].ID+`"]}]`))
		w.settled(1)
	})
}

// TestEOSESaysWhetherALimitHidEvents is NIP-67's hint.
func TestEOSESaysWhetherALimitHidEvents(t *testing.T) {
	t.Parallel()
	o := harness.Options{}
	o.Handlers.MaxLimit, o.Handlers.DefaultLimit, o.Handlers.MaxTotal = 6, 4, 7
	rows := []struct {
		name, filters, hint string
		events              int
	}{
		{"all there", `{"kinds":[1],"limit":5}`, "finish", 5},
		{"one hidden", `{"kinds":[1],"limit":4}`, "more", 4},
		{"the default limit", `{"kinds":[1]}`, "more", 4},
		{"limit 0 does not look", `{"kinds":[1],"limit":0}`, "", 0},
		{"clamped", `{"kinds":[1,2],"limit":1000}`, "more", 6},
		{"all filters together", `{"kinds":[1],"limit":6},{"kinds":[2],"limit":6}`, "more", 7},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, o, func(t *testing.T, w *world) {
				w.Commit(t, notes(5, 1)...)
				w.Commit(t, notes(5, 2)...)
				w.Step(t)
				frames := w.open(`["REQ","x",` + r.filters + `]`)
				require.Len(t, frames, r.events+1)
				want := `["EOSE","x",["` + r.hint + `"]]`
				if r.hint == "" {
					want = `["EOSE","x"]`
				}
				require.Equal(t, want, frames[r.events])
				w.settled(1)
			})
		})
	}
}
