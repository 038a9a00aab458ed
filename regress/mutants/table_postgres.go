package mutants

// The schema's file with log_commit as it is in force.
const (
	retentionSQL   = "relay/store/postgres/migrations/0003_search_retention.sql"
	inPostgres     = "relay/store/postgres"
	keepsContract  = "TestStoreKeepsTheContract"
	embeddedFolder = "relay/store/embedded"
	ranks          = "relay/store/rank/list.go"
)

// postgresMutants remove the fences of the store over PostgreSQL.
var postgresMutants = []Mutant{
	{
		Name: "full-disk-forgotten", Promise: "issue 5", Says: "While the database's disk is full, each sweep says that all is well.",
		Edit:   Edit{inPostgres + "/writer.go", "\tif s.writer.hasRoom(ctx, conn) {\n", "\tif s.writer.hasRoom(ctx, conn) || true {\n"},
		Suites: in(inPostgres, "TestASweepIsNoProofOfRoom"),
	},
	{
		Name: "full-disk-for-ever", Promise: "issue 5", Says: "A replica on which nobody publishes says for ever that the disk is full.",
		Edit:   Edit{inPostgres + "/settle.go", "\tw.full = head == w.fullAt\n", "\tw.full = head >= w.fullAt\n"},
		Suites: in(inPostgres, "TestASweepIsNoProofOfRoom"),
	},
	{
		Name: "pg-decision-outlives-its-version", Promise: "O19", Says: "A decision is committed although another replica has changed what it rests on.",
		Edit:   Edit{retentionSQL, "WHERE version = guard AND head = first - 1;", "WHERE head = first - 1;"},
		Suites: in(inPostgres, "TestADecisionHoldsForItsVersionOnly"),
	},
	{
		Name: "pg-lost-commit-finishes-late", Promise: "O19", Says: "A commit whose answer was lost comes after the writer was told that it had not arrived.",
		Edit:   Edit{"relay/store/postgres/settle.go", "`UPDATE log_head SET version = version + 1`", "`UPDATE log_head SET version = version`"},
		Suites: in(inPostgres, "TestALostCommitCannotFinishAfterItWasAskedFor"),
	},
	{
		Name: "pg-lost-answer-not-asked", Promise: "O19", Says: "An event whose commit arrived and whose answer did not is a duplicate of itself.",
		Edit:   Edit{"relay/store/postgres/settle.go", "return version == t.version+1, err", "return version == -1, err"},
		Suites: in(inPostgres, "TestALostAnswerIsMadeUpFor"),
	},
	{
		Name: "pg-dump-is-the-same-history", Promise: "R3", Says: "After a dump was restored positions of what was lost are gone on from.",
		Edit:   Edit{"relay/store/postgres/log.go", " || '-' || tableoid", ""},
		Suites: in(inPostgres, "TestARestoredDumpIsAnotherHistory"),
	},
	{
		Name: "pg-standby-is-read", Promise: "O18", Says: "After a reconnect a standby that lags is taken for the log's end.",
		Edit:   Edit{"relay/store/postgres/options.go", "\tcfg.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary\n", "\t_ = pgconn.ValidateConnectTargetSessionAttrsPrimary\n"},
		Suites: in(inPostgres, "TestAStandbyIsNotReadAfterAReconnect"),
	},
	{
		Name: "pg-deletion-reads-all-it-names", Promise: "O20", Says: "A small request makes the relay hold gigabytes.",
		Edit:   Edit{"relay/store/postgres/load.go", "const maxNamed = \"67108864\"", "const maxNamed = \"671088640000\""},
		Suites: in(inPostgres, "TestADeletionNamesAsMuchAsIsReadAtOnce"),
	},
	{
		Name: "pg-damaged-row-fails-all", Promise: "O20", Says: "Who names a damaged row fails everybody in the commit.",
		Edit:   Edit{"relay/store/postgres/settle.go", " || errors.Is(err, errCorrupt)", ""},
		Suites: in(inPostgres, "TestDamagedEventsKeepTheContract"),
	},
	{
		Name: "pg-page-of-gigabytes", Promise: "G8", Says: "A query holds as many large events as small ones while its client does not read.",
		Edit:   Edit{"relay/store/postgres/answer.go", "len(dst)-before < limit && bytes < mostBytes;", "len(dst)-before < limit;"},
		Suites: in(inPostgres, "TestPagesAreBoundedInBytes"),
	},
	{
		Name: "pg-walk-of-gigabytes", Promise: "G8", Says: "A walk reads as many large events at once as small ones.",
		Edit:   Edit{"relay/store/postgres/snapshot.go", "CASE WHEN before < $2 THEN raw END", "CASE WHEN before < $2 + 1000000000 THEN raw END"},
		Suites: in(inPostgres, "TestPagesAreBoundedInBytes"),
	},
	{
		Name: "page-of-gigabytes", Promise: "G8", Says: "A query holds as many large events as small ones while its client does not read.",
		Edit:   Edit{embeddedFolder + "/rows.go", "limit && bytes < mostBytes && (", "limit && ("},
		Suites: in(embeddedFolder, "TestPagesAreBoundedInBytes"),
	},
	{
		Name: "pg-old-snapshot-answers", Promise: "G6", Says: "A snapshot that is too old answers with less than it held.",
		Edit:   Edit{"relay/store/postgres/snapshot.go", "if trimmed > s.head {", "if trimmed > s.head && false {"},
		Suites: in(inPostgres, "TestRemovedEventsAreTrimmed"),
	},
	{
		Name: "pg-trimmed-not-said", Promise: "G6", Says: "Nobody learns that removed events are deleted.",
		Edit:   Edit{"relay/store/postgres/erase.go", "\tb.Queue(sqlTrimHead, last)\n", ""},
		Suites: in(inPostgres, "TestRemovedEventsAreTrimmed"),
	},
	{
		Name: "pg-words-outlive-the-event", Promise: "NIP-50", Says: "The index of words grows with events that are gone.",
		Edit:   Edit{"relay/store/postgres/erase.go", "\tb.Queue(sqlTrimSearch, all)\n", ""},
		Suites: in(inPostgres, "TestRemovedEventsAreTrimmed"),
	},
	{
		Name: "pg-hole-above-the-floor", Promise: "R2", Says: "Rows are removed and the floor stays: a feed goes over a hole.",
		Edit:   Edit{retentionSQL, "    UPDATE log_head SET floor = stop;\n", ""},
		Suites: in(inPostgres, keepsContract),
	},
	{
		Name: "pg-trim-of-what-is-not-swept", Promise: "O3", Says: "An ephemeral event is removed before a follower had a minute to read it.",
		Edit:   Edit{retentionSQL, "position < stop AND type = 2;", "position < stop AND type = 9;"},
		Suites: in(inPostgres, keepsContract),
	},
	{
		Name: "pg-trim-of-control-rows", Promise: "G4", Says: "After a restart permissions are what is left of them.",
		Edit:   Edit{retentionSQL, "position < stop AND type <> 5;", "position < stop AND type <> 9;"},
		Suites: in(inPostgres, keepsContract),
	},
	{
		Name: "pg-trim-takes-no-turn", Promise: "O19", Says: "A trim that does not wait for its turn deadlocks with commits.",
		Edit:   Edit{retentionSQL, "BEGIN\n    PERFORM log_lock();\n    SELECT floor, least", "BEGIN\n    SELECT floor, least"},
		And:    []Edit{{retentionSQL, "INTO lowest, stop FROM log_head FOR UPDATE;", "INTO lowest, stop FROM log_head;"}},
		Suites: in(inPostgres, "TestATrimTakesItsTurnBeforeAnythingElse"),
	},
	{
		Name: "pg-read-below-the-floor", Promise: "R2", Says: "Below the floor the log is read with holes.",
		Edit:   Edit{"relay/store/postgres/log.go", "after+1 < floor {", "after+1 < floor && false {"},
		Suites: in(inPostgres, keepsContract),
	},
	{
		Name: "pg-found-twice", Promise: "G6", Says: "What a search found comes again for the next filter.",
		Edit:   Edit{"relay/store/postgres/snapshot.go", "\ta.union.skip = a.ranking.Has\n", ""},
		Suites: in(inPostgres, keepsContract),
	},
	{
		Name: "pg-hidden-is-found", Promise: "G4", Says: "A search shows and counts what the reader may not see.",
		Edit:   Edit{"relay/store/postgres/search.go", "if visible == nil || visible(head.event) {", "if visible == nil || head.event != nil {"},
		Suites: in(inPostgres, keepsContract),
	},
}

