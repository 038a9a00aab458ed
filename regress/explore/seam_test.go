//go:build !nopause

package explore_test

import (
	"time"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
	"fencepost/regress/harness"
)

// seamScenarios are about what is stored and what is live: G6, G7.
func seamScenarios() []scenario {
	short := only(pause.ReqIndexed, pause.ReqBegun, pause.ReqSnapshot, pause.ReqReplayed)
	return []scenario{
		{
			name: "G6 commit, fan-out, REQ", points: points(reqPoints, fanoutPoints), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(5))
				return []explore.Operation{w.publisher(apple(3)), w.follower(w.head() + 1), a.reader(reqApples)}
			},
		},
		{
			name: "G6 two commits, fan-out, REQ", points: points(short, only(pause.ReqPage, pause.FanoutRead, pause.FanoutBegun, pause.FanoutDecided)), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(5))
				return []explore.Operation{w.publisher(apple(3), apple(7)), w.follower(w.head() + 2), a.reader(reqApples)}
			},
		},
		{
			name: "G6 two commits, fan-out, REQ, writer", points: only(pause.ReqIndexed, pause.ReqBegun, pause.ReqReplayed, pause.FanoutBegun), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				return []explore.Operation{
					w.publisher(apple(3), apple(7)), w.follower(w.head() + 2), a.reader(reqApples), a.writer(1),
				}
			},
		},
		{
			name: "G6 commit that replaces, fan-out, REQ", points: points(reqPoints, fanoutPoints), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(profile(1))
				return []explore.Operation{w.publisher(profile(2)), w.follower(w.head() + 1), a.reader(reqNames)}
			},
		},
		{
			name: "G6 commit that deletes, fan-out, REQ", long: true,
			points: points(reqPoints, fanoutPoints[:2]),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1), apple(2))
				return []explore.Operation{w.publisher(deletion(apple(1))), w.follower(w.head() + 2), a.reader(reqApples)}
			},
		},
		{
			name: "G6 commit that deletes what is not yet live, fan-out", points: points(fanoutPoints),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				a.open("x", apples)
				return []explore.Operation{
					w.publisher(apple(1), deletion(apple(1))), w.follower(w.head() + 3), a.writer(2),
				}
			},
		},
		{
			name: "G6 ephemeral commit, fan-out, REQ, writer", points: points(short, only(pause.FanoutBegun, pause.FanoutDecided)), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				return []explore.Operation{
					w.publisher(spark(1)), w.follower(w.head() + 1), a.reader(reqSparks), a.writer(1),
				}
			},
		},
	}
}

// tight returns limits under which a few events are too many.
func tight(hold, queue int) harness.Options {
	l := lifecycle.Limits{
		QueueFrames: queue, QueueBytes: 1 << 20, HoldFrames: hold, HoldBytes: 1 << 16,
		Subscriptions: 8, Queries: 4, Pending: 8, PendingBytes: 1 << 20, RoomTimeout: 30 * time.Second,
	}
	return harness.Options{Limits: l}
}

// roomScenarios are about clients for which there is not room enough: G8.
func roomScenarios() []scenario {
	return []scenario{
		{
			name: "G8 hold overflows, fan-out of three, REQ", options: tight(1, 64), long: true,
			points: only(pause.ReqStarted, pause.ReqIndexed, pause.ReqBegun, pause.ReqSnapshot, pause.ReqReplayed,
				pause.ReqRestarted, pause.ReqCaughtUp, pause.FanoutRead, pause.FanoutDecided),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.commit(apple(1))
				w.commit(apple(2))
				w.commit(apple(3))
				return []explore.Operation{w.follower(w.head()), a.reader(reqApples)}
			},
		},
		{
			name: "G8 hold overflows, fan-out of three, REQ, CLOSE", options: tight(1, 64), long: true,
			points: only(pause.ReqIndexed, pause.ReqBegun, pause.ReqReplayed, pause.ReqRestarted, pause.ReqCaughtUp,
				pause.FanoutDecided, pause.CloseReleased),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.commit(apple(1))
				w.commit(apple(2))
				w.commit(apple(3))
				return []explore.Operation{w.follower(w.head()), a.reader(reqApples, closeX)}
			},
		},
		{
			name: "G8 queue full, fan-out of three, writer, CLOSE", options: tight(4, 4), slow: true,
			points: points(closePoints, only(pause.FanoutSelected, pause.FanoutDecided)),
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
			name: "G8 replay waits for room, CLOSE, writer", options: tight(4, 4), slow: true,
			points: points(reqPoints, closePoints),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1), apple(2), apple(3), apple(4), apple(5))
				return []explore.Operation{a.reader(reqApples, closeX), a.writer(3)}
			},
		},
		{
			name: "G8 replay waits for room, fan-out, writer", options: tight(1, 4), slow: true, long: true,
			points: only(pause.ReqIndexed, pause.ReqPage, pause.ReqReplayed, pause.ReqRestarted, pause.FanoutDecided),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1), apple(2), apple(3))
				w.commit(apple(4))
				w.commit(apple(5))
				return []explore.Operation{a.reader(reqApples), w.follower(w.head()), a.writer(3)}
			},
		},
	}
}

// farScenarios have two connections; equal schedules are left out.
func farScenarios() []scenario {
	return []scenario{
		{
			name:        "G1 fan-out to two connections, CLOSE on each, writer",
			points:      points(fanoutPoints, closePoints),
			independent: commute, long: true,
			given: func(w *world) []explore.Operation {
				a, b := w.connect("a"), w.connect("b")
				a.open("x", apples)
				b.open("x", fruit)
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), a.reader(closeX), b.reader(closeX), a.writer(1)}
			},
		},
		{
			name: "G3 commit, fan-out to two connections, eviction on one, CLOSE on the other",
			points: points(fanoutPoints, closePoints,
				only(pause.EvictSelected, pause.Evicted)),
			independent: commute, long: true,
			given: func(w *world) []explore.Operation {
				a, b := w.connect("a"), w.connect("b")
				a.open("x", apples)
				b.open("x", fruit)
				return []explore.Operation{
					w.publisher(apple(1)), w.follower(w.head() + 1), w.eviction("eviction", a, "x", apple(1)), b.reader(closeX), b.writer(1),
				}
			},
		},
		{
			name:        "G2 fan-out to two connections, REQ on one, CLOSE on the other",
			points:      points(reqPoints, fanoutPoints, closePoints),
			independent: commute, long: true,
			given: func(w *world) []explore.Operation {
				a, b := w.connect("a"), w.connect("b")
				w.stored(apple(1))
				b.open("x", fruit)
				w.commit(apple(2))
				return []explore.Operation{w.follower(w.head()), a.reader(reqApples), b.reader(closeX)}
			},
		},
	}
}
