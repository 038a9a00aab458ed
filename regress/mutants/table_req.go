package mutants

// reqMutants break the order of steps of REQ and CLOSE.
var reqMutants = []Mutant{
	{
		Name: "dead-query-indexed", Promise: "G10", Says: "Queries that were replaced fill the index all at once.",
		Edit:   Edit{"handlers/req.go", "if ctx.Err() != nil {\n\t\treturn // retired", "if false {\n\t\treturn // retired"},
		Suites: in("handlers", "TestAReplacedQueryNeverReachesTheIndex"),
	},
	{
		Name: "filters-not-weighed", Promise: "G10", Says: "One connection keeps filters without bound.",
		Edit:   Edit{"lifecycle/reserve.go", "c.weight += h.charged", "c.weight += 0 * h.charged"},
		Suites: in("handlers", "TestTheFiltersOfAConnectionAreWeighed"),
	},
	{
		Name: "weight-not-given-back", Promise: "G10", Says: "A connection that subscribes often is refused in the end.",
		Edit:   Edit{"lifecycle/handle.go", "c.weight -= h.charged", "c.weight -= 0 * h.charged"},
		Suites: in("handlers", "TestTheFiltersOfAConnectionAreWeighed"),
	},
	{
		Name: "count-not-weighed", Promise: "G10", Says: "COUNTs that wait keep filters without bound.",
		Edit:   Edit{"handlers/count.go", "if !s.conn.Charge(weight) {", "if s.conn.Charge(weight); false {"},
		Suites: in("handlers", "TestTheFiltersOfAConnectionAreWeighed"),
	},
	{
		Name: "count-keeps-its-weight", Promise: "G10", Says: "A connection that counts often is refused in the end.",
		Edit:   Edit{"handlers/count.go", "defer s.conn.Discharge(weight)", ""},
		Suites: in("handlers", "TestTheFiltersOfAConnectionAreWeighed"),
	},
	{
		Name: "query-without-end", Promise: "G8", Says: "A query works for as long as it finds something to do.",
		Edit:   Edit{"handlers/budget.go", "if b.left == 0 {", "if true {"},
		Suites: in("handlers", "TestAQueryThatTakesTooLongIsEnded"),
	},
	{
		Name: "work-never-used-up", Promise: "G8", Says: "Each page of a query has the whole time.",
		Edit:   Edit{"handlers/budget.go", "b.left = max(b.left-time.Since(begin), 1)", "_ = begin"},
		Suites: in("handlers", "TestTheTimeOfAQueryIsThatOfAllItsPages"),
	},
	{
		Name: "no-re-check", Promise: "G1", Says: "A CLOSE that comes before the handle is indexed leaves it in the index.",
		Edit:   Edit{"handlers/req.go", "if !h.Current() { // CLOSE", "if false { // CLOSE"},
		Suites: in(suites, "TestCloseDuringReplayLeavesNoZombie"),
	},
	{
		Name: "re-check-removes-nothing", Promise: "G1", Says: "A handle that was closed meanwhile stays in the index.",
		Edit:   Edit{"handlers/req.go", "\t\ts.index.Remove(h)\n\t\treturn\n\t}\n\tat, hint", "\t\treturn\n\t}\n\tat, hint"},
		Suites: in(suites, "TestCloseDuringReplayLeavesNoZombie"),
	},
	{
		Name: "snapshot-before-index", Promise: "G6", Says: "An event that is fanned out between the snapshot and the index is neither stored nor live.",
		Edit:   Edit{"handlers/req.go", "\ts.index.Add(h)\n", ""},
		And:    []Edit{{"handlers/stored.go", "\tat = seam{snap.Applied(), s.progress.Deferred()}\n", "\tat = seam{snap.Applied(), s.progress.Deferred()}\n\ts.index.Add(h)\n"}},
		Suites: in(suites, "TestEventAtTheSeamArrivesOnce"),
	},
	{
		Name: "a-beyond-the-snapshot", Promise: "G6", Says: "An event that is committed between the snapshot and A is neither stored nor live.",
		Edit:   Edit{"handlers/stored.go", "\tat = seam{snap.Applied(), s.progress.Deferred()}\n", "\tat = seam{s.progress.Begun(), s.progress.Deferred()}\n"},
		Suites: in(suites, "TestEventAtTheSeamArrivesOnce"),
	},
	{
		Name: "a-not-begun", Promise: "G6", Says: "What is stored up to A comes live as well.",
		Edit:   Edit{"handlers/req.go", "h.Begin(at.a, at.late...)", "h.Begin(0, at.late...)"},
		Suites: in(suites, "TestEventAtTheSeamArrivesOnce"),
	},
	{
		Name: "begun-before-restart", Promise: "G8", Says: "What arrives before the hold is emptied is neither held nor read.",
		Edit:   Edit{"handlers/req.go", "\t\th.Restart()\n\t\ts.pause.At(pause.ReqRestarted)\n\t\tnext := seam{max(at.a, s.progress.Begun()), s.progress.Deferred()}\n", "\t\tnext := seam{max(at.a, s.progress.Begun()), s.progress.Deferred()}\n\t\ts.pause.At(pause.ReqRestarted)\n\t\th.Restart()\n"},
		Suites: in(suites, "TestHoldOverflowIsReadFromTheLog", "TestEventWhileTheHoldIsReadAgainArrivesOnce"),
	},
	{
		Name: "no-begin-after-restart", Promise: "G6", Says: "What was read again from the log comes from the hold as well.",
		Edit:   Edit{"handlers/req.go", "\t\tbegin(h, next)\n", ""},
		Suites: in(suites, "TestEventWhileTheHoldIsReadAgainArrivesOnce"),
	},
	{
		Name: "log-read-beyond-begun", Promise: "G6", Says: "What the log holds beyond the begun position comes twice.",
		Edit:   Edit{"handlers/stored.go", "\t\tif !to.has(e.Position) {\n\t\t\tcontinue\n\t\t}\n", ""},
		Suites: in(suites, "TestEventWhileTheHoldIsReadAgainArrivesOnce"),
	},
	{
		Name: "log-read-unfiltered", Promise: "G7", Says: "After an overflow a client gets what it did not ask for.",
		Edit:   Edit{"handlers/stored.go", "if !e.Matches(h.Filters(), s.now().Unix()) {", "if e.Event == nil {"},
		Suites: in(suites, "TestHoldOverflowIsReadFromTheLog"),
	},
	{
		Name: "log-read-from-the-start", Promise: "G6", Says: "Each time the log is read again it is read from the first A.",
		Edit:   Edit{"handlers/req.go", "\t\tat = next\n", ""},
		Suites: in(suites, "TestHoldOverflowIsReadFromTheLog"),
	},
	{
		Name: "failed-query-sends-eose", Promise: "G6", Says: "A client takes half of the stored events for all of them.",
		Edit:   Edit{"handlers/req.go", "hint, err := s.sendStored(ctx, h)\n\tif err == nil {", "hint, err := s.sendStored(ctx, h)\n\tif err == nil || ctx.Err() == nil {"},
		Suites: in(suites, "TestFailedQueryIsClosedAndNeverEOSE"),
	},
	{
		Name: "failed-query-is-silent", Promise: "G6", Says: "A failed query leaves a subscription that is neither live nor closed.",
		Edit:   Edit{"handlers/req.go", "\t\ts.failed(h, err)\n", ""},
		Suites: in(suites, "TestFailedQueryIsClosedAndNeverEOSE"),
	},
	{
		Name: "failed-query-stays-indexed", Promise: "G10", Says: "A failed query leaves its handle in the index.",
		Edit:   Edit{"handlers/req.go", "\t\ts.log.Error(\"query failed\", \"conn\", s.conn.ID(), \"sub\", h.ID(), \"err\", err)\n\t}\n\ts.index.Remove(h)\n", "\t\ts.log.Error(\"query failed\", \"conn\", s.conn.ID(), \"sub\", h.ID(), \"err\", err)\n\t}\n"},
		Suites: in(suites, "TestFailedQueryIsClosedAndNeverEOSE"),
	},
	{
		Name: "close-error-ignored", Promise: "G6", Says: "An iterator that failed at its end passes for a whole answer.",
		Edit:   Edit{"handlers/stored.go", "defer func() { err = errors.Join(err, rows.Close()) }()", "defer func() { _ = rows.Close() }()"},
		Suites: in(suites, "TestFailedQueryIsClosedAndNeverEOSE"),
	},
	{
		Name: "hint-always-finish", Promise: "G6", Says: "EOSE says that all was sent although a limit hid events.",
		Edit:   Edit{"handlers/stored.go", "return rows.Hint(), unmoved(failed())", "return wire.HintFinish, unmoved(failed())"},
		Suites: in(suites, "TestEOSESaysWhetherALimitHidEvents"),
	},
	{
		Name: "predecessor-stays-indexed", Promise: "G2", Says: "Each replacement leaves the older generation in the index.",
		Edit:   Edit{"handlers/req.go", "\ts.unindex(old)\n", "\t_ = old\n"},
		Suites: in(suites, "TestReplacementAfterFanoutDropsWhatIsQueued"),
	},
	{
		Name: "refused-predecessor-stays-indexed", Promise: "G5", Says: "A refusal leaves the older generation in the index.",
		Edit:   Edit{"handlers/session.go", "\ts.unindex(old)\n", "\t_ = old\n"},
		Suites: in(suites, "TestRefusalEndsTheOlderGeneration"),
	},
	{
		Name: "refusal-is-an-answer", Promise: "G5", Says: "A refused REQ answers CLOSED and the older generation goes on.",
		Edit:   Edit{"handlers/req.go", "s.refuse(ctx, m.ID, reason(err, \"could not read the filters\"))", "s.answer(ctx, wire.AppendClosed(nil, m.ID, reason(err, \"could not read the filters\")))"},
		Suites: in(suites, "TestRefusalEndsTheOlderGeneration"),
	},
	{
		Name: "unreadable-refusal-is-an-answer", Promise: "G5", Says: "An unreadable REQ answers CLOSED and the older generation goes on.",
		Edit:   Edit{"handlers/session.go", "s.refuse(ctx, bad.Sub, bad.Reason)", "s.answer(ctx, wire.AppendClosed(nil, bad.Sub, bad.Reason))"},
		Suites: in(suites, "TestRefusalEndsTheOlderGeneration"),
	},
	{
		Name: "close-keeps-index", Promise: "G1", Says: "Each CLOSE leaves its handle in the index.",
		Edit:   Edit{"handlers/close.go", "\ts.unindex(old)\n", "\t_ = old\n"},
		Suites: in(suites, "TestCloseDropsWhatIsQueuedAndNotTaken"),
	},
	{
		Name: "req-in-a-query", Promise: "G9", Says: "The last REQ of an id does not win.",
		Edit:   Edit{"handlers/session.go", "\t\ts.req(ctx, m)\n", "\t\ts.conn.Query(ctx, \"req\", func(context.Context) { s.req(ctx, m) })\n"},
		Suites: in(suites, "TestCloseAndREQAlternateInOrder"),
	},
	{
		Name: "close-in-a-query", Promise: "G9", Says: "CLOSE takes effect after the REQ that was read behind it.",
		Edit:   Edit{"handlers/session.go", "\t\ts.close(m)\n", "\t\ts.conn.Query(ctx, \"close\", func(context.Context) { s.close(m) })\n"},
		Suites: in(suites, "TestCloseAndREQAlternateInOrder"),
	},
	{
		Name: "disconnect-keeps-index", Promise: "G10", Says: "Each disconnect leaves its handles in the index.",
		Edit:   Edit{"handlers/session.go", "\tfor _, h := range ended {\n\t\ts.index.Remove(h)\n\t}\n", ""},
		Suites: in(suites, "TestDisconnectLeavesNothing"),
	},
	{
		Name: "query-ignores-its-generation", Promise: "G2", Says: "The query of a replaced generation keeps its place and reads on.",
		Edit:   Edit{"handlers/req.go", "s.conn.Query(h.Context(), \"req\"", "s.conn.Query(ctx, \"req\""},
		Suites: in("handlers", "TestAQueryThatIsNoLongerWantedDoesNotWaitForItsPlace"),
	},
	{
		Name: "filters-unbounded", Promise: "NIP-11", Says: "A REQ holds any number of filters.",
		Edit:   Edit{"handlers/req.go", "len(filters) > l.Filters {", "len(filters) > l.Filters+1 {"},
		Suites: in("handlers", "TestLimitsOfFiltersAreExact"),
	},
	{
		Name: "filter-values-unbounded", Promise: "NIP-11", Says: "A filter holds any number of values.",
		Edit:   Edit{"handlers/req.go", "f.Values() > l.FilterValues {", "len(f.Kinds) > l.FilterValues {"},
		Suites: in("handlers", "TestLimitsOfFiltersAreExact"),
	},
	{
		Name: "search-ignored", Promise: "NIP-01", Says: "A store without an index of words is scanned for anybody who searches.",
		Edit:   Edit{"handlers/req.go", "if f.Search != \"\" && !s.search {", "if false {"},
		Suites: in("handlers", "TestLimitsOfFiltersAreExact"),
	},
	{
		Name: "read-rules-not-asked", Promise: "NIP-42", Says: "A relay that answers authenticated clients only answers everybody.",
		Edit:   Edit{"handlers/req.go", "return s.reading.MayRead(s.conn.Keys(), filters)", "return nil"},
		Suites: in("handlers", "TestAuthenticationHoldsForTheNextMessage"),
	},
	{
		Name: "not-judged-again", Promise: "G4", Says: "A REQ that was judged before a revocation, and reserved after it, goes on.",
		Edit:   Edit{"handlers/req.go", "if !late && s.reading.Version() != version && !s.mayStill(h) {", "if s.reading.Version() == version+1<<40 && !s.mayStill(h) {"},
		Suites: in(suites, "TestAREQThatWasJudgedBeforeARevocationIsEnded"),
	},
	{
		Name: "version-read-late", Promise: "G4", Says: "A revocation between judging and the version is overlooked.",
		Edit:   Edit{"handlers/req.go", "\tversion := s.reading.Version() // before the filters are judged\n", ""},
		And:    []Edit{{"handlers/req.go", "\ts.pause.At(pause.ReqJudged)\n", "\ts.pause.At(pause.ReqJudged)\n\tversion := s.reading.Version()\n"}},
		Suites: in(suites, "TestAREQThatWasJudgedBeforeARevocationIsEnded"),
	},
	{
		Name: "snapshot-ahead-of-control", Promise: "G4", Says: "A query shows events from after a revocation that is not in force yet.",
		Edit:   Edit{"handlers/stored.go", "if s.progress.Applied() >= control {", "if control > 0 {"},
		Suites: also(in("handlers", "TestAQueryWaitsForTheControlRowsOfItsSnapshot"), "TestAQueryShowsNothingFromAfterARevocation"),
	},
	{
		Name: "control-before-snapshot", Promise: "G4", Says: "A revocation between the look at the log and the snapshot is not waited for.",
		Edit:   Edit{"handlers/count.go", "\ts.pause.At(pause.ReqSnapshot)\n\tif err := s.caughtUp(ctx); err != nil {\n\t\treturn 0, false, err\n\t}\n", "\ts.pause.At(pause.ReqSnapshot)\n"},
		And:    []Edit{{"handlers/count.go", "\tsnap, err := s.store.Snapshot(ctx)\n", "\tif err := s.caughtUp(ctx); err != nil {\n\t\treturn 0, false, err\n\t}\n\tsnap, err := s.store.Snapshot(ctx)\n"}},
		Suites: in("handlers", "TestACountWaitsForWhateverItsSnapshotHolds"),
	},
	{
		Name: "log-ahead-of-control", Promise: "G4", Says: "What is read again after an overflow shows events from after a revocation.",
		Edit:   Edit{"handlers/stored.go", "\tif err := s.caughtUp(ctx); err != nil {\n\t\treturn err\n\t}\n", ""},
		Suites: in(suites, "TestTheLogThatIsReadAgainIsReadUnderTheRulesOfItsEnd"),
	},
	{
		Name: "stored-without-grant", Promise: "G4", Says: "A stored event that was allowed before a revocation is taken after it.",
		Edit:   Edit{"handlers/stored.go", "h.Replay(ctx, ev, sight.Grant)", "h.Replay(ctx, ev, nil)"},
		Suites: in(suites, "TestAStoredEventThatWasAllowedBeforeARevocationIsNotTaken"),
	},
	{
		Name: "stored-not-decided", Promise: "G4", Says: "Whoever may ask sees every stored event.",
		Edit:   Edit{"handlers/stored.go", "if !may || err != nil {", "if !may && err != nil {"},
		Suites: in(suites, "TestAStoredEventThatWasAllowedBeforeARevocationIsNotTaken"),
	},
	{
		Name: "hidden-takes-the-limit", Promise: "NIP-29", Says: "A reader learns from the limit how much there is that it may not see.",
		Edit:   Edit{"handlers/stored.go", ", Visible: visible,", ","},
		And:    []Edit{{"handlers/stored.go", "visible, failed := s.reading", "_, failed := s.reading"}},
		Suites: in("handlers", "TestWhatIsNotVisibleIsNeitherSentNorCounted"),
	},
	{
		Name: "hidden-is-counted", Promise: "NIP-29", Says: "COUNT reveals what REQ hides.",
		Edit:   Edit{"handlers/count.go", "snap.Count(ctx, filters, most, visible)", "snap.Count(ctx, filters, most, nil)"},
		And:    []Edit{{"handlers/count.go", "visible, failed :=", "_, failed :="}},
		Suites: in("handlers", "TestWhatIsNotVisibleIsNeitherSentNorCounted"),
	},
	{
		Name: "undecidable-is-hidden", Promise: "G6", Says: "A query about which nobody can decide passes for an empty one.",
		Edit:   Edit{"handlers/stored.go", "return rows.Hint(), unmoved(failed())", "return rows.Hint(), nil"},
		And:    []Edit{{"handlers/stored.go", "visible, failed :=", "visible, _ :="}},
		Suites: in("handlers", "TestAQueryAboutWhichNobodyCanDecideFails"),
	},
	{
		Name: "count-of-two-states", Promise: "G4", Says: "A COUNT is answered under permissions that were taken away.",
		Edit:   Edit{"handlers/count.go", "if !errors.Is(err, store.ErrMoved) { // race", "if err = unmoved(err); true { // race"},
		Suites: in("handlers", "TestACountDuringWhichPermissionsMoveIsCountedAgain"),
	},
	{
		Name: "undecidable-stays-indexed", Promise: "G10", Says: "A subscription that ended because nobody could decide stays in the index.",
		Edit:   Edit{"handlers/handlers.go", "\th.index.Remove(x)\n", ""},
		Suites: in("handlers", "TestAFrameAboutWhichNobodyCanDecideEndsItsSubscription"),
	},
	{
		Name: "count-unchecked", Promise: "NIP-45", Says: "COUNT tells what REQ refuses.",
		Edit:   Edit{"handlers/count.go", "err = s.checkFilters(m.Filters)", "err = s.checkFilters(nil)"},
		Suites: in("handlers", "TestLimitsOfFiltersAreExact"),
	},
	{
		Name: "internal-text-told", Promise: "G6", Says: "A client reads the relay's internal errors.",
		Edit:   Edit{"handlers/session.go", "return wire.Because(wire.Failed, fallback)", "return wire.Because(wire.Failed, err.Error())"},
		Suites: in("handlers", "TestFailedCommitIsNotAcknowledgedAndTellsNothing"),
	},
}
