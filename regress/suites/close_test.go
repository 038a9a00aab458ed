//go:build !nopause

package suites_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/wire"
)

// CLOSE against fan-out, replay and REQ: G1, and G9 for the reader's order.

// closePoints are the places of a CLOSE; "" is the whole of it. At the first
// nothing is retired yet.
var closePoints = []pause.Point{pause.CloseRead, pause.CloseReleased, ""}

func TestCloseBetweenSelectionAndInsertionSendsNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.open(req("x", 1))
		w.Commit(t, note(1, 1))
		fanout := w.fanout(pause.FanoutSelected)
		require.True(t, fanout.parked())
		w.client.Send(closing("x"))
		fanout.finish(t)
		require.Empty(t, w.client.Settle())
		w.settled(0)
	})
}

// TestCloseDuringFanoutSendsNothing parks both at each of their points.
func TestCloseDuringFanoutSendsNothing(t *testing.T) {
	t.Parallel()
	for _, at := range fanoutPoints {
		for _, rival := range closePoints {
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
					w.open(req("x", 1))
					w.Commit(t, note(1, 1), note(2, 1))
					fanout := w.fanout(at)
					require.True(t, fanout.parked())
					closer := w.send(rival, closing("x"))
					require.Equal(t, rival != "", closer.parked())
					fanout.finish(t)
					closer.finish(t) // what the fan-out has queued before it is dropped
					require.Empty(t, w.client.Settle())
					w.settled(0)
				})
			})
		}
	}
}

// TestARetiredGenerationTakesNothing asks the fence itself, however the
// generation was ended.
func TestARetiredGenerationTakesNothing(t *testing.T) {
	t.Parallel()
	rows := map[string]func(w *world){
		"closed":       func(w *world) { w.client.Send(closing("x")) },
		"replaced":     func(w *world) { w.client.Send(req("x", 2)) },
		"refused":      func(w *world) { w.client.Send(`["REQ","x",null]`) },
		"evicted":      func(w *world) { w.Evict(w.handle("x", note(1, 1)), revoked) },
		"disconnected": func(w *world) { w.client.Disconnect(w.t) },
	}
	for name, end := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
				w.open(req("x", 1))
				h := w.handle("x", note(1, 1))
				end(w)
				w.client.Settle()
				require.Equal(t, lifecycle.Dropped, h.Deliver(1, note(1, 1), nil))
				require.ErrorIs(t, h.Replay(t.Context(), note(1, 1), nil), lifecycle.ErrRetired)
				_, err := h.GoLive(wire.HintFinish)
				require.ErrorIs(t, err, lifecycle.ErrRetired)
				require.False(t, h.Evict(revoked))
				require.Zero(t, w.client.Conn.Usage().Frames)
				require.Empty(t, w.client.Settle())
			})
		})
	}
}

func TestCloseDropsWhatIsQueuedAndNotTaken(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.Commit(t, notes(5, 1)...)
		w.Step(t)
		w.client.Send(req("x", 1)) // five events and EOSE
		w.client.Send(req("y", 1)) // the same, and they stay
		start(func() {})
		require.Equal(t, 12, w.client.Conn.Usage().Frames)
		w.client.Send(closing("x"))
		require.Equal(t, 6, w.client.Conn.Usage().Frames)
		for _, f := range w.client.Settle() {
			m, err := wire.DecodeRelay([]byte(f))
			require.NoError(t, err)
			require.Equal(t, "y", m.Sub)
		}
		w.settled(1)
	})
}

// TestCloseDuringReplayLeavesNoZombie parks the query, or the reader of the REQ,
// at each point. CLOSE is read next, always: it comes to an end while the query
// stands, and the query then finds out: from the fence and not from the store,
// which need not look at its context at once.
func TestCloseDuringReplayLeavesNoZombie(t *testing.T) {
	t.Parallel()
	for _, at := range reqPoints[1:] {
		for _, rival := range closePoints {
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) { closeDuringReplay(t, w, at, rival) })
			})
			t.Run(string(at)+" x "+string(rival)+" over a deaf store", func(t *testing.T) {
				t.Parallel()
				inFaultyWorld(t, harness.Options{}, func(t *testing.T, w *world, f *faults) {
					f.deaf = true
					closeDuringReplay(t, w, at, rival)
				})
			})
		}
	}
}

