package mutants

// accessMutants remove what permissions rest on: the order of state and scopes,
// the terms of writes, and who is cut.
var accessMutants = []Mutant{
	{
		Name: "grant-for-ever", Promise: "G4", Says: "An event that was open once stays open whatever is applied.",
		Edit:   Edit{"relay/access/policy.go", "if g := p.public.Load(); g.Holds() {", "if g := p.public.Load(); g != nil {"},
		Suites: in("relay/access", "TestWhatHidesEndsTheGrant"),
	},
	{
		Name: "grant-outlives-what-hides", Promise: "G4", Says: "Queued frames of a vanished author or a withdrawn kind are sent.",
		Edit:   Edit{"relay/access/apply.go", "if hides(row.Type) {", "if false {"},
		Suites: in("relay/access", "TestWhatHidesEndsTheGrant"),
	},
	{
		Name: "grant-outlives-a-reload", Promise: "G4", Says: "Frames that other rules close are sent.",
		Edit:   Edit{"relay/access/policy.go", "\tp.local.Move(p.local.Epoch() + 1)\n\tp.common", "\tp.common"},
		Suites: in("relay/access", "TestWhatHidesEndsTheGrant"),
	},
	{
		Name: "relay-scope-stands", Promise: "G4", Says: "A row that names the relay ends no grant.",
		Edit:   Edit{"relay/access/apply.go", "if scope == ScopeRelay {", "if scope == ScopeClaims {"},
		Suites: in("relay/access", "TestWhatHidesEndsTheGrant"),
	},
	{
		Name: "grant-without-its-group", Promise: "G4", Says: "A queued event of a group is sent to somebody who was removed from it.",
		Edit:   Edit{"relay/access/sight.go", "if len(scopes) > 0 {", "if len(scopes) > 9 {"},
		Suites: in("relay/access", "TestWhatHidesEndsTheGrant", "TestAFrameOfARevokedReaderIsNotTakenWhileHandlesAreChosen"),
	},
	{
		Name: "version-stands", Promise: "G4", Says: "A REQ that was judged before a revocation outlives it.",
		Edit:   Edit{"relay/access/apply.go", "\tp.version.Add(1)\n", ""},
		Suites: in("relay/access", "TestARevocationAndAREQNeverMissEachOther"),
	},
	{
		Name: "epochs-forgotten", Promise: "G4", Says: "Nothing that is planned after the first revocation of a key can be committed.",
		Edit:   Edit{"relay/access/apply.go", "p.state.epochs[scope] = e.Position", "_ = scope"},
		Suites: in("relay/access", "TestKindsAreAllowedAndWithdrawn"),
	},
	{
		Name: "terms-without-who-submits", Promise: "G4", Says: "A key that is banned meanwhile still publishes through its connection.",
		Edit:   Edit{"relay/access/plan.go", "if key != ev.PubKey {", "if key == ev.PubKey {"},
		Suites: in("relay/access", "TestPlanRestsOnTheRelayTheAuthorAndWhoSubmits"),
	},
	{
		Name: "terms-without-groups", Promise: "G4", Says: "A member who is removed meanwhile still publishes in the group.",
		Edit:   Edit{"relay/access/plan.go", "append(p.termsOf(scopes...), p.groups.Terms(ev)...)", "p.termsOf(scopes...)"},
		Suites: in("relay/access", "TestPlanRestsOnTheRelayTheAuthorAndWhoSubmits"),
	},
	{
		Name: "terms-of-claims-missing", Promise: "NIP-43", Says: "Nobody notices that a code was used up by somebody else.",
		Edit:   Edit{"relay/access/members.go", "\tif slot != \"\" {\n", "\tif slot == \"-\" {\n"},
		Suites: in("relay/access", "TestJoinIsRefused", "TestACodeAdmitsAsManyAsItHasUses"),
	},
	{
		Name: "joins-hinder-each-other", Promise: "NIP-43", Says: "Of five who join with one code at once some are refused.",
		Edit:   Edit{"relay/access/slot.go", "return slotPrefix + strconv.Itoa(n) + \":\" + code", "return slotPrefix + strconv.Itoa(0*n) + \":\" + code"},
		Suites: in("relay/access", "TestJoinsDoNotHinderEachOther"),
	},
	{
		Name: "slot-forgotten", Promise: "NIP-43", Says: "A use of a code that was taken is taken for free, and the code runs dry early.",
		Edit:   Edit{"relay/access/apply.go", "\t\tp.state.take(scope)\n", ""},
		Suites: in("relay/access", "TestAUseThatWasTakenIsNotTriedAgain"),
	},
	{
		Name: "ban-rests-on-its-key", Promise: "NIP-86", Says: "A key that floods the relay with requests to vanish cannot be banned.",
		Edit:   Edit{"relay/access/operate.go", "\treturn p.removeMember(control.Row{Type: control.KeyBanned, Key: key, Reason: reason})", "\tterms := p.termsOf(key)\n\tw, err := p.removeMember(control.Row{Type: control.KeyBanned, Key: key, Reason: reason})\n\tw.Terms = terms\n\treturn w, err"},
		Suites: in("relay/access", "TestTheOperatorWinsAgainstWhateverAKeyDoes"),
	},
	{
		Name: "vanishing-again", Promise: "NIP-62", Says: "A flood of requests to vanish is a flood of control rows.",
		Edit:   Edit{"relay/access/vanish.go", "if p.hasVanished(ev) {", "if false {"},
		Suites: in("relay/access", "TestARequestToVanishThatIsNotNewerChangesNothing"),
	},
	{
		Name: "list-not-followed", Promise: "NIP-43", Says: "The list of members stays as it was at the start.",
		Edit:   Edit{"relay/access/apply.go", "\tp.listChanged()\n", ""},
		Suites: in("relay/access", "TestTheListOfMembersFollowsThem"),
	},
	{
		Name: "list-that-is-not-newer", Promise: "NIP-43", Says: "Of two lists of one second the first may stay.",
		Edit:   Edit{"relay/access/list.go", "ev.CreatedAt = max(ev.CreatedAt, stored.CreatedAt+1)", "ev.CreatedAt = max(ev.CreatedAt, stored.CreatedAt)"},
		Suites: in("relay/access", "TestTheListOfMembersFollowsThem"),
	},
	{
		Name: "list-in-a-flood", Promise: "NIP-43", Says: "Every join writes a list of all members.",
		Edit:   Edit{"relay/access/scribe.go", "\t\t\tlifecycle.Rest(ctx, pace)\n", ""},
		Suites: in("relay/access", "TestTheListOfMembersFollowsThem"),
	},
	{
		Name: "claim-never-used-up", Promise: "NIP-43", Says: "A code for one admits everybody.",
		Edit:   Edit{"relay/access/state.go", "\t\tc.used++\n", "\t\t_ = c.used\n"},
		Suites: in("relay/access", "TestJoinIsRefused"),
	},
	{
		Name: "join-passed-on", Promise: "NIP-43", Says: "Subscribers read invite codes.",
		Edit:   Edit{"relay/access/members.go", "\tw.Terms = terms\n\tif slot", "\tw.Terms, w.Event = terms, ev\n\tif slot"},
		Suites: in("relay/access", "TestAnInviteCodeMakesAMember"),
	},
	{
		Name: "join-without-proof", Promise: "NIP-43", Says: "Whoever has seen a request can send it again.",
		Edit:   Edit{"relay/access/members.go", "if !ev.Protected() {", "if false {"},
		Suites: in("relay/access", "TestJoinIsRefused", "TestMembersLeave"),
	},
	{
		Name: "row-applied-twice", Promise: "O16", Says: "A restart uses claims up.",
		Edit:   Edit{"relay/access/apply.go", "return at <= p.state.applied", "return at < p.state.applied"},
		Suites: in("relay/access", "TestARowIsAppliedOnce"),
	},
	{
		Name: "unreadable-row-passed-over", Promise: "O16", Says: "What lies behind a ban that this version cannot read is served.",
		Edit:   Edit{"relay/access/apply.go", "return Change{}, fmt.Errorf(\"row %d: %w\", e.Position, err)\n\t}\n\tc, err", "return Change{}, nil\n\t}\n\tc, err"},
		Suites: in("relay/access", "TestARowThatCannotBeReadChangesNothing", "TestARowThatCannotBeReadCutsNobody"),
	},
	{
		Name: "private-kinds-for-all", Promise: "NIP-17", Says: "Everybody gets direct messages and gift wraps.",
		Edit:   Edit{"relay/access/sight.go", "if isPrivate(ev.Kind) {", "if isPrivate(-ev.Kind) {"},
		Suites: in("relay/access", "TestWhoMaySeeAnEvent"),
	},
	{
		Name: "private-kinds-counted", Promise: "NIP-17", Says: "COUNT tells how many messages somebody gets.",
		Edit:   Edit{"relay/access/visible.go", "isPrivate(kind) && !p.isOwnLocked(keys, f) || ", ""},
		Suites: in("relay/access", "TestVisibleIsNilOnlyWhenNothingCanBeHidden"),
	},
	{
		Name: "banned-key-reads", Promise: "G4", Says: "Between AUTH and the end of its connection a banned key reads what is for it.",
		Edit:   Edit{"relay/access/read.go", "if len(p.state.banned) == 0 || ", "if len(p.state.banned) >= 0 || "},
		Suites: in("relay/access", "TestAnyKeyOfTheReaderWillDo"),
	},
	{
		Name: "banned-key-authenticates", Promise: "G4", Says: "A key that was banned before AUTH stays connected.",
		Edit:   Edit{"relay/access/submit.go", "\tif p.isBannedLocked(key) {\n\t\treturn whyBanned\n\t}\n\treturn nil", "\treturn nil"},
		Suites: in("relay/access", "TestBannedKeysDoNotAuthenticate", "TestABanAndAnAuthenticationNeverMissEachOther"),
	},
	{
		Name: "banned-key-stays-a-member", Promise: "NIP-86", Says: "A banned key stays on the list of members.",
		Edit:   Edit{"relay/access/state.go", "\tdelete(s.members, r.Key)\n\tswitch", "\tswitch"},
		Suites: in("relay/access", "TestBanningAKeyTakesItOffTheMembers"),
	},
	{
		Name: "vanish-needs-permission", Promise: "NIP-62", Says: "Somebody who is banned cannot vanish.",
		Edit:   Edit{"relay/access/plan.go", "\tif p.vanishesHere(ev) {\n", "\tif p.vanishesHere(ev) && p.mayPublish(keys, ev) == nil {\n"},
		Suites: in("relay/access", "TestARequestToVanishIsObeyedWhoeverAsks"),
	},
	{
		Name: "vanish-shows-gift-wraps", Promise: "NIP-62", Says: "Gift wraps to a key that has vanished are served until they are erased.",
		Edit:   Edit{"relay/access/sight.go", "if ev.Kind != store.KindGiftWrap {", "if ev.Kind != store.KindGiftWrap || ev.Kind > 0 {"},
		Suites: in("relay/access", "TestWhoMaySeeAnEvent"),
	},
	{
		Name: "vanish-promised-by-mistake", Promise: "NIP-62", Says: "A relay without a URL says OK to a request to vanish and does nothing.",
		Edit:   Edit{"relay/access/vanish.go", "ev.Kind == kindVanish && len(p.rules.URLs) == 0", "ev.Kind == kindVanish && len(p.rules.URLs) < 0"},
		Suites: in("relay/access", "TestARequestToVanishElsewhereIsAnEventLikeAnother"),
	},
	{
		Name: "one-closed-filter-refuses-all", Promise: "NIP-42", Says: "A REQ is refused for one filter of several.",
		Edit:   Edit{"relay/access/read.go", "\t\tif err == nil {\n\t\t\treturn nil\n\t\t}\n", "\t\tif err == nil {\n\t\t\tcontinue\n\t\t}\n"},
		Suites: in("relay/access", "TestWhichFiltersAreClosed"),
	},
	{
		Name: "evicts-what-is-still-allowed", Promise: "G3", Says: "A revocation ends broad subscriptions.",
		Edit:   Edit{"relay/access/cutter.go", "if err == nil {\n\t\t\tcontinue\n\t\t}\n\t\treason", "if err == nil && change == nil {\n\t\t\tcontinue\n\t\t}\n\t\treason"},
		Suites: in("relay/access", "TestRemovalFromAGroupEndsWhatDependedOnIt"),
	},
	{
		Name: "state-of-a-group-not-cut", Promise: "G4", Says: "Who was removed keeps a subscription to the members' list of a hidden group.",
		Edit:   Edit{"relay/access/cutter.go", "f.AsksFor(\"h\", c.Group) || f.AsksFor(\"d\", c.Group)", "f.AsksFor(\"h\", c.Group)"},
		Suites: in("relay/access", "TestRemovalFromAGroupEndsWhatAsksForItsState"),
	},
	{
		Name: "count-of-a-lost-group", Promise: "G4", Says: "COUNT tells how much there is in a group that its reader was removed from.",
		Edit:   Edit{"relay/access/tally.go", "stands = stands && (may == nil || may(held))", "stands = stands && (may == nil || may(held) || true)"},
		Suites: in("relay/access", "TestACountStandsUnlessItsReaderHasLostSomething"),
	},
	{
		Name: "closed-counts-as-empty", Promise: "NIP-45", Says: "COUNT says 0 of what is closed while it is counted.",
		Edit:   Edit{"handlers/count.go", "\t\terr = s.reading.MayRead(keys, filters) // race", "\t\t_ = s.reading.MayRead(keys, filters) // race"},
		Suites: also(in("handlers", "TestACountIsRefusedThatIsClosedMeanwhile"), "TestACOUNTOfWhatIsClosedWhileItIsCountedIsRefused"),
	},
	{
		Name: "count-starved", Promise: "NIP-45", Says: "Somebody who joins and leaves a group again and again keeps everybody from counting.",
		Edit:   Edit{"relay/access/tally.go", "t.full && p.Version() != t.version", "p.Version() != t.version"},
		Suites: in("relay/access", "TestACountStandsUnlessItsReaderHasLostSomething"),
	},
	{
		Name: "count-rests-on-nothing-common", Promise: "G4", Says: "A kind that is withdrawn is counted.",
		Edit:   Edit{"relay/access/apply.go", "if isCommon(row.Type) {", "if false {"},
		Suites: in("relay/access", "TestACountStandsUnlessItsReaderHasLostSomething"),
	},
	{
		Name: "vanished-keeps-hidden-groups", Promise: "G4", Says: "A subscription to a hidden group outlives the membership of a key that vanished.",
		Edit:   Edit{"relay/access/apply.go", "\tchange.Hidden = c.Hidden\n", ""},
		Suites: in("relay/access", "TestVanishingEndsWhatAskedForHiddenGroupsOfTheKey"),
	},
	{
		Name: "vanished-learns-of-other-groups", Promise: "NIP-29", Says: "A CLOSED tells whoever vanishes that there is a hidden group.",
		Edit:   Edit{"relay/access/read.go", "if slices.Contains(hidden, id) {", "if len(hidden) > 0 {"},
		Suites: in("relay/access", "TestVanishingEndsWhatAskedForHiddenGroupsOfTheKey"),
	},
	{
		Name: "looks-at-everybody", Promise: "G3", Says: "A revocation of one member costs all connections.",
		Edit:   Edit{"relay/access/cutter.go", "concerned := change.Everyone ||", "concerned := true ||"},
		Suites: in("relay/access", "TestABanEndsEveryConnectionOfTheKeyAndNoOther"),
	},
	{
		Name: "evicted-stays-indexed", Promise: "G3", Says: "A subscription that was cut stays in the index.",
		Edit:   Edit{"relay/access/cutter.go", "\tc.o.Index.Remove(l.handle)\n", ""},
		Suites: in("relay/access", "TestRemovalFromAGroupEndsWhatDependedOnIt"),
	},
	{
		Name: "replacement-cut", Promise: "G3", Says: "A newer REQ of the same id is cut in place of the one that was chosen.",
		Edit:   Edit{"relay/access/cutter.go", "\tif !l.handle.Evict(l.reason) {\n\t\treturn", "\tfor _, h := range l.handle.Conn().Handles() {\n\t\tif h.ID() == l.handle.ID() {\n\t\t\tl.handle = h\n\t\t}\n\t}\n\tif !l.handle.Evict(l.reason) {\n\t\treturn"},
		Suites: in("relay/access", "TestReplacementBeforeBetweenAndAfterAnEvictionSurvivesIt"),
	},
	{
		Name: "ban-without-end", Promise: "G4", Says: "The connections of a banned key go on.",
		Edit:   Edit{"relay/access/cutter.go", "case change.Ban:", "case change.Ban && len(keys) < 0:"},
		Suites: in("relay/access", "TestABanEndsEveryConnectionOfTheKeyAndNoOther", "TestABlockedNetworkEndsItsConnections"),
	},
	{
		Name: "control-row-of-the-future", Promise: "O16", Says: "A row that a newer version wrote is read as far as it can be.",
		Edit:   Edit{"relay/access/control/encode.go", "case v.Version > Version:", "case v.Version > Version+1:"},
		Suites: in("relay/access/control", "TestDecodeRefusesWhatThisVersionDoesNotWrite"),
	},
	{
		Name: "control-row-without-its-fields", Promise: "O13", Says: "A ban of nobody is committed.",
		Edit:   Edit{"relay/access/control/check.go", "missing != 0 {", "missing == 1<<15 {"},
		Suites: in("relay/access/control", "TestRowWithoutWhatItsTypeNeedsIsNeitherWrittenNorRead"),
	},
}
