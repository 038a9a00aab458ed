package mutants

// negMutants remove what negotiations (NIP-77) promise.
var negMutants = []Mutant{
	{
		Name: "ended-negotiation-written", Promise: "NIP-77", Says: "What was queued for an ended negotiation is written.",
		Edit:   Edit{"lifecycle/talk.go", "return !t.left && (g == t.own || !t.ended)", "return !t.left || g != nil"},
		Suites: in(suites, "TestAnEndedNegotiationIsNotAnswered"),
	},
	{
		Name: "negotiation-rests-on-nothing", Promise: "G4", Says: "A negotiation goes on telling what was taken away.",
		Edit:   Edit{"handlers/neg_collect.go", "\tn.talk.RestOn(", "\t_ = func(*lifecycle.Grant, func() bool) {}\n\tgo func(*lifecycle.Grant, func() bool) {}("},
		Suites: in(suites, "TestANegotiationTellsNothingThatWasTakenAway"),
	},
	{
		Name: "closed-reconciles-as-empty", Promise: "NIP-77", Says: "A client is told that nothing is there of what is closed while it is collected.",
		Edit:   Edit{"handlers/neg_collect.go", "err != nil { // race: as in countVisible", "err != nil && false { // race: as in countVisible"},
		Suites: in(suites, "TestANegotiationOfWhatIsClosedWhileItIsCollectedIsRefused"),
	},
	{
		Name: "queued-answer-not-judged", Promise: "G4", Says: "An answer that is queued when a permission goes is taken.",
		Edit:   Edit{"lifecycle/talk.go", "return f.kind == kindTalk && !f.grant.Holds()", "return f.kind == kindTalk && !f.grant.Holds() && false"},
		Suites: in(suites, "TestAQueuedAnswerOfANegotiationIsNotTakenAfterARevocation"),
	},
	{
		Name: "negotiation-shows-hidden", Promise: "NIP-77", Says: "A negotiation tells ids of what its reader may not see.",
		Edit:   Edit{"handlers/neg_collect.go", "if visible != nil && !visible(ev) {", "if visible != nil && !visible(ev) && false {"},
		Suites: in(suites, "TestHiddenEventsAreInNoNegotiation"),
	},
	{
		Name: "negotiation-ended-by-others", Promise: "NIP-77", Says: "Whoever leaves a group ends the negotiations of all others.",
		Edit:   Edit{"lifecycle/decide.go", "q.allowed = q.asked.talk.judge()() &&", "q.allowed = q.asked == nil &&"},
		Suites: in(suites, "TestWhatOthersLoseEndsNoNegotiation"),
	},
	{
		Name: "negotiation-unbounded", Promise: "NIP-77", Says: "One client fills the memory.",
		Edit:   Edit{"handlers/neg_collect.go", "if len(items)+len(page) > most || ", "if "},
		Suites: in("handlers", "TestNegotiationsThatAreRefused"),
	},
	{
		Name: "negotiations-unbounded", Promise: "NIP-77", Says: "Many clients fill the memory.",
		Edit:   Edit{"handlers/neg.go", "most > 0 && total > int64(most)", "most > 0 && total < 0"},
		Suites: in("handlers", "TestNegotiationsThatAreRefused"),
	},
	{
		Name: "negotiation-never-given-back", Promise: "NIP-77", Says: "The memory of a negotiation is counted for ever.",
		Edit:   Edit{"handlers/neg.go", "\tdefer s.releaseHeld(n)\n\tdefer n.events", "\tdefer n.events"},
		Suites: in("handlers", "TestNewerNegotiationOfAnIDReplacesTheOlder"),
	},
	{
		Name: "older-negotiation-stays", Promise: "NIP-77", Says: "A newer NEG-OPEN of an id leaves the older one in memory.",
		Edit:   Edit{"handlers/neg.go", "\ts.negClose(m.ID)\n\tl := ", "\tl := "},
		Suites: in("handlers", "TestNewerNegotiationOfAnIDReplacesTheOlder"),
	},
	{
		Name: "idle-negotiation-stays", Promise: "NIP-77", Says: "Who opens a negotiation and goes silent keeps its memory.",
		Edit:   Edit{"handlers/neg.go", "if idle > 0 && left <= 0 {", "if idle > 0 && left <= 0 && false {"},
		Suites: in("handlers", "TestIdleNegotiationEnds"),
	},
	{
		Name: "many-ids-believed", Promise: "NIP-77", Says: "A message that says it has 2^63 ids is believed.",
		Edit:   Edit{"relay/negentropy/reply.go", "if n > uint64(len(t.in.rest))/32 {", "if n > 1<<62 && n < 1<<61 {"},
		Suites: in("relay/negentropy", "TestHostileMessagesAreRefused"),
	},
}
