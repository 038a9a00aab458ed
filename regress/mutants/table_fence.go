package mutants

// Where the fences of publishers are tested.
const (
	fencePkg   = "lifecycle/fence"
	kvPkg      = "lifecycle/fence/kv"
	fenceModel = "TestAFenceDoesWhatItsHistorySays"
)

// fenceMutants remove what keeps two owners of a stream apart.
var fenceMutants = []Mutant{
	{
		Name: "claim-ignores-the-owner", Promise: "P1", Says: "A stream is taken from an owner whose lease runs.",
		Edit:   Edit{"lifecycle/fence/state.go", "case !s.Free(now) && c.Expected != s.Token:", "case false && c.Expected != s.Token:"},
		Suites: in(fencePkg, fenceModel),
	},
	{
		Name: "revoked-fence-renewed", Promise: "P2", Says: "A fence that was revoked is active again without a fresh token.",
		Edit:   Edit{"lifecycle/fence/state.go", "case !s.Active:\n\t\treturn s, s.refuse(FailedPrecondition, \"the fence was revoked; claim", "case false:\n\t\treturn s, s.refuse(FailedPrecondition, \"the fence was revoked; claim"},
		Suites: in(fencePkg, fenceModel),
	},
	{
		Name: "used-token-claims", Promise: "P3", Says: "A token that was replaced is admitted again.",
		Edit:   Edit{"lifecycle/fence/state.go", "case s.used(c.New):", "case s.used(c.New) && false:"},
		Suites: in(fencePkg, fenceModel),
	},
	{
		Name: "admission-renews-nothing", Promise: "P4", Says: "An owner that publishes all the time is replaced.",
		Edit:   Edit{"lifecycle/fence/state.go", "return s.renewed(s.Lease, now), number, nil", "return s, number, nil"},
		Suites: in(fencePkg, fenceModel),
	},
	{
		Name: "replaced-token-admitted", Promise: "P6", Says: "An owner that was replaced goes on publishing.",
		Edit:   Edit{"lifecycle/fence/state.go", "case t != s.Token:", "case false && t != s.Token:"},
		Suites: in(fencePkg, fenceModel),
	},
	{
		Name: "frame-unguarded", Promise: "P6", Says: "The embedded store writes a frame whatever its fence says.",
		Edit:   Edit{"relay/store/embedded/txn.go", "if refused, err := t.barred(f); err != nil || refused != nil {", "if refused, err := t.barred(nil); err != nil || refused != nil {"},
		Suites: in("relay/store/embedded", "TestFencesKeepTheContract"),
	},
	{
		Name: "fence-blind-to-its-commit", Promise: "P8", Says: "Two frames of one commit have one number.",
		Edit:   Edit{"relay/store/embedded/fence.go", "e.state, e.dirty = next, true", "t.set(e.key, next.Append(nil))"},
		Suites: in("relay/store/embedded", "TestFencesKeepTheContract"),
	},
	{
		Name: "duplicate-asks-the-fence", Promise: "P16", Says: "Who lost the reply is told that the frame was not admitted.",
		Edit:   Edit{"relay/store/embedded/txn.go", "\tif len(value) > 0 {\n\t\treturn store.Outcome{Position", "\tif refused, err := t.barred(f); err != nil || refused != nil {\n\t\treturn store.Outcome{Err: refused}, err\n\t}\n\tif len(value) > 0 {\n\t\treturn store.Outcome{Position"},
		Suites: in("relay/store/embedded", "TestFencesKeepTheContract"),
	},
	{
		Name: "streams-without-number", Promise: "P9", Says: "One key fills the store with streams.",
		Edit:   Edit{"relay/store/fence.go", "if err == nil && n >= MaxStreams {", "if err == nil && n < 0 {"},
		Suites: append(in("relay/store/embedded", "TestFencesKeepTheContract"), in("relay/store/postgres", "TestFencesKeepTheContract")...),
	},
	{
		Name: "database-frame-unguarded", Promise: "P6", Says: "PostgreSQL takes a frame whatever its fence says.",
		Edit:   Edit{"relay/store/postgres/txn.go", "if _, err := t.fences.apply(f, true, false); err != nil {", "if _, err := t.fences.apply(nil, true, false); err != nil {"},
		Suites: in("relay/store/postgres", "TestFencesKeepTheContract"),
	},
	{
		Name: "database-fence-not-in-the-commit", Promise: "P7", Says: "A frame is stored, and its fence stays as it was.",
		Edit:   Edit{"relay/store/postgres/fence.go", "if len(s.changed) == 0 {", "if len(s.changed) >= 0 {"},
		Suites: in("relay/store/postgres", "TestFencesKeepTheContract"),
	},
	{
		Name: "lease-by-another-clock", Promise: "P14", Says: "A replica whose clock is wrong takes a stream from its owner.",
		Edit:   Edit{"relay/store/postgres/fence.go", "f.Apply(before, event, s.now, func()", "f.Apply(before, event, s.now.Add(5*time.Hour), func()"},
		Suites: in("relay/store/postgres", "TestLeasesAreJudgedByTheClockOfTheDatabase"),
	},
	{
		Name: "old-fence-decides", Promise: "P6", Says: "A frame is admitted by what its fence was before another replica claimed.",
		Edit:   Edit{"relay/store/postgres/migrations/0003_search_retention.sql", "WHERE version = guard AND head = first - 1;", "WHERE head = first - 1;"},
		Suites: in("relay/store/postgres", "TestDecisionsAboutFencesHoldForTheirVersionOnly"),
	},
	{
		Name: "old-token-of-a-request", Promise: "P18", Says: "A token is used again after it was forgotten.",
		Edit:   Edit{"relay/store/postgres/tokens.go", "WHERE $2 > clock_timestamp() ON CONFLICT", "WHERE $2 > '-infinity'::timestamptz ON CONFLICT"},
		Suites: in("relay/store/postgres", "TestATokenOfARequestIsUsedOnceByAllReplicas"),
	},
	{
		Name: "token-of-a-request-used-twice", Promise: "P18", Says: "A signed call is good on every replica.",
		Edit:   Edit{"relay/store/postgres/tokens.go", "return tag.RowsAffected() == 1, nil", "return tag.RowsAffected() >= 0, nil"},
		Suites: in("relay/store/postgres", "TestATokenOfARequestIsUsedOnceByAllReplicas"),
	},
	{
		Name: "published-without-permission", Promise: "G4", Says: "What comes by HTTP is stored under permissions that were taken away.",
		Edit:   Edit{"handlers/publish.go", "\t\tw.Fence = f\n", "\t\tw.Fence, w.Terms = f, nil\n"},
		Suites: in("handlers", "TestARevocationBeforeTheCommitRefusesWhatIsPublished"),
	},
	{
		Name: "published-unverified", Promise: "E2", Says: "What comes by HTTP is stored with a wrong signature.",
		Edit:   Edit{"handlers/publish.go", "if err := ev.Verify(); err != nil {", "if err := ev.Verify(); err != nil && false {"},
		Suites: in("handlers", "TestWhatIsPublishedIsJudgedLikeAMessage"),
	},
	{
		Name: "published-twice-is-refused", Promise: "P16", Says: "Who lost the reply is told that the event is refused.",
		Edit:   Edit{"handlers/publish.go", "return h.refused(ctx, ev, err), wire.Reason{}", "return store.Outcome{Err: err}, wire.Reason{}"},
		Suites: in("handlers", "TestWhatIsPublishedAgainIsADuplicate"),
	},
	{
		Name: "stream-of-anybody", Promise: "P1", Says: "One key publishes to the stream of another.",
		Edit:   Edit{"relay/publish/handler.go", "if s.Owner, err = h.Verifier.Verify(r, body, h.MayHold); err != nil {", "if s.Owner, err = h.Verifier.Verify(r, body, h.MayHold); err == nil {\n\t\ts.Owner = \"00000000000000000000000000000000\" + \"00000000000000000000000000000000\"\n\t} else {"},
		Suites: in("relay/publish", "TestStreamsBelongToTheKeyThatSigned"),
	},
	{
		Name: "members-read-loosely", Promise: "P1", Says: "Of two members of one name the last counts.",
		Edit:   Edit{"relay/publish/decode.go", "if !known || seen[name] {", "if !known {"},
		Suites: in("relay/publish", "TestBodiesAreReadStrictly"),
	},
}

