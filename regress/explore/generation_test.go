//go:build !nopause

package explore_test

import (
	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
	"fencepost/regress/harness"
)

// replacementScenarios are about a newer REQ of the same id: G2, G5, G9.
func replacementScenarios() []scenario {
	return []scenario{
		{
			name: "G2 fan-out, replacement, writer", points: points(reqPoints, fanoutSteps), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(pear(1))
				a.open("x", apples)
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), a.reader(reqPears), a.writer(1)}
			},
		},
		{
			name: "G2 fan-out, replacement twice", long: true,
			points: only(pause.ReqStarted, pause.ReqIndexed, pause.ReqBegun, pause.ReqReplayed,
				pause.FanoutBegun, pause.FanoutSelected, pause.FanoutDecided),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(pear(1))
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), a.reader(reqApples, reqPears)}
			},
		},
		{
			name:   "G2 replacement while the older one replays, late store, writer",
			points: points(reqPoints), late: true, long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1), pear(2))
				return []explore.Operation{a.reader(reqApples, reqPears), a.writer(1)}
			},
		},
		{
			name:   "G2 replacement while the older one replays, writer",
			points: points(reqPoints), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1), pear(2))
				return []explore.Operation{a.reader(reqApples, reqPears), a.writer(1)}
			},
		},
		{
			name: "G5 fan-out, refused REQ, writer", points: fanoutPoints,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				a.open("x", apples)
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), a.reader(reqRefused), a.writer(2)}
			},
		},
		{
			name: "G5 fan-out, refused REQ behind REQ, writer", long: true,
			points: points(reqSteps, fanoutSteps),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(2))
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), a.reader(reqApples, reqRefused), a.writer(1)}
			},
		},
	}
}

// endScenarios are about CLOSE and the end of the connection: G1, G9, G10.
func endScenarios() []scenario {
	short := only(pause.ReqStarted, pause.ReqIndexed, pause.ReqReplayed, pause.FanoutSelected, pause.FanoutDecided)
	return []scenario{
		{
			name: "G1 fan-out, CLOSE, writer", points: points(closePoints, fanoutPoints),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				a.open("x", apples)
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), a.reader(closeX), a.writer(2)}
			},
		},
		{
			name: "G1 fan-out, CLOSE behind REQ", points: points(closePoints, reqSteps, fanoutSteps), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(2))
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), a.reader(reqApples, closeX)}
			},
		},
		{
			name: "G1 fan-out, CLOSE and REQ again, acknowledged, writer", points: points(closePoints, short, only(pause.FanoutBegun)),
			options: harness.Options{CloseAck: true}, long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				a.open("x", apples)
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), a.reader(closeX, reqPears), a.writer(1)}
			},
		},
		{
			name: "G1 fan-out, CLOSE behind REQ, late store", points: points(closePoints, reqPoints, fanoutPoints[2:]),
			late: true, long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(2))
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), a.reader(reqApples, closeX)}
			},
		},
		{
			name: "G10 fan-out, REQ, disconnect, late store", points: points(reqPoints, fanoutSteps, only(pause.ConnClosed)),
			late: true, long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(2))
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), a.reader(reqApples), a.disconnect()}
			},
		},
		{
			name: "G10 fan-out, REQ, disconnect", points: points(reqPoints, fanoutSteps, only(pause.ConnClosed)), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(2))
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), a.reader(reqApples), a.disconnect()}
			},
		},
		{
			name: "G10 fan-out, CLOSE, disconnect", points: points(closePoints, fanoutPoints, only(pause.ConnClosed)),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				a.open("x", apples)
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), a.reader(closeX), a.disconnect()}
			},
		},
	}
}

// evictionScenarios are about a permission that is taken away: G3.
func evictionScenarios() []scenario {
	return []scenario{
		{
			name: "G3 eviction, replacement, writer", points: points(reqPoints, only(pause.EvictSelected, pause.Evicted)),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(pear(1))
				a.open("x", apples)
				return []explore.Operation{w.eviction("eviction", a, "x", apple(1)), a.reader(reqPears), a.writer(1)}
			},
		},
		{
			name: "G3 fan-out, eviction, replacement", long: true,
			points: points(reqSteps, fanoutSteps, only(pause.EvictSelected, pause.Evicted)),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(pear(1))
				a.open("x", apples)
				w.commit(apple(1))
				return []explore.Operation{
					w.follower(w.head()), w.eviction("eviction", a, "x", apple(1)), a.reader(reqFruit),
				}
			},
		},
		{
			name:   "G3 eviction twice, replacement",
			points: points(reqPoints, only(pause.EvictSelected, pause.Evicted)), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(pear(1))
				a.open("x", apples)
				return []explore.Operation{
					w.eviction("eviction1", a, "x", apple(1)), w.eviction("eviction2", a, "x", apple(1)), a.reader(reqFruit),
				}
			},
		},
		{
			name: "G3 fan-out, eviction, CLOSE", long: true,
			points: points(fanoutSteps, closePoints, only(pause.EvictSelected, pause.Evicted)),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				a.open("x", apples)
				w.commit(apple(1))
				return []explore.Operation{
					w.follower(w.head()), w.eviction("eviction", a, "x", apple(1)), a.reader(closeX),
				}
			},
		},
		{
			name:   "G3 eviction, disconnect, fan-out",
			points: points(fanoutPoints, only(pause.EvictSelected, pause.Evicted, pause.ConnClosed)),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				a.open("x", apples)
				w.commit(apple(1))
				return []explore.Operation{
					w.follower(w.head()), w.eviction("eviction", a, "x", apple(1)), a.disconnect(),
				}
			},
		},
	}
}
