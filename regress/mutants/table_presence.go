package mutants

// presenceMutants remove what keeps presence from lying (R7 to R14).
var presenceMutants = []Mutant{
	{
		Name: "silent-node-is-online", Promise: "R9", Says: "A node that was killed keeps its users online.",
		Edit:   Edit{"registry/presence/presence.go", "s.Ended || silent || s.Gone", "s.Ended || s.Gone"},
		Suites: in("registry/presence", "TestPresenceIsWhatWasReportedLast"),
	},
	{
		Name: "silent-node-means-offline", Promise: "R9", Says: "An end on a node that is silent since counts as offline.",
		Edit:   Edit{"registry/presence/presence.go", "s.Ended && (s.Gone || !silent)", "s.Ended"},
		Suites: in("registry/presence", "TestPresenceIsWhatWasReportedLast"),
	},
	{
		Name: "successor-keeps-users", Promise: "R8", Says: "A node that started again has its predecessor's users.",
		Edit:   Edit{"registry/presence/presence.go", "s.Ended || silent || s.Gone", "s.Ended || silent"},
		Suites: in("registry/presence", "TestPresenceIsWhatWasReportedLast"),
	},
	{
		Name: "offline-outweighs-stale", Promise: "R9", Says: "An end elsewhere outweighs a session that nobody reports on.",
		Edit: Edit{
			"registry/presence/presence.go", "case Stale:\n\t\treturn 2\n\tcase Offline:\n\t\treturn 3",
			"case Stale:\n\t\treturn 3\n\tcase Offline:\n\t\treturn 2",
		},
		Suites: in("registry/presence", "TestPresenceIsWhatWasReportedLast"),
	},
	{
		Name: "lost-report-forgotten", Promise: "R9", Says: "What a lost report said is never said again.",
		Edit: Edit{
			"registry/session/reporter.go", "\tif err := r.report(ctx, report); err != nil {\n\t\treturn err\n\t}\n\tr.said = open\n\treturn nil",
			"\terr := r.report(ctx, report)\n\tr.said = open\n\treturn err",
		},
		Suites: in("registry/session", "TestNothingIsLostWhileTheIndexIsAway"),
	},
	{
		Name: "lost-index-not-told", Promise: "R14", Says: "An index that lost everything hears of new sessions only.",
		Edit:   Edit{"registry/session/reporter.go", "if err != nil || !fresh ||", "if true || err != nil || !fresh ||"},
		Suites: in("registry/session", "TestAnIndexThatLostEverythingIsToldEverything"),
	},
	{
		Name: "presence-told-to-strangers", Promise: "R9", Says: "Anybody is told whether a key is online.",
		Edit:   Edit{"relay/presence.go", "if k == viewer || viewer == c.Relay.PubKey || r.share(viewer, k) {", "if true {"},
		Suites: in("relay", "TestPresenceIsToldToThoseWhoMayKnow"),
	},
	{
		Name: "presence-costs-all-sessions", Promise: "R9", Says: "Each question for one key goes through the sessions of all.",
		Edit:   Edit{"registry/session/memory.go", "\t\tfor _, key := range keys {\n\t\t\tn.of(key, yield)\n\t\t}\n", "\t\tn.each(yield)\n"},
		Suites: in("registry/session", "TestAKeyIsFoundAmongManyAtTheCostOfItsOwnSessions"),
	},
	{
		Name: "strangers-fill-the-operators-ledger", Promise: "R9", Says: "Who asks for presence often enough locks the operator out.",
		Edit:   Edit{"relay/web/presence.go", "signer(w, r, s.Strangers, nil)", "signer(w, r, s.Verifier, nil)"},
		Suites: in("relay/web", "TestAStrangerWhoUsesUpTheLedgerDoesNotLockTheOperatorOut"),
	},
	{
		Name: "idle-past-stale", Promise: "R10", Says: "Windows under which nobody is ever idle are accepted.",
		Edit:   Edit{"relay/config/validate.go", "if c.Presence.Idle < c.Presence.Stale {", "if true {"},
		Suites: in("relay/config", "TestValuesThatBreakARule"),
	},
	{
		Name: "repeated-end-is-forgotten", Promise: "R9", Says: "An end that is reported again after a lost answer is no end that is known.",
		Edit:   Edit{"relay/store/postgres/sessions.go", "s.conn <> ALL ($3::bigint[])", "$3::bigint[] IS NOT NULL"},
		Suites: in("relay/store/postgres", "TestSessionsKeepTheContract"),
	},
}
