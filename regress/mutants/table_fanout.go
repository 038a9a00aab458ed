package mutants

// fanoutMutants remove what the follower and the index promise.
var fanoutMutants = []Mutant{
	{
		Name: "begun-after-lookup", Promise: "G6", Says: "A hold that is emptied between the lookup and begun loses the event.",
		Edit:   Edit{"relay/outbox/apply.go", "\tf.begun.Store(uint64(e.Position))\n\tf.pause.At(pause.FanoutBegun)\n", "\tf.pause.At(pause.FanoutBegun)\n"},
		And:    []Edit{{"relay/outbox/apply.go", "\tf.pass(e.Position)\n", "\tf.begun.Store(uint64(e.Position))\n\tf.pass(e.Position)\n"}},
		Suites: in(suites, "TestEventThatIsBeingDeliveredIsReadAgain"),
	},
	{
		Name: "applied-not-advanced", Promise: "E3", Says: "The follower reads the same rows for ever.",
		Edit:   Edit{"relay/outbox/apply.go", "\tf.pass(e.Position)\n", ""},
		Suites: in("relay/outbox", "TestStepAppliesEachRowOnceInOrder"),
	},
	{
		Name: "fanout-unfiltered", Promise: "G7", Says: "Every candidate gets the event, also one that did not ask for it.",
		Edit:   Edit{"relay/outbox/fanout.go", "if !e.Matches(h.Filters(), now) {", "if now == 0 {"},
		Suites: also(in("relay/outbox", "TestStepAppliesEachRowOnceInOrder"), "TestStoredAndLiveAnswersAreOneSet"),
	},
	{
		Name: "expired-delivered", Promise: "NIP-40", Says: "An event that has expired before its fan-out comes live.",
		Edit:   Edit{"relay/store/store.go", "wire.MatchesAny(filters, e.Event) && !e.Event.Expired(now)", "wire.MatchesAny(filters, e.Event)"},
		Suites: append(in("relay/outbox", "TestWhatIsFannedOut"), in("handlers", "TestExpiredEventsAreServedInNoMode")...),
	},
	{
		Name: "ephemeral-not-delivered", Promise: "G7", Says: "Ephemeral events reach nobody.",
		Edit:   Edit{"relay/outbox/apply.go", "case e.Type == store.EntryEvent, e.Type == store.EntryEphemeral:", "case e.Type == store.EntryEvent:"},
		Suites: in("relay/outbox", "TestWhatIsFannedOut"),
	},
	{
		Name: "overflowed-stays-indexed", Promise: "G8", Says: "A subscription that ended as slow stays in the index.",
		Edit:   Edit{"relay/outbox/fanout.go", "\tcase lifecycle.Ended:\n\t\tf.index.Remove(h)\n", "\tcase lifecycle.Ended:\n"},
		Suites: also(in("relay/outbox", "TestSubscriptionThatOverflowedLeavesTheIndex"), "TestLiveFrameWithoutRoomEndsThatSubscriptionOnly"),
	},
	{
		Name: "no-poll", Promise: "E3", Says: "A lost wake-up delays events until the next commit.",
		Edit:   Edit{"relay/outbox/follower.go", "d := pollEvery", "d := 1000 * pollEvery"},
		Suites: in("relay/outbox", "TestLostWakeUpDelaysAndDropsNothing"),
	},
	{
		Name: "no-wake-up", Promise: "E3", Says: "Every event is delayed until the next poll.",
		Edit:   Edit{"relay/outbox/follower.go", "wait(ctx, f.log.Changed(), f.requests.wake, d)", "wait(ctx, nil, f.requests.wake, d)"},
		Suites: in("relay/outbox", "TestRunWakesUpAtOnce"),
	},
	{
		Name: "backoff-without-ceiling", Promise: "E3", Says: "A log that was broken for long is read again long after it is well.",
		Edit:   Edit{"relay/outbox/follower.go", "backoff = min(2*backoff, maxBackoff)", "backoff = 2 * backoff"},
		Suites: in("relay/outbox", "TestBrokenLogIsRetriedAndNothingIsSkipped"),
	},
	{
		Name: "no-backoff", Promise: "E3", Says: "A broken log is read at full speed.",
		Edit:   Edit{"relay/outbox/follower.go", "\t\t\tbackoff = min(2*backoff, maxBackoff)\n", ""},
		Suites: in("relay/outbox", "TestBrokenLogIsRetriedAndNothingIsSkipped"),
	},
	{
		Name: "failing-never-told", Promise: "E3", Says: "The relay counts as ready while it cannot read its log.",
		Edit:   Edit{"relay/outbox/follower.go", "f.failing.Store(true)", "f.failing.Store(false) // says nothing"},
		Suites: in("relay/outbox", "TestBrokenLogIsRetriedAndNothingIsSkipped"),
	},
	{
		Name: "fanout-asks-nobody", Promise: "G4", Says: "Every subscriber sees what is for some.",
		Edit:   Edit{"relay/outbox/fanout.go", "if sight.May != nil && !sight.May(h.Conn().Keys()) {", "if sight.May == nil && sight.Grant == lifecycle.Undecided {"},
		Suites: in("relay/outbox", "TestReadersAreJudgedByTheKeysThatTheyHaveThen"),
	},
	{
		Name: "fanout-forgets-the-grant", Promise: "G4", Says: "A live event that was allowed before a revocation is taken after it.",
		Edit:   Edit{"relay/outbox/fanout.go", "h.Deliver(e.Position, e.Event, grant)", "h.Deliver(e.Position, e.Event, nil)"},
		Suites: also(in("relay/outbox", "TestFramesCarryTheGrantOfTheirDecision"), "TestALiveEventThatWasAllowedBeforeARevocationIsNotTaken"),
	},
	{
		Name: "outside-not-asked", Promise: "G4", Says: "A decision from outside is never asked for.",
		Edit:   Edit{"relay/outbox/fanout.go", "grant = lifecycle.Undecided", "grant = nil"},
		Suites: in("relay/outbox", "TestDecisionFromOutsideHoldsUpNobodyElse"),
	},
	{
		Name: "broken-control-row-skipped", Promise: "G4", Says: "Events are fanned out under permissions that were taken away before them.",
		Edit:   Edit{"relay/outbox/apply.go", "return fmt.Errorf(\"apply control row %d: %w\", e.Position, err)", "f.logger.Error(\"control row\", \"err\", err)"},
		Suites: in("relay/outbox", "TestControlRowThatCannotBeAppliedStopsTheFollower"),
	},
	{
		Name: "applied-before-in-force", Promise: "G9", Says: "Who waits for a control row goes on before it counts.",
		Edit:   Edit{"relay/outbox/apply.go", "\tf.begun.Store(uint64(e.Position))\n", "\tf.begun.Store(uint64(e.Position))\n\tf.pass(e.Position)\n"},
		Suites: in("relay/outbox", "TestControlRowsAreAppliedAtTheirPosition"),
	},
	{
		Name: "waiter-misses-its-row", Promise: "G9", Says: "Who begins to wait when its row has been applied waits for ever.",
		Edit:   Edit{"relay/outbox/line.go", "if l.position() >= at { // under", "if false { // under"},
		Suites: in("relay/outbox", "TestAwaitReturnsAtOnceWhenThePositionIsApplied"),
	},
	{
		Name: "waiters-stay", Promise: "G10", Says: "Who gives up waiting leaves something behind.",
		Edit:   Edit{"relay/outbox/line.go", "\t\tl.leave(g)\n", ""},
		Suites: in("relay/outbox", "TestWhoGivesUpLeavesNothing"),
	},

	{
		Name: "index-add-after-remove", Promise: "G1", Says: "A Remove during Add leaves entries that nobody takes out.",
		Edit:   Edit{"registry/index/index.go", "if e.gone { // Remove", "if false { // Remove"},
		Suites: in("registry/index", "TestRemoveDuringAddLeavesNothing"),
	},
	{
		Name: "index-remove-another", Promise: "G3", Says: "Removing one handle takes another out of its bucket.",
		Edit:   Edit{"registry/index/bucket.go", "c.slots[e.at], moved.entry.at = moved, e.at", "c.slots[e.at] = moved"},
		Suites: in("registry/index", "TestRemovalInAnyOrderKeepsTheRest"),
	},
	{
		Name: "index-empty-buckets-stay", Promise: "G10", Says: "Values that nobody asks for any more fill the memory.",
		Edit:   Edit{"registry/index/index.go", "return b, b.remove(e) == 0", "return b, b.remove(e) < 0"},
		Suites: in("registry/index", "TestRemoveTakesOutExactlyThatHandle"),
	},
	{
		Name: "index-candidate-twice", Promise: "G6", Says: "A subscription that an event hits twice is looked at twice.",
		Edit:   Edit{"registry/index/bucket.go", "if apart && s.filing.several {", "if apart && false {"},
		Suites: in("registry/index", "TestHandleIsACandidateOnce"),
	},
	{
		Name: "index-bucket-twice", Promise: "G6", Says: "A tag that stands twice in an event makes two candidates.",
		Edit:   Edit{"registry/index/lookup.go", "slices.CompactFunc(dst[tags:], func(a, b bucket) bool { return a.serial() == b.serial() })", "dst[tags:]"},
		Suites: in("registry/index", "TestHandleIsACandidateOnce", "TestRepeatedTagsVisitABucketOnce"),
	},
	{
		Name: "index-loses-shared", Promise: "G6", Says: "A subscription that two buckets may hold is never a candidate.",
		Edit:   Edit{"registry/index/lookup.go", "if i == 0 || f != shared[i-1] {", "if i > 0 && f == shared[i-1] {"},
		Suites: in("registry/index", "TestHandleIsACandidateOnce", "TestCandidatesAgreeWithALinearMatcher"),
	},
	{
		Name: "index-one-value", Promise: "G6", Says: "Only the first author of a filter is found.",
		Edit:   Edit{"registry/index/key.go", "for _, a := range f.Authors {", "for _, a := range f.Authors[:1] {"},
		Suites: in("registry/index", "TestCandidatesAgreeWithALinearMatcher"),
	},
	{
		Name: "index-tag-names-ignored", Promise: "NIP-01", Says: "A value under another tag name makes a candidate.",
		Edit:   Edit{"registry/index/lookup.go", "letter: t[0][0], ", ""},
		And:    []Edit{{"registry/index/key.go", "letter: letter, ", "letter: 0 & letter, "}},
		Suites: in("registry/index", "TestFilterIsFiledUnderItsMostSelectiveField"),
	},
	{
		Name: "index-crowd-forgets-the-first", Promise: "G6", Says: "A subscription is lost when a second one asks for the same.",
		Edit:   Edit{"registry/index/bucket.go", "\t\tc.add(b.one)\n", ""},
		Suites: in("registry/index", "TestRemovalInAnyOrderKeepsTheRest", "TestCandidatesAgreeWithALinearMatcher"),
	},
	{
		Name: "index-crowd-for-everyone", Promise: "G10", Says: "Every value that one subscription asks for takes a lock and a list.",
		Edit:   Edit{"registry/index/bucket.go", "\tif !there {\n\t\ts.entry.filed = true\n\t\treturn bucket{one: s}\n\t}\n\tif b.crowd == nil {\n\t\tc := &crowd{serial: serial()}\n\t\tc.add(b.one)\n", "\tif !there {\n\t\tc := &crowd{serial: serial()}\n"},
		Suites: in("registry/index", "TestStandingValueCostsLittleMemory"),
	},
}
