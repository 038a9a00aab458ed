package mutants

// revokeMutants remove what keeps a revocation exact: the fences of the third
// ordering. The race suites over real permissions must notice, whatever the tests of
// the packages say.
var revokeMutants = []Mutant{
	{
		Name: "cut-counted-without-an-end", Promise: "G3", Says: "A generation that CLOSE or a newer REQ has ended is ended by the revocation once more.",
		Edit:   Edit{"relay/access/cutter.go", "if !l.handle.Evict(l.reason) {\n\t\treturn // race", "if !l.handle.Evict(l.reason) && l.handle.Current() {\n\t\treturn // race"},
		Suites: in(suites, "TestACutIsCountedOnce"),
	},
	{
		Name: "cut-unindexes-the-newer", Promise: "G3", Says: "A revocation takes the newer generation of the id out of the index.",
		Edit:   Edit{"relay/access/cutter.go", "\tc.o.Index.Remove(l.handle)\n", "\tc.o.Index.Remove(l.handle)\n\tfor _, h := range l.handle.Conn().Handles() {\n\t\tif h.ID() == l.handle.ID() {\n\t\t\tc.o.Index.Remove(h)\n\t\t}\n\t}\n"},
		Suites: in(suites, "TestARevocationSparesTheNewerGeneration"),
	},
	{
		Name: "cut-by-id", Promise: "G3", Says: "A revocation ends whatever the id stands for by then.",
		Edit:   Edit{"relay/access/cutter.go", "\tfor i := range selected {\n\t\tc.evict(&selected[i])\n", "\tfor i := range selected {\n\t\tfor _, h := range selected[i].handle.Conn().Handles() {\n\t\t\tif h.ID() == selected[i].handle.ID() {\n\t\t\t\tselected[i].handle = h\n\t\t\t}\n\t\t}\n\t\tc.evict(&selected[i])\n"},
		Suites: in(suites, "TestARevocationSparesTheNewerGeneration"),
	},
	{
		Name: "cut-keeps-the-index", Promise: "G3", Says: "What a revocation has ended is a candidate of every fan-out.",
		Edit:   Edit{"relay/access/cutter.go", "\tc.o.Index.Remove(l.handle)\n", "\tif l.handle.Current() {\n\t\tc.o.Index.Remove(l.handle)\n\t}\n"},
		Suites: in(suites, "TestARevocationCutsTheFanoutAtItsPosition", "TestARevocationAgainstCLOSELeavesNothing"),
	},
	{
		Name: "cut-takes-broad-ones", Promise: "G3", Says: "A revocation ends subscriptions that still have something to read.",
		Edit:   Edit{"relay/access/cutter.go", "\t\tif err == nil {\n\t\t\tcontinue\n\t\t}\n\t\treason :=", "\t\treason :="},
		Suites: in(suites, "TestBroadSubscriptionsStayAcrossARevocation"),
	},
	{
		Name: "cut-asks-as-a-request", Promise: "G4", Says: "Who is removed from a hidden group keeps a subscription to it.",
		Edit:   Edit{"relay/access/read.go", "\t\treturn p.groups.LostIn(group, keys, filters)\n", "\t\treturn p.groups.MayRead(keys, filters)\n"},
		Suites: in(suites, "TestARevocationCutsTheFanoutAtItsPosition"),
	},
	{
		Name: "reload-cuts-nobody", Promise: "G4", Says: "Subscriptions that new rules close stay open.",
		Edit:   Edit{"relay/access/cutter.go", "func (c *Cutter) Recheck() { c.cut(&Change{Everyone: true}) }", "func (c *Cutter) Recheck() { c.cut(&Change{}) }"},
		Suites: in(suites, "TestARevocationCutsTheFanoutAtItsPosition", "TestTheRulesOfAReloadHoldForWhatIsOpen"),
	},
	{
		Name: "membership-cuts-nobody", Promise: "G4", Says: "Who is no member of the relay any more keeps its subscriptions.",
		Edit:   Edit{"relay/access/apply.go", "case control.KeyVanished, control.MemberRemoved:\n\t\treturn Change{Keys: []string{r.Key}}\n", "case control.KeyVanished, control.MemberRemoved:\n\t\treturn Change{}\n"},
		Suites: in(suites, "TestARevocationCutsTheFanoutAtItsPosition"),
	},
	{
		Name: "kinds-cut-nobody", Promise: "G4", Says: "Subscriptions to kinds that were withdrawn stay open.",
		Edit:   Edit{"relay/access/apply.go", "case control.KindsAllowed, control.KindsDisallowed:\n\t\treturn Change{Everyone: true}\n", "case control.KindsAllowed, control.KindsDisallowed:\n\t\treturn Change{}\n"},
		Suites: in(suites, "TestARevocationCutsTheFanoutAtItsPosition"),
	},
	{
		Name: "turned-private-cuts-nobody", Promise: "G4", Says: "Who is no member of a group that turns private keeps its subscriptions to it.",
		Edit:   Edit{groups + "/apply.go", "if change.Everyone, ok = g.edit(row, m); ok {", "if _, ok = g.edit(row, m); ok {"},
		Suites: in(suites, "TestARevocationCutsTheFanoutAtItsPosition"),
	},
	{
		Name: "revocation-after-its-batch", Promise: "G4", Says: "Events from after a revocation reach the reader when they are read from the log with it.",
		Edit:   Edit{"relay/outbox/follower.go", "\tfor ; n < len(entries) && err == nil; n++ {\n", "\tslices.SortStableFunc(entries, func(a, b store.Entry) int {\n\t\treturn cmp.Compare(a.Type/store.EntryControl, b.Type/store.EntryControl)\n\t})\n\tfor ; n < len(entries) && err == nil; n++ {\n"},
		And:    []Edit{{"relay/outbox/follower.go", "import (\n", "import (\n\t\"cmp\"\n\t\"slices\"\n"}},
		Suites: in(suites, "TestWhatIsTakenBetweenTheRowsOfTheLogIsAllowed"),
	},
	{
		Name: "frames-taken-undecided", Promise: "G4", Says: "What was queued before a revocation is written after it.",
		Edit:   Edit{"lifecycle/queue.go", "if f.wanted() && q.passes(f) {", "if f.wanted() && q.passes(f) && size > maxBytes {"},
		Suites: in(suites, "TestARevocationCutsTheFanoutAtItsPosition", "TestAVanishedAuthorIsNotTakenAnyMore", "TestABannedEventIsNotTakenAnyMore"),
	},
	{
		Name: "judged-again-and-left-open", Promise: "G4", Says: "A REQ that lost its permission before it was reserved is neither ended nor live.",
		Edit:   Edit{"handlers/req.go", "\tif h.Evict(r) {\n\t\ts.metrics.SubscriptionEnded(string(r.Prefix))\n\t}\n\treturn false\n", "\ts.metrics.SubscriptionEnded(string(r.Prefix))\n\treturn false\n"},
		Suites: in(suites, "TestARevocationEndsTheNewerGenerationThatDependsOnIt"),
	},
	{
		Name: "judged-once", Promise: "G4", Says: "A REQ that is reserved after a revocation has chosen its handles outlives it.",
		Edit:   Edit{"handlers/req.go", "if !late && s.reading.Version() != version && !s.mayStill(h) {", "if s.reading.Version() < version && !s.mayStill(h) {"},
		Suites: in(suites, "TestARevocationEndsTheNewerGenerationThatDependsOnIt"),
	},
	{
		Name: "plan-without-terms", Promise: "G4", Says: "An event is stored although its author lost the permission before it was.",
		Edit:   Edit{"relay/access/plan.go", "return store.Write{Event: ev, Terms: terms}, nil", "return store.Write{Event: ev}, nil"},
		Suites: in(suites, "TestAnEventOfWhoMayNotPublishAnyMoreIsNotStored"),
	},
	{
		Name: "group-plan-without-terms", Promise: "G4", Says: "A post is stored in a group that was deleted, or that its author was removed from, before it was.",
		Edit:   Edit{"relay/access/plan.go", "Event: ev, Terms: terms, Also: effect.Also", "Event: ev, Also: effect.Also"},
		Suites: in(suites, "TestAGroupThatIsDeletedTakesNothingMore", "TestAPermissionThatMovesDuringACommitIsAskedForAgain", "TestAJoinAgainstTheDeletionOfItsGroup"),
	},
	{
		Name: "join-without-terms", Promise: "NIP-43", Says: "A key that is banned while it joins is a member.",
		Edit:   Edit{"relay/access/members.go", "\tw.Terms = terms\n\tif slot", "\tif slot"},
		Suites: in(suites, "TestWhoIsBannedMeanwhileDoesNotJoin"),
	},
	{
		Name: "vanish-erases-nothing", Promise: "NIP-62", Says: "What is on its way when its author vanishes is stored and served.",
		Edit:   Edit{"relay/access/vanish.go", "\tw.Erase = &store.Erasure{Author: ev.PubKey, Until: until, Cause: store.CauseVanished}\n", ""},
		Suites: in(suites, "TestARequestToVanishAgainstAPublication"),
	},
	{
		Name: "vanished-is-shown", Promise: "NIP-62", Says: "Until it is erased, what its author wants to be gone is served.",
		Edit:   Edit{"relay/access/sight.go", "return len(p.state.vanished) > 0 && p.hasVanishedLocked(ev)", "return len(p.state.vanished) < 0 && p.hasVanishedLocked(ev)"},
		Suites: in(suites, "TestARequestToVanishAgainstAPublication", "TestAVanishedAuthorIsNotTakenAnyMore"),
	},
	{
		Name: "count-answered-as-it-was", Promise: "G4", Says: "A COUNT whose snapshot is older than a revocation counts what that has hidden.",
		Edit:   Edit{"handlers/count.go", "\ts.pause.At(pause.ReqSnapshot)\n\tif err := s.caughtUp(ctx); err != nil {\n\t\treturn 0, false, err\n\t}\n", "\ts.pause.At(pause.ReqSnapshot)\n"},
		Suites: in(suites, "TestACOUNTDuringARevocationCountsWhatIsLeft"),
	},
	{
		Name: "count-of-everything", Promise: "NIP-45", Says: "COUNT tells how much there is in a group that the reader may not read.",
		Edit:   Edit{"relay/access/visible.go", "\tif !p.canHide(keys, filters) {\n", "\tif !p.canHide(keys, filters) || len(keys) > 0 {\n"},
		Suites: in(suites, "TestACOUNTDuringARevocationCountsWhatIsLeft"),
	},
	{
		Name: "leave-answered-early", Promise: "G9", Says: "Who is told that it has left still reads.",
		Edit:   Edit{"handlers/commit.go", "\ts.inForce(ctx, until)\n\tif last != nil {\n\t\ts.answerEvent(last)\n\t}\n", "\tif last != nil {\n\t\ts.answerEvent(last)\n\t}\n\ts.inForce(ctx, until)\n"},
		Suites: in(suites, "TestALeaveEndsItsOwnSubscriptionsBeforeItIsAnswered"),
	},
	{
		Name: "reconnection-not-asked-about", Promise: "G4", Says: "A banned key that connects again is let in.",
		Edit:   Edit{"handlers/auth.go", "\tif err := s.writing.MayAuthenticate(ev.PubKey); err != nil {\n", "\tif err := s.writing.MayAuthenticate(ev.PubKey); err != nil && len(s.conn.Handles()) > 0 {\n"},
		Suites: in(suites, "TestABanDuringAReconnectionLetsNobodyIn"),
	},
}