// retentionMutants remove the fences of the embedded store's retention, and of searches.
var retentionMutants = []Mutant{
	{
		Name: "floor-not-written", Promise: "R2", Says: "After a restart the floor is forgotten and the log begins with a hole.",
		Edit:   Edit{"relay/store/embedded/retention.go", "\t\tt.set(keyFloor, binary.BigEndian.AppendUint64(nil, floor))\n", ""},
		Suites: in(embeddedFolder, "TestTheFloorOutlivesTheProcess"),
	},
	{
		Name: "read-below-the-floor", Promise: "R2", Says: "Below the floor the log is read with holes.",
		Edit:   Edit{"relay/store/embedded/snapshot.go", "if after < s.view.floor-1 {", "if false {"},
		And:    []Edit{{"relay/store/embedded/store.go", "if after < s.current.floor-1 {", "if false {"}},
		Suites: in(embeddedFolder, keepsContract),
	},
	{
		Name: "tail-below-the-floor", Promise: "R2", Says: "What is removed is read from memory, until a restart.",
		Edit:   Edit{"relay/store/embedded/store.go", "if after < s.current.floor-1 {", "if false {"},
		Suites: in(embeddedFolder, "TestTheTailEndsAtTheFloor"),
	},
	{
		Name: "trim-takes-stored-events", Promise: "E2", Says: "Retention of the log loses what is stored.",
		Edit:   Edit{"relay/store/embedded/retention.go", "if kind != store.EntryEvent {", "if kind != 0 {"},
		Suites: in(embeddedFolder, keepsContract),
	},
	{
		Name: "trim-of-what-is-not-swept", Promise: "E3", Says: "An ephemeral event is removed before anybody had a minute to read it, and the sweep stumbles.",
		Edit:   Edit{"relay/store/embedded/retention.go", "if kind == store.EntryEphemeral {", "if kind == 0 {"},
		Suites: in(embeddedFolder, keepsContract),
	},
	{
		Name: "void-below-the-floor", Promise: "E2", Says: "Rows of removed events below the floor stay for ever.",
		Edit:   Edit{"relay/store/embedded/txn.go", "if store.Position(position) < t.marks.floor {", "if false {"},
		Suites: in(embeddedFolder, "TestTheFloorOutlivesTheProcess"),
	},
	{
		Name: "floor-sinks-with-the-clock", Promise: "R2", Says: "Rows are kept or removed by their number alone.",
		Edit:   Edit{"relay/store/retention.go", "\t\t\tfloor = max(floor, m.Position+1)\n", ""},
		Suites: append(in(embeddedFolder, keepsContract), in("relay/store/storetest", "TestFakeKeepsTheContract")...),
	},
	{
		Name: "live-without-words", Promise: "G7", Says: "A subscription that searches hears everything that is live.",
		Edit:   Edit{"relay/wire/filter.go", "return f.query == nil || f.query.matches(e)", "return f.query == nil || f.query.words != nil"},
		Suites: append(in("handlers", "TestSearchesAreAnsweredAndFollowed"), in("relay/wire", "TestSearchesMatchAllTheirWords")...),
	},
	{
		Name: "search-without-bound", Promise: "G8", Says: "One filter searches for thousands of words in every live event.",
		Edit:   Edit{"handlers/req.go", "if len(f.Words()) > maxSearch {", "if false {"},
		Suites: in("handlers", "TestSearchesAreAnsweredAndFollowed"),
	},
	{
		Name: "trim-beside-writes", Promise: "E2", Says: "A trim shares a commit with writes whose rows it does not see.",
		Edit:   Edit{"relay/store/commit/request.go", " || r.Keep != nil }", " }"},
		Suites: in("relay/store/commit", "TestOneCommitTakesWhatItCanHold"),
	},
	{
		Name: "withdrawn-is-written", Promise: "E1", Says: "What a caller gave up is written all the same.",
		Edit:   Edit{"relay/store/commit/queue.go", "q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)", "q.waiting = append(q.waiting[:i:i], q.waiting[i:]...)"},
		Suites: in("relay/store/commit", "TestAnEndedContextWithdrawsWhatWasNotTaken"),
	},
}

