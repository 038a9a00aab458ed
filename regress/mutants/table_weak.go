package mutants

const (
	limiter    = "relay/throttle/throttle.go"
	latecomers = "handlers/late.go"
)

// weaknessMutants remove what keeps a replica useful while something is wrong with it, its
// database or a row.
var weaknessMutants = []Mutant{
	{
		Name: "log-without-limit", Promise: "issue 5", Says: "Whoever asks while the database is away fills the operator's disk.",
		Edit:   Edit{limiter, "if r.Level >= slog.LevelWarn && h.held.hold(ctx, h.next, &r) {", "if false {"},
		Suites: in("relay/throttle", "TestAFloodLeavesOneLineOfAKindInATime"),
	},
	{
		Name: "log-limit-not-wired", Promise: "issue 5", Says: "The relay's lines pass beside the limit.",
		Edit:   Edit{"relay/relay.go", "throttle.New(o.Logger.Handler(), throttle.Every)", "throttle.New(o.Logger.Handler(), 0*throttle.Every)"},
		Suites: in("relay", "TestRequestsThatFailAreNotLoggedOneByOne"),
	},
	{
		Name: "log-hides-the-flood", Promise: "issue 5", Says: "The operator sees one failed query where thousands failed.",
		Edit:   Edit{limiter, "w.newest.AddAttrs(slog.Int(\"left_out\", w.came-1))", "w.newest.AddAttrs()"},
		Suites: in("relay/throttle", "TestAFloodLeavesOneLineOfAKindInATime"),
	},
	{
		Name: "log-limit-of-all-kinds", Promise: "issue 5", Says: "A stranger's failed queries keep back what the operator has to read.",
		Edit:   Edit{limiter, "k := kind{r.Level, r.Message}", "k := kind{}"},
		Suites: in("relay/throttle", "TestOneKindDoesNotHoldAnother"),
	},
	{
		Name: "damaged-event-told", Promise: "issue 5", Says: "Nobody counts the events that answers lack.",
		Edit:   Edit{"relay/build.go", "Damaged:   damaged(s),", ""},
		Suites: in("relay", "TestADamagedEventFailsNoREQ"),
	},
	{
		Name: "damaged-event-fails-sweep", Promise: "issue 5", Says: "What has expired stays behind one damaged event.",
		Edit:   Edit{inPostgres + "/load.go", "case err != nil && l.unread:", "case err != nil && false:"},
		Suites: in(inPostgres, "TestDamagedEventsKeepTheContract"),
	},
	{
		Name: "damaged-event-told-of", Promise: "issue 5", Says: "The removal of a damaged event is told to those who could not see it.",
		Edit: Edit{inPostgres + "/damaged.go", "{ t.void(e, store.VoidRemoved, t.head) }", `{
	e.event = wire.NewEvent(nostr.Event{})
	t.remove(e, store.CauseExpired)
}`},
		And:    []Edit{{inPostgres + "/damaged.go", "\"github.com/jackc/pgx/v5\"", "\"github.com/jackc/pgx/v5\"\n\t\"github.com/nbd-wtf/go-nostr\""}},
		Suites: in(inPostgres, "TestDamagedEventsKeepTheContract"),
	},
	{
		Name: "damaged-event-stays-erased", Promise: "NIP-62", Says: "A damaged event outlives the key that vanished.",
		Edit:   Edit{inPostgres + "/walk.go", "w.unread(e.position)", "_ = e.position"},
		Suites: in(inPostgres, "TestDamagedEventsKeepTheContract"),
	},
	{
		Name: "damaged-event-of-others-erased", Promise: "NIP-62", Says: "The erasure of a key takes the requests to vanish with it that cannot be read.",
		Edit:   Edit{inPostgres + "/load.go", " AND kind <> 62 OFFSET 0) e`", " OFFSET 0) e`"},
		Suites: in(inPostgres, "TestDamagedEventsKeepTheContract"),
	},
	{
		Name: "damaged-event-takes-a-place", Promise: "NIP-01", Says: "A limit is used up by an event that nobody gets.",
		Edit:   Edit{"relay/store/embedded/snapshot.go", "return err == nil && found.event != nil, err", "return err == nil, err"},
		Suites: in("relay/store/embedded", "TestDamagedEventsKeepTheContract"),
	},
	{
		Name: "damaged-event-fails-commit", Promise: "issue 5", Says: "Who replaces a damaged profile is refused, with everybody in the same commit.",
		Edit:   Edit{"relay/store/embedded/txn.go", "if errors.Is(err, errCorrupt) {", "if errors.Is(err, errLeft) {"},
		Suites: in("relay/store/embedded", "TestADamagedEventCanBeReplacedAndDeleted"),
	},
	{
		Name: "damaged-event-unindexes-others", Promise: "issue 5", Says: "A damaged event with the id of another one takes that out of the index.",
		Edit:   Edit{"relay/store/embedded/damaged.go", "return beUint64(value) == position", "return beUint64(value) > 0"},
		Suites: in("relay/store/embedded", "TestADamagedEventTakesNothingOfAnotherOne"),
	},
	{
		Name: "refused-too-early", Promise: "issue 5", Says: "Who was told on one replica that he is in is turned away on another one.",
		Edit:   Edit{"relay/build.go", "Replicas: isShared(s),", "Replicas: isShared(nil),"},
		Suites: in("relay", "TestReplicas"),
	},
	{
		Name: "refused-without-waiting", Promise: "issue 5", Says: "A refusal is judged again before what others have committed is in force.",
		Edit:   Edit{latecomers, "_ = s.progress.Await(ctx, info.Control)", "_ = info.Control"},
		Suites: in("handlers", "TestWhoWasAdmittedElsewhereIsNotRefused"),
	},
	{
		Name: "refused-after-ages", Promise: "issue 5", Says: "Refusals hang for as long as a replica lags.",
		Edit:   Edit{latecomers, "const latePatience = time.Second", "const latePatience = time.Minute"},
		Suites: in("handlers", "TestARefusalDoesNotWaitForLong"),
	},
	{
		Name: "late-judgement-of-another", Promise: "G9", Says: "A REQ is allowed for a key that came after it.",
		Edit:   Edit{latecomers, "return s.reading.MayRead(keys, filters)", "return s.reading.MayRead(s.conn.Keys(), filters)"},
		Suites: in("handlers", "TestALateJudgementIsAboutTheReaderOfThen"),
	},
	{
		Name: "late-req-not-judged", Promise: "G4", Says: "A REQ that was refused is served once the replica has caught up, whatever that said.",
		Edit:   Edit{latecomers, "return s.unless(h, s.judgeLate(ctx, keys, h.Filters()))", "return s.judgeLate(ctx, keys, h.Filters()) == nil || true"},
		Suites: in("handlers", "TestARefusalDoesNotWaitForLong"),
	},
	{
		Name: "late-count-not-judged", Promise: "G4", Says: "A COUNT that was refused counts for a key that came after it.",
		Edit:   Edit{"handlers/count.go", "\tif late {", "\tif false {"},
		Suites: in("handlers", "TestALateJudgementIsAboutTheReaderOfThen"),
	},
	{
		Name: "late-negotiation-not-judged", Promise: "G4", Says: "A negotiation that was refused is opened for a key that came after it.",
		Edit:   Edit{"handlers/neg.go", "\t\tif late {", "\t\tif false {"},
		Suites: in("handlers", "TestALateJudgementIsAboutTheReaderOfThen"),
	},
	{
		Name: "follower-among-clients", Promise: "O18", Says: "Clients' short statements keep a replica from its log until it counts as lost.",
		Edit:   Edit{inPostgres + "/followed.go", "f.store.readRows(ctx, p.followed, sqlReadLog", "f.store.readRows(ctx, p.short, sqlReadLog"},
		Suites: in(inPostgres, "TestTheFollowerHasAConnectionOfItsOwn"),
	},
	{
		Name: "queries-keep-connections", Promise: "O18", Says: "Idle connections of queries keep the log from the only place that the database has.",
		Edit:   Edit{inPostgres + "/followed.go", "\tp.queries.Reset()\n", ""},
		Suites: in(inPostgres, "TestQueriesGiveWayToTheLog"),
	},
	{
		Name: "queries-first", Promise: "O18", Says: "A query takes the connection that another one gave back for the log.",
		Edit:   Edit{inPostgres + "/followed.go", "p.full.Store(true)", "p.full.Store(false)"},
		Suites: in(inPostgres, "TestQueriesGiveWayToTheLog"),
	},
	{
		Name: "queries-refused-for-ever", Promise: "issue 5", Says: "Queries get no connection any more once the log had none.",
		Edit:   Edit{inPostgres + "/followed.go", "case err == nil:\n\t\tp.full.Store(false)", "case err == nil:"},
		Suites: in(inPostgres, "TestQueriesGiveWayToTheLog"),
	},
	{
		Name: "confirmed-too-late", Promise: "O18", Says: "A replica that was away ends the subscriptions that its first events concern.",
		Edit:   Edit{"relay/outbox/follower.go", "if n == settled {", "if n == settled+1<<40 {"},
		Suites: in("relay/outbox", "TestAReplicaThatWasAwayTrustsWhatItHasReadToTheEnd"),
	},
	{
		Name: "confirmed-too-early", Promise: "O18", Says: "A replica that was away decides under permissions that the log takes away a few rows further.",
		Edit:   Edit{"relay/outbox/follower.go", "if n == settled {", "if n <= settled {"},
		Suites: in("relay/outbox", "TestAReplicaThatWasAwayTrustsWhatItHasReadToTheEnd"),
	},
	{
		Name: "silent-database-followed", Promise: "O3", Says: "A replica waits for ever for the log when its connection falls silent.",
		Edit:   Edit{inPostgres + "/followed.go", "impatient(log, followedSilence, 0)", "impatient(log, 0, 0)"},
		Suites: in(inPostgres, "TestConnectionsThatFallSilentAreReplaced"),
	},
	{
		Name: "silent-connection-read-again", Promise: "O3", Says: "The connection that fell silent is waited for once more, and a replica loses touch with its log meanwhile.",
		Edit:   Edit{inPostgres + "/silence.go", "{c.until, silent, c.last}", "{c.until, silent}"},
		Suites: in(inPostgres, "TestConnectionsThatFallSilentAreReplaced"),
	},
	{
		Name: "late-connection-read-again", Promise: "O3", Says: "The connection that did not answer a ping in time is waited for once more.",
		Edit:   Edit{inPostgres + "/silence.go", "\t\tc.last = now.Add(c.linger)\n", ""},
		Suites: in(inPostgres, "TestConnectionsThatFallSilentAreReplaced"),
	},
	{
		Name: "short-statement-hangs", Promise: "O3", Says: "A REQ gets neither EOSE nor CLOSED when a backend hangs.",
		Edit:   Edit{inPostgres + "/followed.go", "impatient(short, shortSilence, 0)", "impatient(short, 0, 0)"},
		Suites: in(inPostgres, "TestAShortStatementThatHangsEnds"),
	},
	{
		Name: "silent-queries-waited-for", Promise: "issue 5", Says: "Queries on connections that fell silent wait as long as their clients do, and the next ones behind them.",
		Edit:   Edit{inPostgres + "/followed.go", "\tp.asking.hurry(doubtedQuery)\n", ""},
		Suites: in(inPostgres, "TestSilentConnectionsInUseAreGivenUp"),
	},
	{
		Name: "silent-one-by-one", Promise: "issue 5", Says: "A REQ has each idle connection that fell silent prove for two seconds that it is alive.",
		Edit:   Edit{inPostgres + "/followed.go", "\tif ctx.Err() != nil {\n\t\tp.doubt()\n\t}\n", ""},
		Suites: in(inPostgres, "TestIdleConnectionsThatFellSilentAreGivenUpTogether"),
	},
	{
		Name: "silent-query-keeps-its-place", Promise: "issue 5", Says: "A silent connection keeps its place in the pool for 15 s after its client went away.",
		Edit:   Edit{inPostgres + "/followed.go", "impatient(cfg, 0, aliveTimeout)", "impatient(cfg, 0, forever)"},
		Suites: in(inPostgres, "TestASilentQueryKeepsItsPlaceNoLongerThanWhoAsks"),
	},
	{
		Name: "limits-of-the-role-apply", Promise: "issue 5", Says: "A role with a statement_timeout gets no large commit through, for ever.",
		Edit:   Edit{inPostgres + "/options.go", "\t\tc.RuntimeParams[name] = \"0\"", "\t\t_ = name"},
		Suites: in(inPostgres, "TestTimeLimitsOfTheRoleDoNotApply"),
	},
	{
		Name: "plan-of-an-empty-table", Promise: "issue 5", Says: "Each commit compares each of its events with all that are stored, until somebody analyses the table.",
		Edit:   Edit{inPostgres + "/load.go", "id = k.id AND coalesce(gone, 0) = 0 OFFSET 0", "id = k.id AND coalesce(gone, 0) = 0"},
		Suites: in(inPostgres, "TestCommitsStayAsFastAsThoseOfANewSession"),
	},
	{
		Name: "ids-joined-with-all-events", Promise: "issue 5", Says: "A REQ for ids compares each of them with all events, until somebody analyses the table.",
		Edit:   Edit{inPostgres + "/snapshot.go", "9223372036854775807) > $2 OFFSET 0", "9223372036854775807) > $2"},
		Suites: in(inPostgres, "TestReadingStaysAsFastAsInANewSession"),
	},
	{
		Name: "doubt-without-end", Promise: "issue 5", Says: "Each long query that is given up in doubt shortens the next ones, for ever.",
		Edit:   Edit{inPostgres + "/silence.go", "silent && c.doubted", "silent && false"},
		Suites: in(inPostgres, "TestAQueryThatIsGivenUpDoesNotDoubtOthers"),
	},
	{
		Name: "silent-database-not-left", Promise: "issue 5", Says: "A drain does not end while the database is silent.",
		Edit:   Edit{inPostgres + "/store.go", "\ts.closePools(life)\n", "\ts.pools.close()\n"},
		Suites: in(inPostgres, "TestAStoreClosesAlthoughTheDatabaseIsSilent"),
	},
	{
		Name: "read-only-for-ever", Promise: "issue 5", Says: "Sessions from a time when the database was read-only are used on.",
		Edit:   Edit{inPostgres + "/log.go", "code(err) == readOnly", "false"},
		Suites: in(inPostgres, "TestSessionsFromAReadOnlyTimeAreReplaced"),
	},
	{
		Name: "read-only-writer-for-ever", Promise: "issue 5", Says: "Nothing can be published any more after a time in which the database was read-only.",
		Edit:   Edit{inPostgres + "/settle.go", " || pgErr.Code == readOnly", ""},
		Suites: in(inPostgres, "TestCommitsGoOnAfterAReadOnlyTime"),
	},
	{
		Name: "refused-writes-not-told", Promise: "issue 5", Says: "Nothing can be written, and all that a balancer asks for says that all is well.",
		Edit:   Edit{ready, "\tif c.refuses {\n", "\tif c.refuses && false {\n"},
		Suites: in("relay", "TestWhoLostTouchWithTheLogIsNotReady"),
	},
	{
		Name: "writes-told-by-reading", Promise: "issue 5", Says: "A database that can be read is taken for one that can be written.",
		Edit:   Edit{inPostgres + "/writer.go", "conn.Exec(ctx, sqlMove)", "conn.Exec(ctx, \"SELECT 1\")"},
		Suites: in(inPostgres, "TestASweepFindsOutWhetherCommitsGoOn"),
	},
	{
		Name: "queue-waits-again", Promise: "issue 5", Says: "Each commit of a long queue waits for a database that is away.",
		Edit:   Edit{inPostgres + "/writer.go", "if err != nil {\n\t\t\trest :=", "if err != nil && false {\n\t\t\trest :="},
		Suites: in(inPostgres, "TestNobodyWaitsForTheDatabaseAgainAndAgain"),
	},
	{
		Name: "commits-not-durable", Promise: "E1", Says: "A setting that the database gets later loses acknowledged events.",
		Edit:   Edit{inPostgres + "/store.go", "\tcfg.ConnConfig.RuntimeParams[\"synchronous_commit\"] = durable", "\t_ = durable"},
		Suites: in(inPostgres, "TestCommitsStayDurable"),
	},
}
