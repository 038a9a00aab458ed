//go:build !nopause

package suites_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// A changes feed against a client that reads slowly, and against retention: G8, R2, R3.

// trim removes what stands before floor from the log.
func (w *world) trim(floor uint64) {
	w.t.Helper()
	info, err := w.Store.Log(w.t.Context())
	require.NoError(w.t, err)
	got, err := w.Store.Trim(w.t.Context(), store.Retention{Rows: uint64(info.Head) + 1 - floor}, time.Now())
	require.NoError(w.t, err)
	require.EqualValues(w.t, floor, got)
}

// TestRetentionDuringAReplayIsAResync parks the feed at each of its points and moves
// the floor past its cursor: it ends with ERR and never leaves anything out.
func TestRetentionDuringAReplayIsAResync(t *testing.T) {
	t.Parallel()
	for _, at := range feedPoints {
		for floor := uint64(2); floor <= 5; floor++ {
			t.Run(fmt.Sprint(at, " x ", floor), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
					w.Commit(t, notes(5, 1)...)
					w.Step(t)
					query := w.send(at, feed("x", 2, 1))
					require.True(t, query.parked())
					w.trim(floor)
					query.finish(t)
					want := []string{"3+", "4+", "5+", "EOSE 5"}
					read := at == pause.ReqPage || at == pause.ReqReplayed
					if floor > 3 && !read {
						want = []string{"ERR resync"}
					}
					require.Equal(t, want, brief(t, w.client.Settle()))
					if len(want) == 1 {
						w.settled(0)
						return
					}
					w.Commit(t, note(9, 1))
					w.settled(1)
				})
			})
		}
	}
}

// TestRetentionBetweenTwoPagesIsAResync: what was sent before is not enough to go on
// silently, and the client learns which positions there are.
func TestRetentionBetweenTwoPagesIsAResync(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.Commit(t, notes(600, 1)...)
		w.Step(t)
		w.control.Arm(pause.ReqPage).Release()
		second := w.send(pause.ReqPage, feed("x", 0, 1))
		require.True(t, second.parked())
		w.trim(550) // behind the second page of 256
		second.finish(t)
		got := w.client.Settle()
		require.Len(t, got, 1, "what was queued is dropped with its generation")
		m, err := wire.DecodeRelay([]byte(got[0]))
		require.NoError(t, err)
		require.Equal(t, wire.RelayMessage{
			Verb: "CHANGES", Sub: "x", Change: "ERR", Text: m.Text, Epoch: "fake", Floor: 550, Head: 600,
		}, m)
		w.settled(0)
	})
}

// TestRetentionBehindAnOverflowIsAResync: live changes were lost to the hold, and the
// log does not have them any more when it is read instead.
func TestRetentionBehindAnOverflowIsAResync(t *testing.T) {
	t.Parallel()
	for floor, want := range map[uint64][]string{
		2: {"1+", "EOSE 1", "2+", "3+", "4+"},
		3: {"ERR resync"},
		4: {"ERR resync"},
	} {
		t.Run(fmt.Sprint(floor), func(t *testing.T) {
			t.Parallel()
			overflown(t, want, func(w *world, _ *otherwise) { w.trim(floor) })
		})
	}
}

// TestAnotherHistoryBehindAnOverflowIsAResync is the same for a database that was
// restored meanwhile.
func TestAnotherHistoryBehindAnOverflowIsAResync(t *testing.T) {
	t.Parallel()
	overflown(t, []string{"ERR resync"}, func(_ *world, s *otherwise) { s.epoch = "restored" })
}

// overflown lets what happens between the overflow of a hold and the reading of the log.
func overflown(t *testing.T, want []string, happens func(w *world, s *otherwise)) {
	t.Helper()
	s := &otherwise{}
	o := harness.Options{Limits: harness.DefaultLimits()}
	o.Limits.HoldFrames = 1
	o.Wrap = func(x store.Store) store.Store {
		*s = otherwise{Store: x}
		return s
	}
	inWorld(t, o, func(t *testing.T, w *world) {
		w.Commit(t, note(1, 1))
		w.Step(t)
		replay := w.send(pause.ReqReplayed, feed("x", 0, 1))
		w.Commit(t, note(2, 1), note(3, 1), note(4, 1))
		w.Step(t)
		happens(w, s)
		replay.finish(t)
		require.Equal(t, want, brief(t, w.client.Settle()))
		w.settled(len(want) / 5)
	})
}