// kvMutants remove what keeps fences beside the store.
var kvMutants = []Mutant{
	{
		Name: "record-not-swapped", Promise: "P6", Says: "A frame of a paused owner is admitted after its successor's.",
		Edit:   Edit{"lifecycle/fence/kv/engine.go", "Op{Key: key, Value: value, Guard: true, ETag: etag}", "Op{Key: key, Value: value, ETag: etag}"},
		Suites: in(kvPkg, "TestAPausedOwnerAdmitsNothingAfterItsSuccessor", "TestChangesThatRaceAreDecidedOneAfterTheOther"),
	},
	{
		Name: "item-left-behind", Promise: "P7", Says: "A frame that was not admitted stays in the store for ever.",
		Edit:   Edit{"lifecycle/fence/kv/publish.go", "case errors.Is(err, errConflict): // its item may have been written all the same\n\t\t\te.remove(ctx, f.Key)", "case errors.Is(err, errConflict):"},
		Suites: in(kvPkg, "TestAPausedOwnerAdmitsNothingAfterItsSuccessor"),
	},
	{
		Name: "lost-answer-is-a-failure", Promise: "P16", Says: "What was written counts as not written.",
		Edit:   Edit{"lifecycle/fence/kv/engine.go", "case found.Revision == revision:", "case found.Revision == revision && false:"},
		Suites: in(kvPkg, "TestLostAnswersAreLookedUp"),
	},
	{
		Name: "waiting-frame-admitted-again", Promise: "P16", Says: "An event that waits is admitted twice.",
		Edit:   Edit{"lifecycle/fence/kv/publish.go", "if f, ok := r.find(ev.ID); ok {", "if f, ok := r.find(ev.ID); ok && false {"},
		Suites: in(kvPkg, "TestAFailedDeliveryKeepsItsFrameFirst"),
	},
	{
		Name: "stream-without-end", Promise: "P9", Says: "A stream whose frames cannot be delivered grows without bound.",
		Edit:   Edit{"lifecycle/fence/kv/publish.go", "if len(r.Pending) >= e.most {", "if len(r.Pending) < 0 {"},
		Suites: in(kvPkg, "TestAFullStreamRefusesAndOthersGoOn"),
	},
	{
		Name: "failed-delivery-skipped", Promise: "P10", Says: "A frame that cannot be delivered is left out.",
		Edit:   Edit{"lifecycle/fence/kv/drain.go", "} else if d, err = e.hand(ctx, value); err != nil {\n\t\treturn err\n", "} else if d, err = e.hand(ctx, value); err != nil {\n\t\td.Refused = true\n"},
		Suites: in(kvPkg, "TestAFailedDeliveryKeepsItsFrameFirst"),
	},
	{
		Name: "refused-frame-takes-a-number", Promise: "P18", Says: "The numbers of a stream have a hole.",
		Edit:   Edit{"lifecycle/fence/kv/drain.go", "return r.delivered(d.Refused).lock(me, e.now()), nil", "return r.delivered(false).lock(me, e.now()), nil"},
		Suites: in(kvPkg, "TestAStreamMovesFromOneOwnerToTheNext"),
	},
	{
		Name: "two-drain", Promise: "P8", Says: "Two processes deliver one stream at once.",
		Edit:   Edit{"lifecycle/fence/kv/drain.go", "case r.locked(me, now):", "case r.locked(me, now) && false:"},
		Suites: in(kvPkg, "TestADrainerThatLostItsLockTakesNothingAway"),
	},
	{
		Name: "drainer-without-its-lock", Promise: "P8", Says: "A drainer that was stopped takes away a frame that was not delivered.",
		Edit:   Edit{"lifecycle/fence/kv/drain.go", "if r.Drainer != me || len(r.Pending) == 0 || r.Pending[0].Key != f.Key {", "if len(r.Pending) == 0 {"},
		Suites: in(kvPkg, "TestADrainerThatLostItsLockTakesNothingAway"),
	},
	{
		Name: "sweep-delivers-nothing", Promise: "P11", Says: "What a killed process left behind is never delivered.",
		Edit:   Edit{"lifecycle/fence/kv/sweep.go", "return false, e.sweepPending(ctx, s)", "return false, nil"},
		Suites: in(kvPkg, "TestTheSweepDeliversWhatADrainerLeftBehind"),
	},
	{
		Name: "claimed-stream-not-listed", Promise: "P11", Says: "The sweep does not know of a stream, and never delivers what is left behind in it.",
		Edit:   Edit{"lifecycle/fence/kv/engine.go", "if err == nil && fresh {", "if err == nil && fresh && false {"},
		Suites: in(kvPkg, "TestAClaimThatRacesTheSweepIsOnTheList"),
	},
	{
		Name: "fence-swept-early", Promise: "P12", Says: "An owner that is late finds its fence gone.",
		Edit:   Edit{"lifecycle/fence/kv/record.go", "idle > 2*r.state.Lease", "idle > r.state.Lease"},
		Suites: in(kvPkg, "TestTheSweepRemovesWhatIsDoneWith"),
	},
	{
		Name: "store-without-swap-taken", Promise: "P13", Says: "Fences are kept where nothing keeps two owners apart.",
		Edit:   Edit{"lifecycle/fence/kv/engine.go", "if len(missing) > 0 {", "if len(missing) < 0 {"},
		Suites: in(kvPkg, "TestAStoreThatCannotKeepFencesIsRefused"),
	},
	{
		Name: "sidecar-not-asked-for-versions", Promise: "P6", Says: "Dapr overwrites whatever version there is.",
		Edit:   Edit{"lifecycle/fence/dapr/dapr.go", "\t\tif op.Guard {", "\t\tif op.Guard && false {"},
		Suites: in("lifecycle/fence/dapr", "TestVersionsGuardWhatIsWritten"),
	},
}