// wordsMutants remove the fences of the embedded store's index of words.
var wordsMutants = []Mutant{
	{
		Name: "words-outlive-the-event", Promise: "NIP-50", Says: "A search stumbles over events that are gone.",
		Edit:   Edit{"relay/store/embedded/txn.go", "\t\tr.wordKeys(t.unset)\n", ""},
		Suites: in(embeddedFolder, "TestStoreThatSearchesKeepsTheContract"),
	},
	{
		Name: "words-not-kept-while-made", Promise: "NIP-50", Says: "After a crash events are missing from the index of words.",
		Edit:   Edit{"relay/store/embedded/words.go", "w.upTo = beUint64(it.Key()[1:])\n", "w.upTo = beUint64(it.Key()[1:]) + 1\n"},
		Suites: in(embeddedFolder, "TestTheIndexOfWordsComesAndGoes"),
	},
	{
		Name: "words-half-made-are-asked", Promise: "NIP-50", Says: "A search finds what was indexed before the crash, and nothing else.",
		Edit:   Edit{"relay/store/embedded/words.go", "w.begun, w.done = true, !it.Valid()", "w.begun, w.done = true, true"},
		Suites: in(embeddedFolder, "TestTheIndexOfWordsComesAndGoes"),
	},
	{
		Name: "words-stay-when-unwanted", Promise: "NIP-50", Says: "An index that nobody keeps is asked again later.",
		Edit:   Edit{"relay/store/embedded/words.go", "return false, dropWords(e)", "return false, nil"},
		Suites: in(embeddedFolder, "TestTheIndexOfWordsComesAndGoes"),
	},
	{
		Name: "newest-before-best", Promise: "G6", Says: "A search is answered newest first.",
		Edit:   Edit{ranks, "case a.score > b.score:", "case false:"},
		And:    []Edit{{ranks, "case a.score < b.score:", "case false && a.score < b.score:"}},
		Suites: append(in(embeddedFolder, "TestStoreThatSearchesKeepsTheContract"), in(inPostgres, keepsContract)...),
	},
	{
		Name: "last-score-counts", Promise: "G6", Says: "What several filters find is placed by the last one's score, not by the highest.",
		Edit:   Edit{ranks, "!ok || before.score < s.score {", "!ok || before.score != s.score {"},
		Suites: in("relay/store/rank", "TestTheBestOfEachFilterComeFirst"),
	},
	{
		Name: "search-ends-at-its-limit", Promise: "G6", Says: "A limit that hides what is deeper is not noticed, so a search says \"finish\".",
		Edit:   Edit{ranks, "depth := min(max(f.Limit, store.SearchDepth-1), math.MaxInt-1) + 1", "depth := max(f.Limit, store.SearchDepth)"},
		And:    []Edit{{ranks, "\t\"math\"\n", ""}},
		Suites: in("relay/store/rank", "TestASearchLooksAsDeepAsItsLimitAndOneFurther"),
	},
	{
		Name: "found-twice", Promise: "G6", Says: "What a search found comes again for the next filter.",
		Edit:   Edit{"relay/store/embedded/snapshot.go", "sight: sight, skip: ranking.Has}", "sight: sight}"},
		Suites: in(embeddedFolder, "TestStoreThatSearchesKeepsTheContract"),
	},
	{
		Name: "hidden-is-found", Promise: "G4", Says: "A search shows what the reader may not see.",
		Edit:   Edit{"relay/store/embedded/ranking.go", "u := union{walks: []*walk{w}, sight: sight}", "u := union{walks: []*walk{w}}"},
		Suites: in(embeddedFolder, "TestStoreThatSearchesKeepsTheContract"),
	},
	{
		Name: "one-word-is-enough", Promise: "G7", Says: "A search finds what holds one of its words.",
		Edit:   Edit{"relay/store/embedded/plan.go", "p.covered = len(words) == 1 && ", "p.covered = len(words) > 0 && "},
		Suites: in(embeddedFolder, "TestStoreThatSearchesKeepsTheContract"),
	},
}
