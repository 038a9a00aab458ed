//go:build !nopause

package suites_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/store"
)

// Rows that fail and come late: O9, O10, O17, R6.

// damaged is a store whose log has a row that cannot be read, as long as that is so.
type damaged struct {
	store.Store
	row *atomic.Uint64 // 0: none
}

func (d damaged) ReadLog(ctx context.Context, after store.Position, most int) ([]store.Entry, error) {
	rows, err := d.Store.ReadLog(ctx, after, most)
	rows = slices.Clone(rows)
	for i := range rows {
		if uint64(rows[i].Position) == d.row.Load() {
			why := fmt.Errorf("%w: by hand", store.ErrDamaged)
			rows[i] = store.Entry{
				Position: rows[i].Position, Type: rows[i].Type, Prefix: rows[i].Prefix, Broken: store.Salvage(why, rows[i].Event.Raw()),
			}
		}
	}
	return rows, err
}

// inDamagedWorld runs test over a store whose rows can be damaged. The trace is not
// checked: it takes what is late for what is out of order.
func inDamagedWorld(t *testing.T, o harness.Options, test func(t *testing.T, w *world, row *atomic.Uint64)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		row := new(atomic.Uint64)
		o.Control = harness.NewController()
		o.Wrap = func(s store.Store) store.Store { return damaged{s, row} }
		relay := harness.New(t, o)
		test(t, &world{Relay: relay, t: t, control: o.Control, client: relay.Connect(t)}, row)
	})
}

// defers commits notes 1 to 3 and has the follower defer the second.
func (w *world) defers(row *atomic.Uint64) {
	info, err := w.Store.Log(w.t.Context())
	require.NoError(w.t, err)
	row.Store(uint64(info.Head) + 2)
	w.Commit(w.t, note(1, 1), note(2, 1), note(3, 1))
	w.Step(w.t)
	require.Equal(w.t, []store.Position{info.Head + 2}, w.Follower.Deferred())
}

// late mends the row and has the follower try it again, until it parks at p.
func (w *world) late(row *atomic.Uint64, p pause.Point) *task {
	row.Store(0)
	after(time.Second)
	return w.startTo(p, func() {
		_, err := w.Follower.Step(w.t.Context())
		assert.NoError(w.t, err)
	})
}

// once expects each of the first n notes and EOSE exactly once, and one subscription.
func (w *world) once(n int) {
	w.t.Helper()
	frames := w.client.Settle()
	for i := 1; i <= n; i++ {
		require.Equal(w.t, 1, count(frames, frame("x", note(i, 1))), "event %d in %v", i, frames)
	}
	require.Equal(w.t, 1, count(frames, eose("x")))
	require.Equal(w.t, 1, w.Index.Len())
	require.Empty(w.t, w.Follower.Deferred())
}

// latePoints are the places of the follower while it tries a deferred row again.
var latePoints = []pause.Point{pause.DeferredLifted, pause.FanoutSelected, pause.FanoutDecided, ""}

// TestDeferredRowAtTheSeamArrivesOnce lets a REQ and the delivery of a deferred row
// stand at each of their points, the one or the other there first.
func TestDeferredRowAtTheSeamArrivesOnce(t *testing.T) {
	t.Parallel()
	for _, query := range reqPoints {
		for _, at := range latePoints {
			t.Run(string(query)+" then "+string(at), func(t *testing.T) {
				t.Parallel()
				inDamagedWorld(t, harness.Options{}, func(t *testing.T, w *world, row *atomic.Uint64) {
					w.defers(row)
					q := w.send(query, req("x", 1))
					require.True(t, q.parked())
					f := w.late(row, at)
					q.finish(t)
					f.finish(t)
					w.once(3)
				})
			})
			t.Run(string(at)+" then "+string(query), func(t *testing.T) {
				t.Parallel()
				inDamagedWorld(t, harness.Options{}, func(t *testing.T, w *world, row *atomic.Uint64) {
					w.defers(row)
					f := w.late(row, at)
					q := w.send(query, req("x", 1))
					require.True(t, q.parked())
					f.finish(t)
					q.finish(t)
					w.once(3)
				})
			})
		}
	}
}

// TestRowThatIsDeferredAtTheSeamArrivesOnce has the row fail while a REQ stands at
// each of its points, and delivers it after that, or before the REQ goes on.
func TestRowThatIsDeferredAtTheSeamArrivesOnce(t *testing.T) {
	t.Parallel()
	for _, query := range reqPoints {
		for _, early := range []bool{true, false} {
			t.Run(fmt.Sprint(query, " ", early), func(t *testing.T) {
				t.Parallel()
				inDamagedWorld(t, harness.Options{}, func(t *testing.T, w *world, row *atomic.Uint64) {
					w.Commit(t, note(4, 1))
					w.Step(t)
					q := w.send(query, req("x", 1))
					require.True(t, q.parked())
					w.defers(row)
					if early {
						w.late(row, "").finish(t)
						q.finish(t)
					} else {
						q.finish(t)
						w.late(row, "").finish(t)
					}
					w.once(4)
				})
			})
		}
	}
}

