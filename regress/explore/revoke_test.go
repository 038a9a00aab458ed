//go:build !nopause

package explore_test

import (
	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
	"fencepost/regress/harness"
	"fencepost/relay/store/storetest"
)

// The points of a REQ that is judged and replays, of a revocation, and of decisions
// about queued frames.
var (
	judgedPoints  = points(only(pause.ReqJudged), reqPoints, only(pause.ReqDecided))
	controlPoints = only(pause.ControlChanged, pause.EvictSelected, pause.Evicted)
	decidePoints  = only(pause.DecideChosen, pause.DecideDone)
)

// revocationScenarios are about a membership that ends while something else
// happens: G3 and G4. The follower carries it out with the relay's own cutter.
func revocationScenarios() []scenario {
	return []scenario{
		{
			// Not ReqStarted and ReqBegun: a revocation does not end what is public, and does
			// not hide it. What it ends while it starts and replays is below.
			name: "G3 G4 fan-out, revocation, fan-out; replacement by a public filter; writer",
			points: points(only(pause.ReqJudged, pause.ReqReserved, pause.ReqIndexed, pause.ReqReplayed), controlPoints,
				only(pause.FanoutBegun, pause.FanoutDecided)), long: true,
			given: func(w *world) []explore.Operation {
				a := w.subscribed("a", secrets)
				w.commit(secret(1))
				w.expel(member)
				w.commit(secret(2))
				return []explore.Operation{w.follower(w.head()), a.reader(reqPears), a.writer(1)}
			},
		},
		{
			name:   "G3 G4 fan-out, group turned private, fan-out; replacement; writer",
			points: points(only(pause.ReqJudged, pause.ReqReserved, pause.ReqIndexed, pause.ReqReplayed), controlPoints, fanoutPoints[3:]), long: true,
			given: func(w *world) []explore.Operation {
				w.open()
				a := w.connect("a")
				a.open("x", secrets)
				w.commit(secret(1))
				w.close()
				w.commit(secret(2))
				return []explore.Operation{w.follower(w.head()), a.reader(reqPears), a.writer(2)}
			},
		},
		{
			// Not ReqBegun: from ReqSnapshot to there the seam is set, and the handle retired or not.
			name:   "G3 G4 fan-out, revocation; replacement by what it closes; writer",
			points: points(judgedPoints[:5], controlPoints, fanoutPoints[1:2]), long: true,
			given: func(w *world) []explore.Operation {
				a := w.subscribed("a", secrets)
				w.commit(secret(1))
				w.expel(member)
				return []explore.Operation{w.follower(w.head()), a.reader(reqSecrets), a.writer(1)}
			},
		},
		{
			// Not ReqStarted: as above, the newer one is public.
			name: "G1 G3 revocation, CLOSE and REQ again, writer",
			points: points(closePoints, only(pause.ReqJudged, pause.ReqReserved, pause.ReqIndexed), controlPoints,
				fanoutPoints[1:2]), long: true,
			given: func(w *world) []explore.Operation {
				a := w.subscribed("a", secrets)
				w.commit(secret(1))
				w.expel(member)
				return []explore.Operation{w.follower(w.head()), a.reader(closeX, reqPears), a.writer(1)}
			},
		},
		{
			name:   "G1 G3 revocation, CLOSE, acknowledged, writer",
			points: points(closePoints, controlPoints, fanoutPoints[:2]), options: harness.Options{CloseAck: true},
			given: func(w *world) []explore.Operation {
				a := w.subscribed("a", secrets)
				w.expel(member)
				return []explore.Operation{w.follower(w.head()), a.reader(closeX), a.writer(2)}
			},
		},
		{
			name:   "G4 replay of a snapshot that is ahead of the permissions, writer",
			points: only(pause.ReqIndexed, pause.ReqSnapshot, pause.ReqDecided, pause.ReqReplayed, pause.FanoutBegun, pause.ControlChanged), long: true,
			given: func(w *world) []explore.Operation {
				a := w.guest("a")
				w.stored(apple(1))
				w.expel(member)
				w.commit(secret(1))
				return []explore.Operation{w.follower(w.head()), a.reader(reqEverything), a.writer(2)}
			},
		},
		{
			// Not Evicted: nobody but the follower, which is there, looks into the index.
			name:   "G4 replay, revocation that ends it, writer",
			points: points(controlPoints[:2], decidePoints, only(pause.ReqSnapshot, pause.ReqDecided, pause.ReqReplayed)), long: true,
			given: func(w *world) []explore.Operation {
				a := w.guest("a")
				w.stored(secret(1))
				return []explore.Operation{w.expulsion(member), w.follower(w.head() + 1), a.reader(reqSecrets), a.writer(2)}
			},
		},
		{
			// Not FanoutBegun: that the only row is committed and not applied is seen while the
			// follower has not started.
			name:   "G4 replay, revocation that leaves something, writer",
			points: points(decidePoints, only(pause.ReqSnapshot, pause.ReqDecided, pause.ReqReplayed, pause.ControlChanged)), long: true,
			given: func(w *world) []explore.Operation {
				a := w.guest("a")
				w.stored(secret(1), apple(1))
				return []explore.Operation{w.expulsion(member), w.follower(w.head() + 1), a.reader(reqEverything), a.writer(2)}
			},
		},
		{
			// Not ReqIndexed: who comes before the snapshot is the seam's matter (G6).
			name:    "G4 hold overflows, revocation, what is read again from the log, writer",
			points:  only(pause.ReqReplayed, pause.ReqRestarted, pause.ReqCaughtUp, pause.FanoutDecided, pause.ControlChanged),
			options: tight(1, 64), long: true,
			given: func(w *world) []explore.Operation {
				a := w.guest("a")
				staff := w.expulsion(member)
				staff.Name = "staff" // beside a publisher
				return []explore.Operation{
					w.publisher(secret(1), apple(1)), staff, w.follower(w.head() + 3), a.reader(reqEverything), a.writer(1),
				}
			},
		},
		{
			name:   "G4 fan-out, revocation of one of two subscriptions, fan-out, writer",
			points: points(controlPoints, decidePoints, fanoutSteps), long: true,
			given: func(w *world) []explore.Operation {
				a := w.subscribed("a", secrets)
				a.open("y", everything)
				w.commit(secret(1))
				w.expel(member)
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), a.writer(3)}
			},
		},
		{
			name:   "G4 fan-out, revocation that is taken back, fan-out, writer",
			points: points(controlPoints[:2], decidePoints, only(pause.FanoutDecided)), long: true,
			given: func(w *world) []explore.Operation {
				a := w.guest("a")
				a.open("y", everything)
				w.commit(secret(1))
				w.expel(member)
				w.commit(secret(2))
				w.enrol(member)
				w.commit(secret(3))
				return []explore.Operation{w.follower(w.head()), a.writer(3)}
			},
		},
		{
			name:   "G3 G4 two readers of which one loses it and asks for something else, writers",
			points: only(pause.ReqReserved, pause.ReqIndexed, pause.ControlChanged, pause.EvictSelected, pause.FanoutDecided), long: true,
			given: func(w *world) []explore.Operation {
				a, b := w.subscribed("a", secrets), w.connect("b")
				w.enrol(storetest.Key(6))
				w.relay.Step(w.t)
				b.Login(storetest.Key(6))
				b.open("x", secrets)
				w.commit(secret(1))
				w.expel(member)
				w.commit(secret(2))
				return []explore.Operation{w.follower(w.head()), a.reader(reqPears), a.writer(1), b.writer(1)}
			},
		},
		{
			// Not FanoutBegun, as above.
			name:   "G4 COUNT, revocation, writer",
			points: only(pause.ReqSnapshot, pause.QueryJudged, pause.ControlChanged, pause.EvictSelected), long: true,
			given: func(w *world) []explore.Operation {
				a := w.guest("a")
				w.stored(secret(1), secret(2), apple(1))
				w.counts = map[string][]int{"all": {3, 1}, "club": {2}}
				return []explore.Operation{
					w.expulsion(member), w.follower(w.head() + 1), a.reader(countAll, countSecrets), a.writer(1),
				}
			},
		},
		{
			name:   "G3 G4 fan-out, reload that demands membership, replacement, writer",
			points: points(only(pause.ReqJudged, pause.ReqReserved, pause.ReqIndexed), controlPoints, fanoutPoints[2:]), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				a.open("x", apples)
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), w.reload(), a.reader(reqPears), a.writer(1)}
			},
		},
		{
			name:   "G4 fan-out, reload that demands membership, writer",
			points: points(controlPoints, decidePoints, fanoutPoints),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				a.open("x", apples)
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), w.reload(), a.writer(2)}
			},
		},
		{
			name:   "G4 G10 fan-out, ban, replacement, writer",
			points: points(only(pause.ReqJudged, pause.ReqReserved, pause.ReqIndexed), controlPoints[:2], fanoutPoints[1:2], fanoutPoints[3:]), long: true,
			given: func(w *world) []explore.Operation {
				a := w.subscribed("a", secrets)
				w.commit(secret(1))
				w.ban(member)
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), a.reader(reqApples), a.writer(1)}
			},
		},
	}
}

