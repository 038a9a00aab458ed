package mutants

// eventMutants remove what EVENT and AUTH check, and when they answer.
var eventMutants = []Mutant{
	{
		Name: "ok-before-commit", Promise: "E1", Says: "An event is acknowledged and lost when the relay dies.",
		Edit:   Edit{"handlers/commit.go", "\toutcomes := s.append(ctx, writes)\n", "\tfor _, sub := range batch[:n] {\n\t\tif sub.err == nil {\n\t\t\ts.answerEvent(sub)\n\t\t}\n\t}\n\toutcomes := s.append(ctx, writes)\n"},
		Suites: also(in("handlers", "TestNothingIsAcknowledgedBeforeItsCommit"), "TestOKComesAfterTheCommit"),
	},
	{
		Name: "failed-commit-acknowledged", Promise: "E1", Says: "An event is acknowledged although the store could not write it.",
		Edit:   Edit{"handlers/commit.go", "sub.err = out.Err", "sub.err = nil"},
		Suites: in("handlers", "TestFailedCommitIsNotAcknowledgedAndTellsNothing"),
	},
	{
		Name: "verdict-of-another", Promise: "E1", Says: "Each event of a batch gets the verdict of the first.",
		Edit:   Edit{"handlers/commit.go", "out, outcomes = outcomes[0], outcomes[1:]", "out = outcomes[0]"},
		Suites: in("handlers", "TestAVerdictOfTheStoreBelongsToItsEvent"),
	},
	{
		Name: "verification-ignored", Promise: "NIP-01", Says: "Forged events are stored.",
		Edit:   Edit{"handlers/event.go", "func() { sub.err = ev.Verify() }", "func() { _ = ev.Verify() }"},
		Suites: in("handlers", "TestIDAndSignatureAreChecked"),
	},
	{
		Name: "unverified-written", Promise: "NIP-01", Says: "Forged events are decided about and stored.",
		Edit:   Edit{"handlers/commit.go", "if sub.err != nil {\n\t\t\tcontinue\n\t\t}\n\t\tif len(writes)", "if len(writes)"},
		Suites: in("handlers", "TestIDAndSignatureAreChecked"),
	},
	{
		Name: "events-outside-the-lane", Promise: "G9", Says: "Events are committed in the order in which they were checked.",
		Edit:   Edit{"handlers/event.go", "err = s.lane.Push(ctx, sub, len(ev.Raw()), func() { sub.err = ev.Verify() })", "err = s.pool.Do(ctx, func() {\n\t\tsub.err = ev.Verify()\n\t\ts.commit(ctx, []*submission{sub})\n\t})"},
		Suites: in(suites, "TestEventsCommitInReadOrder"),
	},
	{
		Name: "event-answer-not-reserved", Promise: "G8", Says: "A client that does not read publishes and is owed more and more answers.",
		Edit:   Edit{"lifecycle/room.go", "if !c.queue.fits(1, n) {", "if false {"},
		Suites: in(suites, "TestAnswersArePaidForWhenTheyAreRead", "TestReaderStopsWhileAnAnswerDoesNotFit"),
	},
	{
		Name: "auth-event-stored", Promise: "NIP-42", Says: "An AUTH event that was published can be replayed by whoever reads it.",
		Edit:   Edit{"handlers/event.go", "if ev.Kind == nostr.KindClientAuthentication {", "if ev.Kind == nostr.KindClientAuthentication+1 {"},
		Suites: in("handlers", "TestLimitsOfAnEventAreExact"),
	},
	{
		Name: "size-unchecked", Promise: "NIP-11", Says: "Events of any size are stored.",
		Edit:   Edit{"handlers/event.go", "if err := h.checkSize(ev); err != nil {", "if err := h.checkTime(ev); err != nil {"},
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
		Edit:   Edit{"handlers/event.go", "if err := ev.Validate(); err != nil {", "if err := error(nil); err != nil {"},
		Suites: in("handlers", "TestLimitsOfAnEventAreExact"),
	},
	{
		Name: "work-unchecked", Promise: "NIP-13", Says: "Events without work are stored.",
		Edit:   Edit{"handlers/event.go", "got < most {", "got < most-1 {"},
		Suites: in("handlers", "TestWorkIsCountedInTheID"),
	},
	{
		Name: "hopeless-verified", Promise: "NIP-70", Says: "The relay checks signatures of events that it will not take.",
		Edit:   Edit{"handlers/event.go", "return h.writing.MaySubmit(keys, ev)", "return nil"},
		Suites: in("handlers", "TestHopelessEventsAreRefusedBeforeTheirSignature"),
	},
	{
		Name: "protected-in-a-repost", Promise: "NIP-70", Says: "Anybody publishes what its author has protected, inside a repost.",
		Edit:   Edit{"relay/access/submit.go", "if protected { // a repost", "if protected && false { // a repost"},
		Suites: in("handlers", "TestRepostsOfProtectedEventsAreRefused"),
	},
	{
		Name: "protected-from-anybody", Promise: "NIP-70", Says: "Any authenticated client publishes what its author has protected.",
		Edit:   Edit{"relay/access/submit.go", "ev.Protected() && !slices.Contains(keys, ev.PubKey)", "ev.Protected() && len(keys) == 0 && !slices.Contains(keys, ev.PubKey)"},
		Suites: in("handlers", "TestProtectedEventsAreTakenFromTheirAuthorOnly"),
	},
	{
		Name: "duplicate-refused", Promise: "NIP-01", Says: "A client that sends again is told that its event was refused.",
		Edit:   Edit{"handlers/verdict.go", "return true, wire.Because(wire.Duplicate", "return false, wire.Because(wire.Duplicate"},
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
		Edit:   Edit{"relay/wire/url.go", " + strings.TrimRight(u.EscapedPath(), \"/\")", ""},
		Suites: in("handlers", "TestRelayURLsAreComparedInTheirNormalForm"),
	},
	{
		Name: "auth-url-case-counts", Promise: "NIP-42", Says: "A client that spells the host in capitals cannot authenticate.",
		Edit:   Edit{"relay/wire/url.go", "strings.ToLower(strings.TrimRight(name, \".\"))", "strings.TrimRight(name, \".\")"},
		Suites: in("handlers", "TestRelayURLsAreComparedInTheirNormalForm"),
	},
	{
		Name: "auth-url-port-counts", Promise: "NIP-42", Says: "A client that names the default port cannot authenticate.",
		Edit:   Edit{"relay/wire/url.go", "scheme == \"ws\" && port == \"80\" || scheme == \"wss\" && port == \"443\"", "false"},
		Suites: in("handlers", "TestRelayURLsAreComparedInTheirNormalForm"),
	},
	{
		Name: "auth-signature-unchecked", Promise: "NIP-42", Says: "Anybody authenticates as anybody.",
		Edit:   Edit{"handlers/auth.go", "func() { bad = ev.Verify() }", "func() {}"},
		Suites: in("handlers", "TestAuthenticationNeedsATrueSignature"),
	},
	{
		Name: "auth-replaces-keys", Promise: "NIP-42", Says: "A second key on a connection puts out the first.",
		Edit:   Edit{"lifecycle/keys.go", "append(slices.Clone(keys), key)", "append(slices.Clone(keys[:0]), key)"},
		Suites: in("handlers", "TestOneConnectionHoldsSeveralKeysUpToABound"),
	},
	{
		Name: "auth-keys-unbounded", Promise: "NIP-42", Says: "A connection collects keys without end.",
		Edit:   Edit{"handlers/auth.go", "len(keys) >= maxKeys &&", "len(keys) > maxKeys &&"},
		Suites: in("handlers", "TestOneConnectionHoldsSeveralKeysUpToABound"),
	},
	{
		Name: "decided-with-later-keys", Promise: "G9", Says: "An event profits from an AUTH that was read behind it.",
		Edit:   Edit{"handlers/commit.go", "s.writing.Plan(ctx, sub.keys, sub.event)", "s.writing.Plan(ctx, s.conn.Keys(), sub.event)"},
		Suites: in("handlers", "TestAnEventIsJudgedByTheKeysThatHadAuthenticatedWhenItWasRead"),
	},
	{
		Name: "moved-is-refused", Promise: "G4", Says: "An event is refused because somebody else's permission was taken away meanwhile.",
		Edit:   Edit{"handlers/commit.go", "sub.rounds < maxRounds: // race", "sub.rounds < 1: // race"},
		Suites: also(in("handlers", "TestAnEventWhosePermissionsMoveIsDecidedAnew"), "TestAPermissionThatMovesDuringACommitIsAskedForAgain"),
	},
	{
		Name: "moved-for-ever", Promise: "G4", Says: "An event whose permissions keep moving keeps its connection busy for ever.",
		Edit:   Edit{"handlers/commit.go", "sub.rounds < maxRounds: // race", "sub.rounds < 100*maxRounds: // race"},
		Suites: in("handlers", "TestAnEventWhosePermissionsMoveIsDecidedAnew"), Hangs: true,
	},
	{
		Name: "moved-is-not-awaited", Promise: "G4", Says: "An event is planned again before the relay knows what has moved.",
		Edit:   Edit{"handlers/commit.go", "sub.err, until, moved = nil, max(until, out.Position), append(moved, sub)", "sub.err, moved = nil, append(moved, sub)"},
		Suites: in(suites, "TestAPermissionThatMovesDuringACommitIsAskedForAgain"),
	},
	{
		Name: "change-in-the-middle", Promise: "G9", Says: "Who joins and posts in one burst is told that only members may post.",
		Edit:   Edit{"handlers/commit.go", "\t\tif changes(&w) {\n", "\t\tif changes(&w) && i < 0 {\n"},
		Suites: in("handlers", "TestAChangeIsInForceBeforeTheNextMessageIsLookedAt"),
	},
	{
		Name: "change-answered-early", Promise: "G9", Says: "Who is told that it joined cannot read yet.",
		Edit:   Edit{"handlers/commit.go", "until, last = max(until, out.Last), sub", "last = sub"},
		Suites: in("handlers", "TestAChangeIsInForceBeforeTheNextMessageIsLookedAt", "TestAChangeIsAnsweredWhenItIsInForce"),
	},
	{
		Name: "runs-ahead-of-its-change", Promise: "G9", Says: "A flood goes on as if each of its changes were in force after ten seconds.",
		Edit:   Edit{"handlers/commit.go", "for s.progress.Applied() < at && ctx.Err() == nil {", "if s.progress.Applied() < at && ctx.Err() == nil {"},
		Suites: in("handlers", "TestAChangeHoldsUpItsConnectionAsLongAsItIsNotInForce"),
	},
	{
		Name: "waits-for-a-connection-that-ended", Promise: "G9", Says: "A connection that has ended waits for its change for ever.",
		Edit:   Edit{"handlers/commit.go", "for s.progress.Applied() < at && ctx.Err() == nil {", "for s.progress.Applied() < at {"},
		Suites: in("handlers", "TestTheEndOfTheConnectionEndsTheWait"), Hangs: true,
	},
	{
		Name: "looks-back-too-early", Promise: "G9", Says: "An event that refers to one of the same burst is refused because that is not stored yet.",
		Edit:   Edit{"handlers/commit.go", "if len(writes) > 0 && s.writing.LooksBack(sub.event) {", "if false {"},
		Suites: in("handlers", "TestAnEventThatLooksBackFindsTheOnesBeforeIt"),
	},
	{
		Name: "banned-key-stays", Promise: "G4", Says: "Somebody who is banned stays connected.",
		Edit:   Edit{"handlers/auth.go", "\t\ts.conn.Close(lifecycle.Cause{Code: policyViolation, Text: r.String()})\n", "\t\t_ = lifecycle.Cause{Code: policyViolation}\n"},
		Suites: also(in("handlers", "TestABannedKeyEndsTheConnection"), "TestABanCatchesAKeyThatAuthenticatesAtTheSameTime"),
	},
	{
		Name: "banned-before-the-key-is-known", Promise: "G4", Says: "A ban between the question and the key does not find the connection.",
		Edit:   Edit{"handlers/auth.go", "\ts.conn.AddKey(ev.PubKey)\n\ts.pause.At(pause.AuthAdded)\n", "\tbanned := s.writing.MayAuthenticate(ev.PubKey)\n\ts.pause.At(pause.AuthAdded)\n\ts.conn.AddKey(ev.PubKey)\n"},
		And:    []Edit{{"handlers/auth.go", "if err := s.writing.MayAuthenticate(ev.PubKey); err != nil {", "if err := banned; err != nil {"}},
		Suites: also(in("handlers", "TestAKeyIsOnTheConnectionBeforeItIsAskedAbout"), "TestABanCatchesAKeyThatAuthenticatesAtTheSameTime"),
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