// otherwise is a store that can become one of another history. It does so while nothing
// of the relay runs.
type otherwise struct {
	store.Store
	epoch store.Epoch
}

func (s *otherwise) Log(ctx context.Context) (store.LogInfo, error) {
	info, err := s.Store.Log(ctx)
	if s.epoch != "" {
		info.Epoch = s.epoch
	}
	return info, err
}

// TestAnOverflowOfTheHoldIsReadFromTheLog, removals and what is only live included,
// with more of both at each point of that.
func TestAnOverflowOfTheHoldIsReadFromTheLog(t *testing.T) {
	t.Parallel()
	spark := storetest.Draft{Key: 1, At: 1000, Kind: 20001}.Event()
	msg := `["CHANGES","x",{"since":0,"live":true,"removed":true}]`
	for _, at := range []pause.Point{pause.ReqRestarted, pause.ReqCaughtUp, ""} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			o := harness.Options{Limits: harness.DefaultLimits()}
			o.Limits.HoldFrames = 1
			inWorld(t, o, func(t *testing.T, w *world) {
				w.Commit(t, note(1, 1))
				w.Step(t)
				replay := w.send(pause.ReqReplayed, msg)
				w.Commit(t, note(2, 1), spark, deletionOf(note(1, 1))) // 2, 3, 4 and its row 5
				w.Step(t)
				if at != "" {
					again := w.control.Arm(at)
					replay.release()
					require.True(t, again.Parked())
					w.Commit(t, note(6, 1), note(7, 1))
					w.Step(t)
					again.Release()
				} else {
					w.Commit(t, note(6, 1), note(7, 1))
				}
				replay.finish(t)
				require.Equal(t, []string{"1+", "EOSE 1", "2+", "3+", "4+", "5-", "6+", "7+"}, brief(t, settleAll(t, w)))
				w.settled(1)
			})
		})
	}
}

// settleAll applies what is committed and takes what comes of it.
func settleAll(t *testing.T, w *world) []string {
	got := w.client.Settle()
	w.Step(t)
	return append(got, w.client.Settle()...)
}

func TestALiveChangeWithoutRoomEndsTheFeedWithErr(t *testing.T) {
	t.Parallel()
	inWorld(t, narrow(16), func(t *testing.T, w *world) {
		w.open(feed("x", 0, 1))
		w.open(req("y", 2))
		w.Commit(t, notes(50, 1)...)
		w.Commit(t, note(1, 2))
		w.Step(t)
		require.Equal(t, []string{"ERR error", "EVENT"}, brief(t, w.client.Settle()), "never a silent gap")
		w.settled(1)
	})
}

func TestAReplayOfAFeedWaitsForRoomAndThenEnds(t *testing.T) {
	t.Parallel()
	o := narrow(16)
	inWorld(t, o, func(t *testing.T, w *world) {
		w.Commit(t, notes(100, 1)...)
		w.Step(t)
		w.client.Send(feed("x", 0, 1))
		got := 0
		for got < 60 {
			after(o.Limits.RoomTimeout - time.Second)
			synctest.Wait()
			require.LessOrEqual(t, w.client.Conn.Usage().Frames, 9)
			got += len(w.client.Take())
		}
		after(o.Limits.RoomTimeout + time.Second)
		require.Equal(t, []string{"ERR error"}, brief(t, w.client.Settle()))
		w.settled(0)
	})
}

// TestARestoredLogIsNotTakenForTheOldOne: a backup was restored without a word, so
// that the epoch is the same and other events stand where the client was.
func TestARestoredLogIsNotTakenForTheOldOne(t *testing.T) {
	t.Parallel()
	var token string
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.Commit(t, notes(5, 1)...)
		w.Step(t)
		got := w.open(feed("x", 4, 1))
		m, err := wire.DecodeRelay([]byte(got[len(got)-1]))
		require.NoError(t, err)
		token = m.Token
		w.settled(1)
	})
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.Commit(t, notes(3, 1)...) // what the backup had
		w.Step(t)
		resume := fmt.Sprintf(`["CHANGES","x",{"since":%q}]`, token)
		require.Equal(t, []string{"ERR resync"}, brief(t, w.open(resume)), "above the head")
		w.Commit(t, note(13, 1), note(14, 1), note(15, 1))
		w.Step(t)
		require.Equal(t, []string{"ERR resync"}, brief(t, w.open(resume)), "another event stands there")
		require.Equal(t, []string{"6+", "EOSE 6"}, brief(t, w.open(`["CHANGES","x",{"since":5}]`)), "a bare number does not tell")
	})
}
