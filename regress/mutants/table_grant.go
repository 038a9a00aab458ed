package mutants

// grantMutants remove what keeps a decision from being used after a revocation.
var grantMutants = []Mutant{
	{
		Name: "grant-always-holds", Promise: "G4", Says: "A frame that was allowed once is taken after the permission is gone.",
		Edit:   Edit{"lifecycle/grant.go", "return t.scope.Epoch() == t.epoch", "return t.scope != nil"},
		Suites: in("lifecycle", "TestGrantHoldsUntilOneOfItsScopesMoves", "TestQueuedFrameIsDroppedAfterARevocationAndOthersKeepTheirPlaces", "TestHeldFrameIsDecidedAgain"),
	},
	{
		Name: "grant-not-checked-at-take", Promise: "G4", Says: "The writer takes a frame whatever its grant says.",
		Edit:   Edit{"lifecycle/queue.go", "if f.kind == kindEvent && !f.grant.Holds() {", "if false {"},
		Suites: in("lifecycle", "TestQueuedFrameIsDroppedAfterARevocationAndOthersKeepTheirPlaces", "TestHeldFrameIsDecidedAgain", "TestOrderOfAGenerationIsKeptBehindAnUndecidedFrame"),
	},
	{
		Name: "hold-forgets-grant", Promise: "G4", Says: "A frame that waited for the replay is sent without a look at its grant.",
		Edit:   Edit{"lifecycle/frame.go", "removed: x.removed, grant: x.grant}", "removed: x.removed}"},
		Suites: in("lifecycle", "TestHeldFrameIsDecidedAgain"),
	},
	{
		Name: "undecided-is-overtaken", Promise: "G6", Says: "What is behind an undecided frame of the same subscription overtakes it.",
		Edit:   Edit{"lifecycle/queue.go", "return h.passed == q.takes", "return f.kind == kindEvent && !f.grant.Holds()"},
		Suites: in("lifecycle", "TestOrderOfAGenerationIsKeptBehindAnUndecidedFrame"),
	},
	{
		Name: "undecided-stops-everybody", Promise: "G4", Says: "One undecided frame holds up the other subscriptions of its client.",
		Edit:   Edit{"lifecycle/queue.go", "if h == nil || f.kind == kindClosed {\n\t\treturn f.undecided()\n\t}", "if h == nil || f.kind == kindClosed || q.takes == 0 {\n\t\treturn f.undecided()\n\t}\n\tfor _, g := range q.items[q.head:] {\n\t\tif g.kind == kindEvent && g.wanted() && !g.grant.Holds() {\n\t\t\treturn true\n\t\t}\n\t}"},
		Suites: in("lifecycle", "TestDecisionThatTakesTimeHoldsUpItsOwnSubscriptionOnly"),
	},
	{
		Name: "refusal-keeps-frame", Promise: "G4", Says: "A frame that was decided about again is sent although the answer was no.",
		Edit:   Edit{"lifecycle/decide.go", "if answer.allowed {", "if answer.allowed || answer.err == nil {"},
		Suites: in("lifecycle", "TestQueuedFrameIsDroppedAfterARevocationAndOthersKeepTheirPlaces"),
	},
	{
		Name: "answer-without-epoch", Promise: "G4", Says: "A revocation between the decision and its answer is overlooked.",
		Edit:   Edit{"lifecycle/decide.go", "q.items[i].grant = answer.grant", "q.items[i].grant = nil"},
		Suites: in("lifecycle", "TestRevocationBetweenDecisionAndAnswerIsAskedAgain"),
	},
	{
		Name: "error-is-permission", Promise: "G4", Says: "When nobody can decide, the frame is sent.",
		Edit:   Edit{"lifecycle/decide.go", "if q.err != nil {", "if false {"},
		Suites: in("lifecycle", "TestSubscriptionEndsWhenNobodyCanDecide"),
	},
	{
		Name: "answer-to-a-retired-question", Promise: "G3", Says: "The answer about a frame that is gone runs past the queue.",
		Edit:   Edit{"lifecycle/decide.go", "if q.handle.state == retired {\n\t\t\tcontinue\n\t\t}", ""},
		Suites: in("lifecycle", "TestGenerationEndsWhileItsFramesAreDecidedAbout"),
	},
	{
		Name: "refused-frame-still-counted", Promise: "G8", Says: "A frame that was refused takes room for ever.",
		Edit:   Edit{"lifecycle/decide.go", "\tq.discount(q.items[i])\n", ""},
		Suites: in("lifecycle", "TestQueuedFrameIsDroppedAfterARevocationAndOthersKeepTheirPlaces"),
	},
	{
		Name: "writer-not-woken-by-answers", Promise: "G4", Says: "Frames that are allowed again wait for the next live event.",
		Edit:   Edit{"lifecycle/decide.go", "\tc.wakeLocked()\n", ""},
		Suites: in("lifecycle", "TestAnswersWakeTheWriter"),
	},
}