func closeDuringReplay(t *testing.T, w *world, at, rival pause.Point) {
	w.Commit(t, notes(3, 1)...)
	w.Step(t)
	opener := w.send(at, req("x", 1))
	require.True(t, opener.parked())
	closer := w.send(rival, closing("x"))
	require.Equal(t, rival != "", closer.parked())
	opener.finish(t)
	closer.finish(t)
	require.Empty(t, w.client.Settle())
	w.Commit(t, note(9, 1))
	w.Step(t)
	require.Empty(t, w.client.Settle())
	w.settled(0)
}

// TestCloseBehindAParkedReqIsReadAfterIt is REQ and CLOSE in one burst while the
// reader stands between reserving and starting the query.
func TestCloseBehindAParkedReqIsReadAfterIt(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.Commit(t, note(1, 1))
		w.Step(t)
		burst := w.startTo(pause.ReqReserved, func() {
			w.client.Send(req("x", 1))
			w.client.Send(closing("x"))
		})
		require.True(t, burst.parked())
		burst.finish(t)
		require.Empty(t, w.client.Settle())
		w.settled(0)
	})
}

func TestCloseWhileTheHoldOverflowsSendsNothing(t *testing.T) {
	t.Parallel()
	for _, at := range []pause.Point{pause.ReqRestarted, pause.ReqCaughtUp} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			o := harness.Options{Limits: harness.DefaultLimits()}
			o.Limits.HoldFrames = 1
			inWorld(t, o, func(t *testing.T, w *world) {
				replay := w.send(pause.ReqReplayed, req("x", 1))
				w.Commit(t, notes(3, 1)...)
				w.Step(t)
				again := w.control.Arm(at)
				replay.finish(t)
				require.True(t, again.Parked())
				w.client.Send(closing("x"))
				again.Release()
				require.Empty(t, w.client.Settle())
				w.settled(0)
			})
		})
	}
}

func TestCloseOfAnUnknownIDIsSilent(t *testing.T) {
	t.Parallel()
	for _, ack := range []bool{false, true} {
		inWorld(t, harness.Options{CloseAck: ack}, func(t *testing.T, w *world) {
			w.client.Send(closing("x"))
			require.Empty(t, w.client.Settle())
			w.settled(0)
		})
	}
}

// With close_ack the CLOSED is the last frame of its generation, wherever
// the fan-out stands.
func TestAcknowledgedCloseEndsWithClosed(t *testing.T) {
	t.Parallel()
	for _, at := range fanoutPoints {
		for _, rival := range closePoints {
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{CloseAck: true}, func(t *testing.T, w *world) {
					w.open(req("x", 1))
					w.Commit(t, note(1, 1), note(2, 1))
					fanout := w.fanout(at)
					closer := w.send(rival, closing("x"))
					fanout.finish(t)
					closer.finish(t)
					require.Equal(t, []string{`["CLOSED","x",""]`}, w.client.Settle())
					w.settled(0)
				})
			})
		}
	}
}

// TestClosingTwiceIsAcknowledgedOnce: the second CLOSE finds nothing to end and
// takes nothing away.
func TestClosingTwiceIsAcknowledgedOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{CloseAck: true}, func(t *testing.T, w *world) {
		w.open(req("x", 1))
		w.client.Send(closing("x"))
		w.client.Send(closing("x"))
		require.Equal(t, []string{`["CLOSED","x",""]`}, w.client.Settle())
		w.settled(0)
	})
}

// TestAcknowledgedCloseOfAnEndedSubscription: the CLOSED that is on its way
// already is the answer.
func TestAcknowledgedCloseOfAnEndedSubscription(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{CloseAck: true}, func(t *testing.T, w *world) {
		w.open(req("x", 1))
		require.True(t, w.Evict(w.handle("x", note(1, 1)), wire.Because(wire.Restricted, "no longer")))
		w.client.Send(closing("x"))
		requireClosed(t, w.client.Settle(), "x", wire.Restricted)
		w.settled(0)
	})
}

func TestANewerREQMutesTheAcknowledgement(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{CloseAck: true}, func(t *testing.T, w *world) {
		w.open(req("x", 1))
		w.client.Send(closing("x"))
		w.client.Send(req("x", 1))
		require.Equal(t, []string{eose("x")}, w.client.Settle())
		w.settled(1)
	})
}
