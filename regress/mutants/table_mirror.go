package mutants

// mirrorMutants remove the fences of mirrors (P1, P6, P8).
var mirrorMutants = []Mutant{
	{
		Name: "mirror-event-unfenced", Promise: "P6", Says: "Events are taken in without a look at the fence.",
		Edit:   Edit{"relay/mirror/down.go", "&store.Fence{Stream: s.stream, Token: s.token})", "nil)"},
		Suites: in("relay/mirror", "TestAPausedOwnerAdmitsNothingAfterItsSuccessor"),
	},
	{
		Name: "mirror-goes-on", Promise: "P6", Says: "Who has lost a mirror goes on working.",
		Edit:   Edit{"relay/mirror/mirror.go", "\th.group.Cancel()\n\treturn true", "\treturn true"},
		Suites: in("relay/mirror", "TestAPausedOwnerAdmitsNothingAfterItsSuccessor"),
	},
	{
		Name: "mirror-cursor-not-kept", Promise: "P8", Says: "A successor begins anew.",
		Edit:   Edit{"relay/mirror/mirror.go", ", Cursor: h.at.get().encode()}", "}"},
		Suites: in("relay/mirror", "TestASuccessorGoesOnWhereTheOwnerWas"),
	},
	{
		Name: "mirror-not-given-up", Promise: "P5", Says: "An owner that ends in order leaves its lease behind.",
		Edit:   Edit{"relay/mirror/mirror.go", "\tif err == nil {\n\t\terr = h.write(ctx, &store.Fence{Stream: h.stream, Change:", "\tif false {\n\t\terr = h.write(ctx, &store.Fence{Stream: h.stream, Change:"},
		Suites: in("relay/mirror", "TestAnOwnerThatEndsGivesTheStreamUp"),
	},
	{
		Name: "mirror-believes-upstream", Promise: "P15", Says: "Private events go up.",
		Edit:   Edit{"relay/mirror/up.go", " || !s.opt.Public(ev)", ""},
		Suites: in("relay/mirror", "TestAnUpstreamThatRefuses"),
	},
	{
		Name: "mirror-skips-what-fails", Promise: "P10", Says: "An event that failed upstream is not tried again.",
		Edit:   Edit{"relay/mirror/up.go", "case verdict == later && try < maxTries || verdict == slower:", "case verdict == slower:"},
		Suites: in("relay/mirror", "TestAnUpstreamThatRefuses"),
	},
	{
		Name: "mirror-hides-a-gap", Promise: "R2", Says: "A position that the log has lost is gone on from.",
		Edit:   Edit{"relay/mirror/up.go", "c.Sent+1 >= info.Floor && c.Sent <= info.Head", "true"},
		Suites: in("relay/mirror", "TestWhereTheLogIsFollowedFrom"),
	},
	{
		Name: "mirror-echoes", Promise: "P8", Says: "What is being taken in goes up again.",
		Edit:   Edit{"relay/mirror/down.go", "\ts.known.add(ev.ID) // before", "\tdefer s.known.add(ev.ID) // before"},
		Suites: in("relay/mirror", "TestAnEventIsNotSentBackWhileItIsTakenIn"),
	},
	{
		Name: "mirror-forgets-what-failed", Promise: "P10", Says: "An event that could not be saved counts as known.",
		Edit:   Edit{"relay/mirror/down.go", "\tcase reason.Prefix == wire.Failed:\n\t\ts.known.remove(ev.ID)\n", "\tcase reason.Prefix == wire.Failed:\n"},
		Suites: in("relay/mirror", "TestAnEventThatCannotBeSavedIsNotForgotten"),
	},
	{
		Name: "mirror-repeats-poison", Promise: "P10", Says: "An event on which the upstream ends the connection is offered for ever.",
		Edit:   Edit{"relay/mirror/up.go", "if breaks >= maxBreaks {", "if breaks < 0 {"},
		Suites: in("relay/mirror", "TestAnEventThatBreaksConnectionsIsLeftOut"),
	},
	{
		Name: "sync-keeps-what-is-gone", Promise: "R2", Says: "A client that begins anew keeps what the relay does not have any more.",
		Edit:   Edit{"relay/client/fetch.go", "range gone {", "range gone[:0] {"},
		Suites: in("relay/client", "TestSyncComparesWhereTheRelayReconciles"),
	},
	{
		Name: "mirror-waits-for-itself", Promise: "P10", Says: "Events on their way up take the room of those that come down.", Hangs: true,
		Edit:   Edit{"relay/mirror/up.go", "work{s.giving, s.offer}, nil)", "work{s.taking, s.offer}, nil)"},
		Suites: in("relay/mirror", "TestBothDirectionsAtOnceDoNotBlockEachOther"),
	},
	{
		Name: "mirror-page-cuts-a-second", Promise: "P8", Says: "A page that ends within a second loses the rest of it.",
		Edit:   Edit{"relay/mirror/page.go", "\t\t\tuntil = oldest\n\t\t\tclear(seen)", "\t\t\tuntil = oldest - 1\n\t\t\tclear(seen)"},
		Suites: in("relay/mirror", "TestPagesLoseNothingOfASecond"),
	},
	{
		Name: "mirror-takes-what-was-not-asked", Promise: "P10", Says: "An upstream that gives the newest whatever is asked is asked for ever.", Hangs: true,
		Edit:   Edit{"relay/mirror/page.go", "\t\tpage = within(page, lo, until)\n", ""},
		Suites: in("relay/mirror", "TestAPageOfAnUpstreamEndsWhateverItSends"),
	},
	{
		Name: "mirror-second-without-end", Promise: "P10", Says: "An upstream that has always more of one second is asked for ever.",
		Edit:   Edit{"relay/mirror/page.go", ", oldest == until && len(seen) >= mostOfPage", ""},
		Suites: in("relay/mirror", "TestAPageOfAnUpstreamEndsWhateverItSends"),
	},
	{
		Name: "mirror-page-without-end", Promise: "P10", Says: "A page takes as much memory as the upstream sends.",
		Edit:   Edit{"relay/mirror/session.go", "len(page) >= mostOfPage", "false"},
		Suites: in("relay/mirror", "TestAPageOfAnUpstreamEndsWhateverItSends"),
	},
	{
		Name: "mirror-waits-for-auth", Promise: "P10", Says: "An upstream that does not answer an AUTH is waited for.",
		Edit:   Edit{"relay/mirror/session.go", "context.WithTimeout(s.group.Context(), s.opt.Patience)", "context.WithCancel(s.group.Context())"},
		Suites: in("relay/mirror", "TestAnUpstreamThatDoesNotAnswerIsLeft"),
	},
	{
		Name: "mirror-waits-for-what-it-lacks", Promise: "P10", Says: "An upstream that does not give what it said it has is waited for.",
		Edit:   Edit{"relay/mirror/reconcile.go", "context.WithTimeout(ctx, s.opt.Patience)", "context.WithCancel(ctx)"},
		Suites: in("relay/mirror", "TestAnUpstreamThatDoesNotAnswerIsLeft"),
	},
	{
		Name: "mirror-waits-for-ok", Promise: "P10", Says: "An event that is not answered holds up all that follow.",
		Edit:   Edit{"relay/mirror/up.go", "context.WithTimeout(ctx, s.opt.Patience)", "context.WithCancel(ctx)"},
		Suites: in("relay/mirror", "TestAnEventThatIsNotAnsweredHoldsUpNothing"),
	},
	{
		Name: "mirror-waits-for-the-last-word", Promise: "P5", Says: "An upstream that does not listen keeps a stream from being given up.",
		Edit:   Edit{"relay/mirror/session.go", "\t\treturn c.Abort()\n", "\t\treturn c.Close()\n"},
		Suites: in("relay/mirror", "TestAnUpstreamThatIsDeafDelaysNoSuccessor"),
	},
	{
		Name: "mirror-vouches", Promise: "P15", Says: "On a relay of members a mirror brings in what strangers wrote.",
		Edit:   Edit{"relay/access/submit.go", "key != p.self && p.isMemberLocked(key)", "p.isMemberLocked(key)"},
		Suites: in("relay/access", "TestWhoMayPublish"),
	},
	{
		Name: "mirror-believes-a-forged-id", Promise: "P10", Says: "A forged event counts as the one whose id it bears.",
		Edit:   Edit{"relay/mirror/down.go", "\t\ts.known.remove(ev.ID) // it may be a forgery of one that comes yet\n", ""},
		Suites: in("relay/mirror", "TestAForgedEventDoesNotHideTheRealOne"),
	},
	{
		Name: "mirror-page-of-any-size", Promise: "P10", Says: "A page takes as much memory as its events are large.",
		Edit:   Edit{"relay/mirror/session.go", "size >= mostBytes", "size < 0"},
		Suites: in("relay/mirror", "TestAPageOfAnUpstreamEndsWhateverItSends"),
	},
	{
		Name: "mirror-remembers-a-closed-page", Promise: "P10", Says: "What comes of a question that the upstream has closed holds up the answers to others.",
		Edit:   Edit{"relay/mirror/session.go", "\t\t\ts.forget(id)\n\t\t\treturn nil, false, &client.Refusal", "\t\t\treturn nil, false, &client.Refusal"},
		Suites: in("relay/mirror", "TestWhatComesAfterACLOSEDIsPassedOver"),
	},
	{
		Name: "mirror-remembers-a-closed-subscription", Promise: "P10", Says: "What comes of a subscription that the upstream has closed holds up its answers.",
		Edit:   Edit{"relay/mirror/down.go", "s.forget(id) // or what", "defer s.forget(id) // or what"},
		Suites: in("relay/mirror", "TestWhatComesAfterACLOSEDIsPassedOver"),
	},
	{
		Name: "sync-page-without-end", Promise: "R2", Says: "A page of a client's sync takes as much memory as the relay sends.",
		Edit:   Edit{"relay/client/fetch.go", "len(page) >= 2*maxPage", "len(page) < 0"},
		Suites: in("relay/client", "TestSyncTakesNoPageWithoutEnd"),
	},
}
