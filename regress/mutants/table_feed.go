package mutants

// feedMutants remove what makes a changes feed exact.
var feedMutants = []Mutant{
	{
		Name: "feed-of-any-epoch", Promise: "R3", Says: "A position of another history is continued.",
		Edit:   Edit{"handlers/locate.go", "case since.Epoch != \"\" && since.Epoch != string(w.log.Epoch):", "case false:"},
		Suites: in("handlers", "TestAFeedGoesOnBehindAPosition"),
	},
	{
		Name: "feed-above-the-head", Promise: "R3", Says: "A position that the log never gave is continued.",
		Edit:   Edit{"handlers/locate.go", "case since.Position > uint64(w.log.Head):", "case false:"},
		And:    []Edit{{"handlers/locate.go", "if len(page) == 0 ||", "if len(page) == 0 {\n\t\treturn nil\n\t}\n\tif"}},
		Suites: in("handlers", "TestAFeedGoesOnBehindAPosition"),
	},
	{
		Name: "feed-below-the-floor", Promise: "R2", Says: "A feed begins behind a row that is gone.",
		Edit:   Edit{"handlers/locate.go", "since.Position+1 < uint64(w.log.Floor):", "since.Position+2 < uint64(w.log.Floor):"},
		And:    []Edit{{"handlers/walk.go", "\t\treturn nil, w.belowFloor(ctx)\n", "\t\treturn w.store.ReadLog(ctx, w.log.Floor-1, most)\n"}},
		Suites: in("handlers", "TestAFeedGoesOnBehindAPosition"),
	},
	{
		Name: "feed-floor-too-strict", Promise: "R2", Says: "The position just below the floor is refused, from where nothing is missing.",
		Edit:   Edit{"handlers/locate.go", "since.Position+1 < uint64(w.log.Floor):", "since.Position < uint64(w.log.Floor):"},
		Suites: in("handlers", "TestAFeedGoesOnBehindAPosition"),
	},
	{
		Name: "feed-token-not-compared", Promise: "R3", Says: "A history that diverged without a new epoch is not noticed.",
		Edit:   Edit{"handlers/locate.go", "w.at.IsToken && page[0].Prefix != w.at.Prefix {", "false {"},
		Suites: also(in("handlers", "TestAFeedGoesOnBehindAPosition"), "TestARestoredLogIsNotTakenForTheOldOne"),
	},
	{
		Name: "feed-foreign-token", Promise: "R3", Says: "What is no token is the beginning of the log.",
		Edit:   Edit{"handlers/locate.go", "case since.Foreign:", "case false:"},
		Suites: in("handlers", "TestAFeedGoesOnBehindAPosition"),
	},
	{
		Name: "feed-epoch-changes", Promise: "R3", Says: "A log that became another one during the replay is read on.",
		Edit:   Edit{"handlers/walk.go", "if before != \"\" && before != log.Epoch {", "if before != \"\" && before != log.Epoch && w == nil {"},
		Suites: in(suites, "TestAnotherHistoryBehindAnOverflowIsAResync"),
	},
	{
		Name: "feed-jumps-to-the-floor", Promise: "R3", Says: "A replay that retention has overtaken goes on at the floor.",
		Edit:   Edit{"handlers/walk.go", "\t\treturn nil, w.belowFloor(ctx)\n", "\t\t_ = w.look(ctx)\n\t\treturn w.store.ReadLog(ctx, w.log.Floor-1, most)\n"},
		Suites: in(suites, "TestRetentionDuringAReplayIsAResync", "TestRetentionBetweenTwoPagesIsAResync", "TestRetentionBehindAnOverflowIsAResync"),
	},
	{
		Name: "feed-reads-above-A", Promise: "R1", Says: "What was committed during the replay is read and comes live as well.",
		Edit:   Edit{"handlers/walk.go", "if page[i].Position > upTo { // it", "if false { // it"},
		Suites: in(suites, "TestAChangeAtTheSeamArrivesOnce"),
	},
	{
		Name: "feed-A-before-index", Promise: "R1", Says: "A is read before the handle is in the index: what is committed in between is lost.",
		Edit:   Edit{"handlers/changes.go", "\t\ts.index.Add(h)\n", ""},
		And:    []Edit{{"handlers/walk.go", "\tw.pause.At(pause.ReqBegun)\n", "\tw.pause.At(pause.ReqBegun)\n\tif w.message.Live {\n\t\tw.index.Add(w.handle)\n\t}\n"}},
		Suites: in(suites, "TestAChangeAtTheSeamArrivesOnce"),
	},
	{
		Name: "feed-not-begun", Promise: "R1", Says: "A is not told to the handle: live changes below it come twice.",
		Edit:   Edit{"handlers/walk.go", "\tw.handle.Begin(w.first)\n", "\tw.handle.Begin(0)\n"},
		Suites: in(suites, "TestAChangeAtTheSeamArrivesOnce"),
	},
	{
		Name: "feed-not-rechecked", Promise: "G1", Says: "A CLOSE that came before the handle was in the index leaves it there.",
		Edit:   Edit{"handlers/changes.go", "if !h.Current() { // CLOSE", "if false { // CLOSE"},
		Suites: in(suites, "TestWhatEndsAFeedDuringItsReplayLeavesNothing"),
	},
	{
		Name: "feed-zombie", Promise: "G1", Says: "A feed that was closed while it was put into the index stays there.",
		Edit:   Edit{"handlers/changes.go", "\t\t\ts.index.Remove(h)\n\t\t\treturn\n", "\t\t\treturn\n"},
		Suites: in(suites, "TestWhatEndsAFeedDuringItsReplayLeavesNothing"),
	},
	{
		Name: "feed-keeps-the-older", Promise: "G2", Says: "The generation that a feed replaces stays in the index.",
		Edit:   Edit{"handlers/changes.go", "\th, old, err := s.conn.ReserveFeed(ctx, m.ID, filters, m.Removed)\n\ts.unindex(old)\n", "\th, _, err := s.conn.ReserveFeed(ctx, m.ID, filters, m.Removed)\n"},
		Suites: in(suites, "TestAFeedEndsAReqAtEachOfItsPoints"),
	},
	{
		Name: "feed-refused-beside", Promise: "G5", Says: "A refused CHANGES leaves the older generation of its id.",
		Edit:   Edit{"handlers/changes.go", "\t\ts.refuseFeed(ctx, m.ID, reason(err, \"could not read the filter\"))\n", "\t\ts.answer(ctx, wire.AppendChangesErr(nil, m.ID, reason(err, \"could not read the filter\"), nil))\n"},
		Suites: in("handlers", "TestARefusedFeedIsAnsweredWithErr"),
	},
	{
		Name: "feed-unreadable-beside", Promise: "G5", Says: "A CHANGES that cannot be read leaves the older generation of its id.",
		Edit:   Edit{"handlers/session.go", "s.refuseFeed(ctx, bad.Sub, bad.Reason)", "s.answer(ctx, wire.AppendChangesErr(nil, bad.Sub, bad.Reason, nil))"},
		Suites: also(in("handlers", "TestARefusedFeedIsAnsweredWithErr"), "TestWhatEndsAFeedDuringItsReplayLeavesNothing"),
	},
	{
		Name: "feed-out-of-turn", Promise: "G9", Says: "CHANGES takes effect after messages that were read later.",
		Edit:   Edit{"handlers/session.go", "\t\ts.changes(ctx, m)\n", "\t\ts.conn.Query(ctx, \"changes\", func(context.Context) { s.changes(ctx, m) })\n"},
		Suites: in(suites, "TestFeedsTakeEffectInTheOrderOfReading"),
	},
	{
		Name: "feed-not-judged-again", Promise: "G4", Says: "A feed that was judged before a revocation and reserved after it stays.",
		Edit:   Edit{"handlers/changes.go", "case late || s.reading.Version() == version || s.mayStill(h):", "case late || s.reading.Version() >= version:"},
		Suites: also(in("handlers", "TestAFeedIsJudgedAgainWhenPermissionsMoved"), "TestAFeedThatWasJudgedBeforeARevocationIsEnded"),
	},
	{
		Name: "feed-ahead-of-permissions", Promise: "G4", Says: "A feed shows what stands in the log behind a revocation that is not in force yet.",
		Edit:   Edit{"handlers/walk.go", "\tif err := w.caughtUp(ctx); err != nil {\n\t\treturn false, err\n\t}\n", ""},
		Suites: also(in("handlers", "TestAFeedWaitsForTheControlRowsOfItsLog"), "TestAResumeShowsNothingFromAfterARevocation"),
	},
	{
		Name: "feed-shows-everything", Promise: "R4", Says: "What was visible when the position was issued is sent.",
		Edit:   Edit{"handlers/walk.go", "if !may || err != nil {", "if !may && err != nil {"},
		Suites: also(in("handlers", "TestAFeedIsJudgedWhenItResumes"), "TestAFeedIsAboutItsOwnReader"),
	},
	{
		Name: "feed-without-grant", Promise: "G4", Says: "A change that was queued before a revocation is taken after it.",
		Edit:   Edit{"handlers/walk.go", "ev, removed, sight.Grant)", "ev, removed, nil)"},
		Suites: in(suites, "TestAFeedThatIsBroaderThanARevocationStays"),
	},
	{
		Name: "feed-replays-ephemeral", Promise: "R1", Says: "An ephemeral event is sent to who asks for it later.",
		Edit:   Edit{"handlers/walk.go", "case e.Type == store.EntryEphemeral && e.Position <= w.first:", "case false:"},
		Suites: in("handlers", "TestEphemeralEventsAreNeverReplayedToAFeed"),
	},
	{
		Name: "feed-any-removal", Promise: "R1", Says: "Removals are told to feeds whose filter the event did not match.",
		Edit:   Edit{"handlers/walk.go", "w.message.Removed && wire.MatchesAny(filters, e.Removal.Event):", "w.message.Removed:"},
		Suites: in("handlers", "TestAFeedTellsWhatWasRemovedToWhoAsks"),
	},
	{
		Name: "feed-one-too-many", Promise: "R1", Says: "A feed sends more than its limit.",
		Edit:   Edit{"handlers/walk.go", "int64(w.sent) >= w.message.Limit {", "int64(w.sent) > w.message.Limit {"},
		Suites: in("handlers", "TestALimitedFeedSaysThatThereIsMore"),
	},
	{
		Name: "feed-limit-silent", Promise: "R1", Says: "A live feed that stopped at its limit says nothing about it.",
		Edit:   Edit{"handlers/walk.go", "w.handle.Complete(wire.Mark{Cursor: w.at, More: more}, &errNotLive)", "w.handle.Complete(wire.Mark{Cursor: w.at, More: more}, nil)"},
		Suites: in("handlers", "TestALimitedFeedSaysThatThereIsMore"),
	},
	{
		Name: "feed-over-in-the-index", Promise: "G10", Says: "A live feed that stopped at its limit stays in the index.",
		Edit:   Edit{"handlers/walk.go", "\t\tw.index.Remove(w.handle)\n", ""},
		Suites: in("handlers", "TestALimitedFeedSaysThatThereIsMore"),
	},
	{
		Name: "feed-resync-in-the-index", Promise: "G10", Says: "A feed that ended with a resync stays in the index.",
		Edit:   Edit{"handlers/changes.go", "\t\ts.index.Remove(h)\n\tdefault:", "\tdefault:"},
		Suites: in(suites, "TestRetentionDuringAReplayIsAResync"),
	},
	{
		Name: "feed-without-budget", Promise: "R1", Says: "A narrow filter over a long log occupies the store as long as it takes.",
		Edit:   Edit{"handlers/walk.go", "\tif w.eosed {\n", "\tif w.eosed || most > 1 {\n"},
		Suites: in("handlers", "TestTheTimeOfTheStoreForAFeedIsBounded"),
	},
	{
		Name: "feed-restarts-too-late", Promise: "R1", Says: "What arrives between the new A and the emptied hold is lost.",
		Edit:   Edit{"handlers/walk.go", "\t\tw.handle.Restart()\n\t\tw.pause.At(pause.ReqRestarted)\n\t\tif err := w.look(ctx); err != nil {\n\t\t\treturn err\n\t\t}\n", "\t\tif err := w.look(ctx); err != nil {\n\t\t\treturn err\n\t\t}\n\t\tw.pause.At(pause.ReqRestarted)\n\t\tw.handle.Restart()\n"},
		Suites: in(suites, "TestAnOverflowOfTheHoldIsReadFromTheLog"),
	},
	{
		Name: "feed-new-A-not-told", Promise: "R1", Says: "What was read from the log comes live as well.",
		Edit:   Edit{"handlers/walk.go", "\t\tw.handle.Begin(w.log.Head)\n", ""},
		Suites: in(suites, "TestAnOverflowOfTheHoldIsReadFromTheLog"),
	},
	{
		Name: "feed-ended-with-closed", Promise: "G8", Says: "The end of a feed is said in words that its client does not wait for.",
		Edit:   Edit{"lifecycle/handle.go", "if h.feed != nil && r != (wire.Reason{}) {", "if false {"},
		Suites: also(in("lifecycle", "TestWhatEndsAFeedIsSaidAsErr"), "TestALiveChangeWithoutRoomEndsTheFeedWithErr"),
	},
	{
		Name: "feed-over-stays", Promise: "G10", Says: "A feed that is over counts as a subscription for ever.",
		Edit:   Edit{"lifecycle/feed.go", "\tdefault:\n\t\th.retireLocked()\n\t}\n", "\t}\n"},
		Suites: in("lifecycle", "TestACompletedFeedIsCurrentUntilItsEndIsTaken"),
	},
	{
		Name: "feed-over-too-early", Promise: "R1", Says: "What is queued of a feed is dropped when it completes.",
		Edit:   Edit{"lifecycle/feed.go", "\th.pushReservedLocked(kindEOSE, eose)\n", "\th.pushReservedLocked(kindEOSE, eose)\n\th.retireLocked()\n"},
		Suites: in("lifecycle", "TestACompletedFeedIsCurrentUntilItsEndIsTaken"),
	},
	{
		Name: "feed-room", Promise: "G8", Says: "The longest EOSE of a feed takes room that nobody reserved.",
		Edit:   Edit{"lifecycle/reserve.go", "return eose + feedMark, closed + feedMark", "return eose, closed"},
		Suites: in("lifecycle", "TestTheEndOfAFeedFitsItsReservation"),
	},
	{
		Name: "removals-unasked", Promise: "R1", Says: "A REQ or a feed that did not ask is told of removals.",
		Edit:   Edit{"lifecycle/feed.go", "\tif !h.WantsRemoved() {\n", "\tif false {\n"},
		Suites: in("lifecycle", "TestRemovalsAreForFeedsThatAskedForThem"),
	},
	{
		Name: "removal-decided-as-event", Promise: "G4", Says: "A queued removal is decided about again by a rule that hides it.",
		Edit:   Edit{"lifecycle/feed.go", "\tif removed {\n\t\treturn c.gone(ev)\n", "\tif false {\n\t\treturn c.gone(ev)\n"},
		Suites: in("lifecycle", "TestAChangeIsDecidedAboutAgain"),
	},
	{
		Name: "removal-hidden", Promise: "R1", Says: "That an event was banned or its author vanished is told to nobody.",
		Edit:   Edit{"relay/access/sight.go", "if removed && p.isUnservedLocked(ev) || !removed && p.isHiddenLocked(ev) {", "if p.isHiddenLocked(ev) {"},
		Suites: in(suites, "TestWhyAnEventIsGoneDoesNotHideThatItIs"),
	},
	{
		Name: "removal-not-live", Promise: "R1", Says: "A live feed is not told what was removed.",
		Edit:   Edit{"relay/outbox/apply.go", "\t\tf.fanoutRemoval(e)\n", ""},
		Suites: also(in("handlers", "TestAFeedTellsWhatWasRemovedToWhoAsks"), "TestAChangeAtTheSeamArrivesOnce"),
	},
	{
		Name: "removal-to-anybody", Promise: "G4", Says: "Who may not see an event learns its id when it is removed.",
		Edit:   Edit{"relay/outbox/removal.go", "if sight.May != nil && !sight.May(h.Conn().Keys()) {", "if false {"},
		Suites: in(suites, "TestAFeedIsAboutItsOwnReader"),
	},
	{
		Name: "removal-matches-all", Promise: "R1", Says: "A live feed is told of removals that its filter does not match.",
		Edit:   Edit{"relay/outbox/removal.go", "return !h.WantsRemoved() || !wire.MatchesAny(h.Filters(), gone)", "return !h.WantsRemoved() || h.Filters() == nil"},
		And:    []Edit{{"relay/outbox/removal.go", "\t\"fencepost/relay/wire\"\n", ""}},
		Suites: in(suites, "TestAPublishedRemovalIsForWhoAskedForTheEvent"),
	},
	{
		Name: "removal-without-grant", Promise: "G4", Says: "A removal that was queued before a revocation is taken after it.",
		Edit:   Edit{"relay/outbox/removal.go", "h.DeliverRemoved(e.Position, gone, grant)", "h.DeliverRemoved(e.Position, gone, nil)"},
		And:    []Edit{{"relay/outbox/removal.go", "\t\tgrant := sight.Grant\n\t\tif sight.Ask != nil {\n\t\t\tgrant = lifecycle.Undecided\n\t\t}\n", ""}},
		Suites: in(suites, "TestALiveRemovalIsNotToldAfterARevocation"),
	},
	{
		Name: "feed-page-of-gigabytes", Promise: "G8", Says: "A feed holds as many large events as small ones while its client does not read.",
		Edit:   Edit{"handlers/light.go", "if bytes >= pageBytes {", "if false {"},
		Suites: in("handlers", "TestAFeedTakesLargeEventsInSmallPages"),
	},
}