// TestDeferredRowThatTheHoldLosesIsReadAgain overflows the hold with it, before and
// after it is delivered.
func TestDeferredRowThatTheHoldLosesIsReadAgain(t *testing.T) {
	t.Parallel()
	o := harness.Options{Limits: harness.DefaultLimits()}
	o.Limits.HoldFrames = 1
	for _, before := range []bool{true, false} {
		for _, again := range []pause.Point{pause.ReqRestarted, pause.ReqCaughtUp, ""} {
			t.Run(fmt.Sprint(before, " ", again), func(t *testing.T) {
				t.Parallel()
				inDamagedWorld(t, o, func(t *testing.T, w *world, row *atomic.Uint64) {
					w.defers(row)
					q := w.send(pause.ReqReplayed, req("x", 1))
					if before {
						w.late(row, "").finish(t)
					}
					w.Commit(t, note(4, 1), note(5, 1))
					w.Step(t)
					if again != "" {
						next := w.control.Arm(again)
						q.stop.Release()
						start(func() {})
						require.True(t, next.Parked())
						q.stop = next
					}
					if !before {
						w.late(row, "").finish(t)
					}
					q.finish(t)
					w.once(5)
				})
			})
		}
	}
}

// A row that is given up at any point of a REQ ends it, or is among what it sends.
func TestRowThatIsGivenUpAtTheSeamIsNeverMissedInSilence(t *testing.T) {
	t.Parallel()
	for _, query := range reqPoints {
		for _, at := range []pause.Point{pause.DeferredLifted, ""} {
			t.Run(string(query)+" "+string(at), func(t *testing.T) {
				t.Parallel()
				inDamagedWorld(t, harness.Options{}, func(t *testing.T, w *world, row *atomic.Uint64) {
					w.defers(row)
					q := w.send(query, req("x", 1))
					require.True(t, q.parked())
					for range 3 {
						after(2 * time.Second)
						w.Step(t)
					}
					after(2 * time.Second)
					f := w.fanout(at)
					q.finish(t)
					f.finish(t)
					require.Empty(t, w.Follower.Deferred())
					requireToldOrSent(t, w)
				})
			})
			t.Run(string(at)+" "+string(query), func(t *testing.T) {
				t.Parallel()
				inDamagedWorld(t, harness.Options{}, func(t *testing.T, w *world, row *atomic.Uint64) {
					w.defers(row)
					for range 3 {
						after(2 * time.Second)
						w.Step(t)
					}
					after(2 * time.Second)
					f := w.fanout(at)
					q := w.send(query, req("x", 1))
					require.True(t, q.parked())
					f.finish(t)
					q.finish(t)
					require.Empty(t, w.Follower.Deferred())
					requireToldOrSent(t, w)
				})
			})
		}
	}
}

func requireToldOrSent(t *testing.T, w *world) {
	frames := w.client.Settle()
	require.NotEmpty(t, frames)
	if seen := verbs(t, frames); seen[len(seen)-1] == "CLOSED" {
		require.Zero(t, w.Index.Len())
		return
	}
	require.Equal(t, 1, count(frames, frame("x", note(2, 1))), frames)
	require.Equal(t, 1, w.Index.Len())
}

// A feed does not pass a row that is deferred, and goes on behind it.
func TestFeedWaitsAtADeferredRow(t *testing.T) {
	t.Parallel()
	inDamagedWorld(t, harness.Options{}, func(t *testing.T, w *world, row *atomic.Uint64) {
		w.client.Send(`["CHANGES","x",{"live":true,"kinds":[1]}]`)
		require.Equal(t, []string{"CHANGES"}, verbs(t, w.client.Settle()))
		w.defers(row)
		ended := w.client.Settle()
		require.Len(t, ended, 1, "what was queued is dropped, and the client has not seen its position")
		require.Contains(t, ended[0], `"ERR","error: a change is delayed`)

		w.client.Send(`["CHANGES","x",{"live":true,"kinds":[1],"since":0}]`)
		require.Len(t, w.client.Settle(), 1, "it waits behind the first")
		w.late(row, "").finish(t)
		require.Len(t, w.client.Settle(), 3, "the row, the next one and EOSE")
		require.Equal(t, 1, w.Index.Len())
	})
}

// What was given up cannot be told to a feed, so its client fetches everything anew.
func TestFeedMeetsADeadLetter(t *testing.T) {
	t.Parallel()
	inDamagedWorld(t, harness.Options{}, func(t *testing.T, w *world, row *atomic.Uint64) {
		w.defers(row)
		w.client.Send(`["CHANGES","x",{"kinds":[1],"since":1}]`)
		w.client.Send(`["CHANGES","y",{"kinds":[2],"since":1}]`)
		frames := w.client.Settle()
		require.Len(t, frames, 1)
		require.Contains(t, frames[0], `["CHANGES","y","EOSE",3,`)
		for range 4 {
			after(2 * time.Second)
			w.Step(t)
		}
		frames = w.client.Settle()
		require.Len(t, frames, 1)
		require.Contains(t, frames[0], `["CHANGES","x","ERR","resync: `)
	})
}
