//go:build !nopause

package explore_test

import (
	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
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
			// The points left out are between these steps with one commit.
			name: "G6 two commits, fan-out, REQ", points: points(short, only(pause.FanoutBegun, pause.FanoutDecided)), long: true,
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
