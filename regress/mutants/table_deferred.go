package mutants

// deferredMutants remove what becomes of rows that fail.
var deferredMutants = []Mutant{
	{
		Name: "poison-stops-others", Promise: "O9", Says: "A row that cannot be read stops everything behind it.",
		Edit:   Edit{"relay/outbox/apply.go", "if err := f.fail(ctx, e, failed); err != nil {\n", "if err := failed; err != nil {\n"},
		Suites: in("relay/outbox", "TestAPoisonRowHoldsUpNobodyElse"),
	},
	{
		Name: "poison-skipped", Promise: "O9", Says: "A row that cannot be read is forgotten.",
		Edit:   Edit{"relay/outbox/apply.go", "if err := f.fail(ctx, e, failed); err != nil {\n", "if err := error(nil); err != nil {\n"},
		Suites: in("relay/outbox", "TestAPoisonRowHoldsUpNobodyElse"),
	},
	{
		Name: "panic-not-caught", Promise: "O9", Says: "An event that breaks the delivery ends the relay.",
		Edit:   Edit{"relay/outbox/apply.go", "if value := recover(); value != nil {", "if value := any(nil); value != nil {"},
		Suites: in("relay/outbox", "TestARowThatFailsTooOftenIsADeadLetter"),
	},
	{
		Name: "reader-stops-others", Promise: "O9", Says: "A reader with whom something is wrong keeps an event from the others.",
		Edit:   Edit{"relay/outbox/fanout.go", "if value := recover(); value != nil {", "if value := any(nil); value != nil {"},
		Suites: in("relay/outbox", "TestAPanicWithOneReaderEndsThatSubscriptionOnly"),
	},
	{
		Name: "newer-before-older", Promise: "O10", Says: "A row is seen before an older one of its aggregate.",
		Edit:   Edit{"relay/outbox/backlog.go", "return len(b.blocked) > 0 && b.blocked[e.Aggregate()] > 0", "return len(b.blocked) < 0 && b.blocked[e.Aggregate()] > 0"},
		Suites: in("relay/outbox", "TestNewerRowsOfAnAggregateWaitForTheOlder", "TestEachAggregateKeepsItsOrder"),
	},
	{
		Name: "waiting-rows-forgotten", Promise: "O10", Says: "What waited for a row that came through waits for ever.",
		Edit:   Edit{"relay/outbox/defer.go", "\t\tw = f.backlog.head(w.aggregate)\n", "\t\tw = nil\n"},
		Suites: in("relay/outbox", "TestNewerRowsOfAnAggregateWaitForTheOlder"),
	},
	{
		Name: "log-counts-as-attempt", Promise: "O11", Says: "A database that is away makes dead letters of rows that are sound.",
		Edit:   Edit{"relay/outbox/defer.go", "\te, err := f.read(ctx, w.at)\n\tif err != nil {\n\t\treturn false, err\n\t}\n", "\te, err := f.read(ctx, w.at)\n\tif err != nil {\n\t\tf.failed(w, err)\n\t\te = &store.Entry{Position: w.at, Broken: &store.Broken{Err: err, Kind: -1}}\n\t}\n"},
		Suites: in("relay/outbox", "TestABrokenLogIsNoAttemptAtARow"),
	},
	{
		Name: "tried-for-ever", Promise: "O9", Says: "A row that never comes through holds up its aggregate for ever.",
		Edit:   Edit{"relay/outbox/defer.go", "if f.failed(w, failed); w.attempts < maxAttempts {", "if f.failed(w, failed); w.attempts > 0 {"},
		Suites: in("relay/outbox", "TestARowThatFailsTooOftenIsADeadLetter"),
	},
	{
		Name: "given-up-at-once", Promise: "O9", Says: "A row is given up after its second attempt.",
		Edit:   Edit{"relay/outbox/defer.go", "if f.failed(w, failed); w.attempts < maxAttempts {", "if f.failed(w, failed); w.attempts < 2 {"},
		Suites: in("relay/outbox", "TestARowThatFailsTooOftenIsADeadLetter"),
	},
	{
		Name: "dead-letter-silent", Promise: "O17", Says: "Subscriptions miss a row that was given up, and are not told.",
		Edit:   Edit{"relay/outbox/letter.go", "\tf.endConcerned(e, reasonBroken, func(*lifecycle.Handle) bool { return true })\n", "\tf.endConcerned(e, reasonBroken, func(*lifecycle.Handle) bool { return false })\n"},
		Suites: also(in("relay/outbox", "TestARowThatFailsTooOftenIsADeadLetter"), "TestRowThatIsGivenUpAtTheSeamIsNeverMissedInSilence"),
	},
	{
		Name: "dead-letter-ends-all", Promise: "O17", Says: "A row that was given up ends subscriptions that did not ask for it.",
		Edit:   Edit{"relay/outbox/letter.go", "if chosen(h) && f.concerns(e, h) {", "if chosen(h) {"},
		Suites: in("relay/outbox", "TestADeadLetterEndsWhatCouldMatchAndNothingElse"),
	},
	{
		Name: "dead-letter-unwritten", Promise: "O15", Says: "A row is given up without a trace.",
		Edit:   Edit{"relay/outbox/defer.go", "if err := f.letter(ctx, w); err != nil {\n\t\tf.logger", "if err := error(nil); err != nil {\n\t\tf.logger"},
		Suites: in("relay/outbox", "TestARowIsNotGivenUpBeforeThatIsWrittenDown"),
	},
	{
		Name: "backlog-unbounded", Promise: "O10", Says: "One row has any number of others wait in memory.",
		Edit:   Edit{"relay/outbox/defer.go", "if len(f.backlog.rows) <= maxDeferred {", "if len(f.backlog.rows) <= 2*maxDeferred {"},
		Suites: in("relay/outbox", "TestTooManyWaitingRowsGiveUpTheFirst"),
	},
	{
		Name: "control-skipped", Promise: "O16", Says: "A control row that cannot be read is deferred like any other.",
		Edit:   Edit{"relay/outbox/apply.go", "case e.Type == store.EntryControl:", "case e.Type == store.EntryControl && e.Broken == nil:"},
		Suites: in("relay/outbox", "TestAControlRowThatCannotBeReadStopsTheFollower"),
	},
	{
		Name: "stuck-and-trusted", Promise: "O16", Says: "A replica that cannot apply a revocation serves what was taken away.",
		Edit:   Edit{"relay/outbox/apply.go", "if !f.stuck.Swap(true) && f.readers != nil {", "if f.stuck.Load() && f.readers != nil {"},
		Suites: in("relay/outbox", "TestAControlRowThatCannotBeReadStopsTheFollower"),
	},
	{
		Name: "unconfirmed-and-trusted", Promise: "O18", Says: "A replica that has lost its database serves private events under old permissions.",
		Edit:   Edit{"relay/outbox/fresh.go", "f.now().Sub(f.Confirmed()) <= maxLag", "f.Confirmed().Sub(f.now()) <= maxLag"},
		Suites: in("relay/outbox", "TestWhatIsNotConfirmedIsNotTrusted"),
	},
	{
		Name: "queued-and-trusted", Promise: "O18", Says: "What a replica had queued is taken after it has lost its database.",
		Edit:   Edit{"lifecycle/grant.go", "return g.while == nil || g.while()", "return true"},
		Suites: also(in("relay/access", "TestWithoutTrustSecretsAreDecidedAboutByNobody"), "TestAFrameThatWasQueuedBeforeARelayLostItsLogIsNotTaken"),
	},
	{
		Name: "decided-without-trust", Promise: "O18", Says: "Private events are decided about from permissions that may be out of date.",
		Edit:   Edit{"relay/access/trust.go", "\tif !p.fresh() {\n", "\tif false {\n"},
		Suites: in("relay/access", "TestWithoutTrustSecretsAreDecidedAboutByNobody"),
	},
	{
		Name: "filters-without-trust", Promise: "O18", Says: "A replica that may be out of date says that there is nothing.",
		Edit:   Edit{"relay/access/read.go", "if err == nil && !p.isFresh() && p.isSecret(filters) {", "if err == nil && false {"},
		Suites: also(in("relay/access", "TestWithoutTrustOnlyWhatStrangersMayAskForIsRead"), "TestARelayThatHasLostItsLogShowsNothingPrivate"),
	},
	{
		Name: "distrust-unseen", Promise: "O18", Says: "A REQ that was judged before a replica lost its database goes on.",
		Edit:   Edit{"relay/access/trust.go", "\tc.o.Policy.version.Add(1)\n", ""},
		Suites: in("relay/access", "TestDistrustEndsWhatStrangersMayNotHave"),
	},
	{
		Name: "hidden-is-no-secret", Promise: "O18", Says: "Members of a hidden group wait for what does not come.",
		Edit:   Edit{"relay/access/trust.go", "return p.lostIn(slices.Concat(one[0].Tags[\"h\"], one[0].Tags[\"d\"]), keys, one[0])", "return p.lostIn(slices.Concat([]string{}), keys, one[0])"},
		Suites: in(suites, "TestAMemberOfAHiddenGroupLosesItWithTheLog"),
	},
	{
		Name: "full-batch-confirms", Promise: "O18", Says: "A replica that is far behind takes itself for being at the end.",
		Edit:   Edit{"relay/outbox/follower.go", "if len(entries) < batchSize {", "if true {"},
		Suites: in("relay/outbox", "TestAFullBatchConfirmsNothing"),
	},
	{
		Name: "deferred-lost", Promise: "R6", Says: "The high-water mark discards a row that was deferred.",
		Edit:   Edit{"lifecycle/late.go", "\tif x.late {\n\t\treturn h.owedLocked(x.position)\n\t}\n", ""},
		Suites: also(in("lifecycle", "TestDeferredRowsComeOutOfOrderAndOnce"), "TestRowThatIsDeferredAtTheSeamArrivesOnce"),
	},
	{
		Name: "deferred-twice", Promise: "O17", Says: "A row that the replay has sent comes late as well.",
		Edit:   Edit{"lifecycle/late.go", "\tif at > h.base {\n", "\tif at > 0 {\n"},
		Suites: also(in("lifecycle", "TestDeferredRowsComeOutOfOrderAndOnce"), "TestRowThatIsDeferredAtTheSeamArrivesOnce"),
	},
	{
		Name: "mark-lowered-by-late", Promise: "G6", Says: "A late row opens the gate for what was sent after it.",
		Edit:   Edit{"lifecycle/handle.go", "\th.floor = max(h.floor, x.position)\n\tc.queue.push(f)\n", "\th.floor = x.position\n\tc.queue.push(f)\n"},
		Suites: in("lifecycle", "TestDeferredRowsComeOutOfOrderAndOnce"),
	},
	{
		Name: "deferred-replayed", Promise: "O17", Says: "A deferred row comes stored and live.",
		Edit:   Edit{"handlers/req.go", "return at <= s.a && !late", "return at <= s.a && !(late && false)"},
		Suites: in(suites, "TestDeferredRowAtTheSeamArrivesOnce"),
	},
	{
		Name: "deferred-unknown", Promise: "O17", Says: "A row that was deferred when its REQ began comes neither stored nor live.",
		Edit:   Edit{"handlers/req.go", "h.Begin(at.a, at.late...)", "h.Begin(at.a)"},
		Suites: in(suites, "TestDeferredRowAtTheSeamArrivesOnce"),
	},
	{
		Name: "deferred-before-index", Promise: "O17", Says: "A row that is delivered between the look at the deferred ones and the index is missed.",
		Edit: Edit{"handlers/req.go", "\ts.pause.At(pause.ReqStarted)\n\ts.index.Add(h)\n", "\tlate := s.progress.Deferred()\n\ts.pause.At(pause.ReqStarted)\n\ts.index.Add(h)\n"},
		And: []Edit{
			{"handlers/req.go", "s.sendStored(ctx, h)", "s.sendStored(ctx, h, late)"},
			{"handlers/stored.go", "sendStored(ctx context.Context, h *lifecycle.Handle)", "sendStored(ctx context.Context, h *lifecycle.Handle, late []store.Position)"},
			{"handlers/stored.go", "at = seam{snap.Applied(), s.progress.Deferred()}", "at = seam{snap.Applied(), late}"},
		},
		Suites: in(suites, "TestDeferredRowAtTheSeamArrivesOnce"),
	},
	{
		Name: "lifted-after-lookup", Promise: "O17", Says: "A REQ that finds a row deferred, and comes after its lookup, misses it.",
		Edit:   Edit{"relay/outbox/defer.go", "\tf.lift(w)\n\tf.pause.At(pause.DeferredLifted)\n\terr := f.attempt(e, true)\n\tif err != nil {\n\t\tf.put(w)\n\t}\n", "\tf.pause.At(pause.DeferredLifted)\n\terr := f.attempt(e, true)\n\tif err == nil {\n\t\tf.lift(w)\n\t}\n"},
		Suites: in(suites, "TestDeferredRowAtTheSeamArrivesOnce"),
	},
	{
		Name: "given-up-before-lifted", Promise: "O17", Says: "A REQ that finds a row deferred when it has been given up misses it in silence.",
		Edit:   Edit{"relay/outbox/letter.go", "func (f *Follower) drop(w *waiting, e *store.Entry) {\n\tf.lift(w)\n\tf.pause.At(pause.DeferredLifted)\n", "func (f *Follower) drop(w *waiting, e *store.Entry) {\n\tdefer f.lift(w)\n\tdefer f.pause.At(pause.DeferredLifted)\n"},
		Suites: in(suites, "TestRowThatIsGivenUpAtTheSeamIsNeverMissedInSilence"),
	},
	{
		Name: "late-lost-with-the-hold", Promise: "G8", Says: "A late row that the hold has lost is not read again.",
		Edit:   Edit{"handlers/stored.go", "\tfor _, at := range from.late {\n", "\tfor _, at := range from.late[:0] {\n"},
		Suites: in(suites, "TestDeferredRowThatTheHoldLosesIsReadAgain"),
	},
	{
		Name: "feed-passes-deferred", Promise: "O17", Says: "A feed tells positions beyond a row that it has not sent.",
		Edit:   Edit{"relay/outbox/defer.go", "(*lifecycle.Handle).IsFeed)", "func(*lifecycle.Handle) bool { return false })"},
		Suites: also(in("relay/outbox", "TestAFeedEndsWhereARowIsDeferred"), "TestFeedWaitsAtADeferredRow"),
	},
	{
		Name: "feed-skips-broken", Promise: "O17", Says: "A feed leaves out what it cannot read.",
		Edit:   Edit{"handlers/walk.go", "if e.CouldMatch(w.handle.Filters()) && (e.Type", "if false && (e.Type"},
		Suites: in(suites, "TestFeedWaitsAtADeferredRow", "TestFeedMeetsADeadLetter"),
	},
	{
		Name: "trimmed-and-silent", Promise: "O17", Says: "A replica that was stopped for too long leaves out what the log lost meanwhile.",
		Edit:   Edit{"relay/history.go", "case applied+1 < info.Floor:", "case info.Head < info.Floor-1:"},
		Suites: in("relay", "TestARelayEndsWhenItsLogWasTrimmedBeyondIt"),
	},
}
