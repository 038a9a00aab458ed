package mutants

// eventMutants remove what EVENT and AUTH check, and when they answer.
var eventMutants = []Mutant{
	{
		Name: "ok-before-commit", Promise: "E1", Says: "An event is acknowledged and lost when the relay dies.",
		Edit:   Edit{"handlers/event.go", "\tvar outcomes []store.Outcome\n", "\tfor _, sub := range batch {\n\t\tif sub.err == nil {\n\t\t\ts.answerEvent(sub.answer, sub.event, nil)\n\t\t}\n\t}\n\tvar outcomes []store.Outcome\n"},
		Suites: also(in("handlers", "TestNothingIsAcknowledgedBeforeItsCommit"), "TestOKComesAfterTheCommit"),
	},
	{
		Name: "failed-commit-acknowledged", Promise: "E1", Says: "An event is acknowledged although the store could not write it.",
		Edit:   Edit{"handlers/event.go", "sub.err, outcomes = outcomes[0].Err, outcomes[1:]", "outcomes = outcomes[1:]"},
		Suites: in("handlers", "TestFailedCommitIsNotAcknowledgedAndTellsNothing"),
	},
	{
		Name: "verdict-of-another", Promise: "E1", Says: "Each event of a batch gets the verdict of the first.",
		Edit:   Edit{"handlers/event.go", "sub.err, outcomes = outcomes[0].Err, outcomes[1:]", "sub.err = outcomes[0].Err"},
		Suites: in("handlers", "TestAVerdictOfTheStoreBelongsToItsEvent"),
	},
	{
		Name: "verification-ignored", Promise: "NIP-01", Says: "Forged events are stored.",
		Edit:   Edit{"handlers/event.go", "func() { sub.err = ev.Verify() }", "func() { _ = ev.Verify() }"},
		Suites: in("handlers", "TestIDAndSignatureAreChecked"),
	},
	{
		Name: "unverified-written", Promise: "NIP-01", Says: "Forged events are stored and answered with OK false.",
		Edit:   Edit{"handlers/event.go", "if sub.err == nil {\n\t\t\twrites", "if true {\n\t\t\twrites"},
		Suites: in("handlers", "TestIDAndSignatureAreChecked"),
	},
	{
		Name: "events-outside-the-lane", Promise: "G9", Says: "Events are committed in the order in which they were checked.",
		Edit:   Edit{"handlers/event.go", "err = s.lane.Push(ctx, sub, len(ev.Raw()), func() { sub.err = ev.Verify() })", "err = s.pool.Do(ctx, func() {\n\t\tsub.err = ev.Verify()\n\t\ts.commit(ctx, []*submission{sub})\n\t})"},
		Suites: in(suites, "TestEventsCommitInReadOrder"),
	},
	{
		Name: "event-answer-not-reserved", Promise: "G8", Says: "A client that does not read publishes and is owed more and more answers.",
		Edit:   Edit{"lifecycle/room.go", "if !c.queue.fits(1, answerBytes) {", "if false {"},
		Suites: in(suites, "TestAnswersArePaidForWhenTheyAreRead", "TestReaderStopsWhileAnAnswerDoesNotFit"),
	},
	{
		Name: "auth-event-stored", Promise: "NIP-42", Says: "An AUTH event that was published can be replayed by whoever reads it.",
		Edit:   Edit{"handlers/event.go", "if ev.Kind == nostr.KindClientAuthentication {", "if ev.Kind == nostr.KindClientAuthentication+1 {"},
		Suites: in("handlers", "TestLimitsOfAnEventAreExact"),
	},
	{
		Name: "size-unchecked", Promise: "NIP-11", Says: "Events of any size are stored.",
		Edit:   Edit{"handlers/event.go", "if err := s.checkSize(ev); err != nil {", "if err := s.checkTime(ev); err != nil {"},
		Suites: in("handlers", "TestLimitsOfAnEventAreExact"),
	},
	{
		Name: "size-in-bytes", Promise: "NIP-11", Says: "Text that is not English is refused at half the length.",
		Edit:   Edit{"handlers/event.go", " && utf8.RuneCountInString(s) > most", " && utf8.ValidString(s)"},
		Suites: in("handlers", "TestLimitsOfAnEventAreExact"),
	},
	{
		Name: "past-unchecked", Promise: "NIP-11", Says: "Events are dated back further than the relay says it allows.",
		Edit:   Edit{"handlers/event.go", "at < now.Add(-l.CreatedPast).Unix()", "at < now.Add(-l.CreatedPast).Unix()-1"},
		Suites: in("handlers", "TestLimitsOfAnEventAreExact"),
	},
	{
		Name: "future-unchecked", Promise: "NIP-11", Says: "Events are dated ahead further than the relay says it allows.",
		Edit:   Edit{"handlers/event.go", "at > now.Add(l.CreatedFuture).Unix()", "at > now.Add(l.CreatedFuture).Unix()+1"},
		Suites: in("handlers", "TestLimitsOfAnEventAreExact"),
	},
	{
		Name: "expiration-unread", Promise: "NIP-40", Says: "An event whose expiration means nothing is kept for ever.",
		Edit:   Edit{"handlers/event.go", "if err := ev.Validate(); err != nil {", "if err := s.checkTime(ev); err != nil {"},
		Suites: in("handlers", "TestLimitsOfAnEventAreExact"),
	},
	{
		Name: "work-unchecked", Promise: "NIP-13", Says: "Events without work are stored.",
		Edit:   Edit{"handlers/event.go", "got < most {", "got < most-1 {"},
		Suites: in("handlers", "TestWorkIsCountedInTheID"),
	},
	{
		Name: "write-rules-not-asked", Promise: "NIP-70", Says: "Anybody publishes what its author has protected.",
		Edit:   Edit{"handlers/event.go", "return s.access.MayWrite(s.Keys(), ev)", "return nil"},
		Suites: in("handlers", "TestProtectedEventsAreTakenFromTheirAuthorOnly", "TestPublishingCanNeedAuthentication"),
	},
	{
		Name: "protected-in-a-repost", Promise: "NIP-70", Says: "Anybody publishes what its author has protected, inside a repost.",
		Edit:   Edit{"relay/access/submit.go", "if ev.EmbedsProtected() {", "if false {"},
		Suites: in("handlers", "TestRepostsOfProtectedEventsAreRefused"),
	},
	{
		Name: "protected-from-anybody", Promise: "NIP-70", Says: "Any authenticated client publishes what its author has protected.",
		Edit:   Edit{"relay/access/submit.go", "ev.Protected() && !slices.Contains(keys, ev.PubKey)", "ev.Protected() && len(keys) == 0 && !slices.Contains(keys, ev.PubKey)"},
		Suites: in("handlers", "TestProtectedEventsAreTakenFromTheirAuthorOnly"),
	},
	{
		Name: "duplicate-refused", Promise: "NIP-01", Says: "A client that sends again is told that its event was refused.",
		Edit:   Edit{"handlers/event.go", "return true, wire.Because(wire.Duplicate", "return false, wire.Because(wire.Duplicate"},
		Suites: in("handlers", "TestEveryDecisionOfTheStoreHasItsAnswer"),
	},
	{
		Name: "challenge-unchecked", Promise: "NIP-42", Says: "An AUTH event made for another connection authenticates.",
		Edit:   Edit{"handlers/auth.go", "v != s.challenge {", "v == \"\" {"},
		Suites: in("handlers", "TestAuthenticationIsChecked", "TestChallengesBelongToTheirConnection"),
	},
	{
		Name: "auth-window-unchecked", Promise: "NIP-42", Says: "An old AUTH event authenticates.",
		Edit:   Edit{"handlers/event.go", "return at >= now.Add(-window).Unix() && at <= now.Add(window).Unix()", "return at <= now.Add(window).Unix()"},
		Suites: in("handlers", "TestAuthenticationIsChecked"),
	},
	{
		Name: "auth-future-unchecked", Promise: "NIP-42", Says: "An AUTH event from the future authenticates.",
		Edit:   Edit{"handlers/event.go", " && at <= now.Add(window).Unix()", ""},
		Suites: in("handlers", "TestAuthenticationIsChecked"),
	},
	{
		Name: "auth-kind-unchecked", Promise: "NIP-42", Says: "Any signed event with the right tags authenticates.",
		Edit:   Edit{"handlers/auth.go", "if ev.Kind != nostr.KindClientAuthentication {", "if ev.Kind == nostr.KindTextNote+1 {"},
		Suites: in("handlers", "TestAuthenticationIsChecked"),
	},
	{
		Name: "auth-url-unchecked", Promise: "NIP-42", Says: "An AUTH event that another relay asked for authenticates here.",
		Edit:   Edit{"handlers/auth.go", "!s.isRelayURL(v, l.URLs)", "v == \"\" && l.URLs != nil"},
		Suites: in("handlers", "TestAuthenticationIsChecked", "TestRelayURLsAreComparedInTheirNormalForm"),
	},
	{
		Name: "auth-url-path-ignored", Promise: "NIP-42", Says: "A relay below another path of the host passes for this one.",
		Edit:   Edit{"handlers/auth.go", " + strings.TrimRight(u.EscapedPath(), \"/\")", ""},
		Suites: in("handlers", "TestRelayURLsAreComparedInTheirNormalForm"),
	},
	{
		Name: "auth-url-case-counts", Promise: "NIP-42", Says: "A client that spells the host in capitals cannot authenticate.",
		Edit:   Edit{"handlers/auth.go", "strings.ToLower(strings.TrimSuffix(u.Hostname(), \".\"))", "strings.TrimSuffix(u.Hostname(), \".\")"},
		Suites: in("handlers", "TestRelayURLsAreComparedInTheirNormalForm"),
	},
	{
		Name: "auth-url-port-counts", Promise: "NIP-42", Says: "A client that names the default port cannot authenticate.",
		Edit:   Edit{"handlers/auth.go", "scheme == \"ws\" && port == \"80\" || scheme == \"wss\" && port == \"443\"", "false"},
		Suites: in("handlers", "TestRelayURLsAreComparedInTheirNormalForm"),
	},
	{
		Name: "auth-signature-unchecked", Promise: "NIP-42", Says: "Anybody authenticates as anybody.",
		Edit:   Edit{"handlers/auth.go", "func() { bad = ev.Verify() }", "func() {}"},
		Suites: in("handlers", "TestAuthenticationNeedsATrueSignature"),
	},
	{
		Name: "auth-replaces-keys", Promise: "NIP-42", Says: "A second key on a connection puts out the first.",
		Edit:   Edit{"handlers/auth.go", "append(slices.Clone(s.Keys()), ev.PubKey)", "append(slices.Clone(s.Keys()[:0]), ev.PubKey)"},
		Suites: in("handlers", "TestOneConnectionHoldsSeveralKeysUpToABound"),
	},
	{
		Name: "auth-keys-unbounded", Promise: "NIP-42", Says: "A connection collects keys without end.",
		Edit:   Edit{"handlers/auth.go", "if len(s.Keys()) >= maxKeys &&", "if len(s.Keys()) > maxKeys &&"},
		Suites: in("handlers", "TestOneConnectionHoldsSeveralKeysUpToABound"),
	},
	{
		Name: "auth-beside-the-reader", Promise: "G9", Says: "The message behind AUTH is judged without the key.",
		Edit:   Edit{"handlers/session.go", "\t\ts.auth(ctx, m.Event)\n", "\t\ts.conn.Query(ctx, \"auth\", func(ctx context.Context) { s.auth(ctx, m.Event) })\n"},
		Suites: in(suites, "TestAuthEndsBeforeTheNextMessage"),
	},
	{
		Name: "unreadable-event-without-ok", Promise: "NIP-01", Says: "A publisher is not told that its event was refused.",
		Edit:   Edit{"handlers/session.go", "case bad.EventID != \"\":", "case false:"},
		Suites: in("handlers", "TestUndecodableMessagesAreAnsweredUnderTheNameOfWhatTheyConcern"),
	},
}
