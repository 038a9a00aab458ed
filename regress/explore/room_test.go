//go:build !nopause

package explore_test

import (
	"time"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
	"fencepost/regress/harness"
)

// tight returns limits under which a few events are too many.
func tight(hold, queue int) harness.Options {
	l := lifecycle.Limits{
		QueueFrames: queue, QueueBytes: 1 << 20, HoldFrames: hold, HoldBytes: 1 << 16,
		Subscriptions: 8, Weight: 1 << 16, Queries: 4, Pending: 8, PendingBytes: 1 << 20, RoomTimeout: 30 * time.Second,
	}
	return harness.Options{Limits: l}
}

// roomScenarios are about clients for which there is not room enough: G8.
func roomScenarios() []scenario {
	return []scenario{
		{
			// Not ReqStarted: nothing is held before the handle is in the index. Not ReqBegun:
			// what is stored goes to the queue then, and what is live to the hold.
			name: "G8 hold overflows, three commits, fan-out, REQ, all points", options: tight(1, 64), long: true, reduced: true,
			points: only(pause.ReqIndexed, pause.ReqSnapshot, pause.ReqReplayed,
				pause.ReqRestarted, pause.ReqCaughtUp, pause.FanoutRead, pause.FanoutDecided),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				return []explore.Operation{
					w.publisher(apple(1), apple(2), apple(3)), w.follower(w.head() + 3), a.reader(reqApples),
				}
			},
		},
		{
			// Not ReqIndexed and ReqBegun: CLOSE between them is "G1 fan-out, CLOSE behind REQ".
			name: "G8 hold overflows, three commits, fan-out, REQ, CLOSE", options: tight(1, 64), long: true,
			points: only(pause.ReqReplayed, pause.ReqRestarted, pause.ReqCaughtUp, pause.FanoutDecided, pause.CloseReleased),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				return []explore.Operation{
					w.publisher(apple(1), apple(2), apple(3)), w.follower(w.head() + 3), a.reader(reqApples, closeX),
				}
			},
		},
		{
			name: "G8 hold overflows, three commits, fan-out, REQ", options: tight(1, 64), long: true,
			points: only(pause.ReqIndexed, pause.ReqReplayed, pause.ReqRestarted, pause.ReqCaughtUp, pause.FanoutDecided),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				return []explore.Operation{
					w.publisher(apple(1), apple(2), apple(3)), w.follower(w.head() + 3), a.reader(reqApples),
				}
			},
		},
		{
			// Not FanoutSelected: from there to FanoutDecided nothing is read that changes here.
			name: "G8 queue full, fan-out of three, writer, CLOSE", options: tight(4, 4), slow: true, long: true,
			points: points(closePoints, only(pause.FanoutDecided)),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				a.open("x", apples)
				w.commit(apple(1))
				w.commit(apple(2))
				w.commit(apple(3))
				w.commit(apple(4))
				return []explore.Operation{w.follower(w.head()), a.writer(2), a.reader(closeX)}
			},
		},
		{
			name: "G8 queue full, fan-out, replacement, writer", options: tight(4, 4), slow: true, long: true,
			points: only(pause.ReqReserved, pause.ReqIndexed, pause.ReqReplayed, pause.FanoutDecided),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(pear(1))
				a.open("x", apples)
				w.commit(apple(1))
				w.commit(apple(2))
				w.commit(apple(3))
				w.commit(apple(4))
				return []explore.Operation{w.follower(w.head()), a.reader(reqPears), a.writer(2)}
			},
		},
		{
			name: "G8 REQ waits for room, eviction, writer", options: tight(4, 2), slow: true,
			points: points(reqSteps, only(pause.EvictSelected, pause.Evicted)),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				a.open("x", apples)
				return []explore.Operation{
					a.reader(`["REQ","y",` + pears + `]`), w.eviction("eviction", a, "x", apple(1)), a.writer(2),
				}
			},
		},
		{
			name: "G8 replay waits for room, CLOSE, writer", options: tight(4, 4), slow: true, long: true,
			points: points(reqPoints, closePoints),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1), apple(2), apple(3), apple(4), apple(5))
				return []explore.Operation{a.reader(reqApples, closeX), a.writer(3)}
			},
		},
		{
			// Not ReqIndexed: who comes before the snapshot is the seam's matter (G6).
			name: "G8 replay waits for room, two commits, fan-out, writer", options: tight(1, 4), slow: true, long: true,
			points: only(pause.ReqPage, pause.ReqReplayed, pause.ReqRestarted, pause.FanoutDecided),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1), apple(2), apple(3))
				return []explore.Operation{
					w.publisher(apple(4), apple(5)), a.reader(reqApples), w.follower(w.head() + 2), a.writer(3),
				}
			},
		},
	}
}