// decisionScenarios are about keys, events and decisions from outside: G4 and G9.
func decisionScenarios() []scenario {
	return []scenario{
		{
			name: "G4 G9 AUTH and REQ, commit, fan-out",
			points: only(pause.AuthAdded, pause.ReqJudged, pause.ReqIndexed, pause.ReqReplayed,
				pause.FanoutBegun, pause.FanoutSelected),
			given: func(w *world) []explore.Operation {
				w.club(memberOf)
				a := w.connect("a")
				w.stored(secret(1))
				a.open("y", everything)
				return []explore.Operation{
					w.publisher(secret(2)), w.follower(w.head() + 1), a.reader(a.AuthMessage(w.t, memberKey), reqSecrets),
				}
			},
		},
		{
			name:   "G4 AUTH, ban, REQ, writer",
			points: points(only(pause.AuthAdded, pause.ReqJudged, pause.ReqReserved, pause.ReqIndexed, pause.FanoutBegun), controlPoints[:2]),
			given: func(w *world) []explore.Operation {
				w.club(memberOf)
				a := w.connect("a")
				a.open("y", everything)
				w.ban(memberOf)
				return []explore.Operation{
					w.follower(w.head()), a.reader(a.AuthMessage(w.t, memberKey), reqSecrets), a.writer(1),
				}
			},
		},
		{
			name:   "G4 EVENT, expulsion of its author, follower",
			points: only(pause.EventVerified, pause.EventPlanned, pause.EventCommitted, pause.FanoutBegun, pause.ControlChanged),
			given: func(w *world) []explore.Operation {
				w.club(memberOf)
				w.edit("private", "restricted")
				w.relay.Step(w.t)
				a := w.connect("a")
				msg := w.post()
				w.tail = true // the event may not come
				return []explore.Operation{w.lastExpulsion(memberOf), w.follower(w.head() + 1), a.reader(msg), a.writer(1)}
			},
		},
		{
			name:   "G4 fan-out, an outside decision that turns into a no, writer",
			points: points(decidePoints, only(outsideAsked, outsideAnswers, pause.FanoutDecided)), outside: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				a.open("x", apples)
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), a.writer(2), w.refusal()}
			},
		},
		{
			name:   "G4 fan-out and revocation, an outside decision that takes time, writer",
			points: points(decidePoints, controlPoints[:2], only(outsideAsked, outsideAnswers)), outside: true, long: true,
			given: func(w *world) []explore.Operation {
				a := w.guest("a")
				a.open("y", everything)
				w.commit(secret(1))
				w.commit(apple(1))
				w.expel(member)
				return []explore.Operation{w.follower(w.head()), a.writer(3)}
			},
		},
	}
}
