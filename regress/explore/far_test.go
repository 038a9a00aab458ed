//go:build !nopause

package explore_test

import (
	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
)

// farScenarios have two connections; equal schedules are left out.
func farScenarios() []scenario {
	return []scenario{
		{
			name:    "G1 fan-out to two connections, CLOSE on each, writer",
			points:  points(fanoutPoints, closePoints),
			reduced: true, long: true,
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
			reduced: true, long: true,
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
			name:    "G2 fan-out to two connections, REQ on one, CLOSE on the other",
			points:  points(reqPoints, fanoutPoints, closePoints),
			reduced: true, long: true,
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
