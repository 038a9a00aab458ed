package mutants

// queryMutants remove what bounds the work of a query in the embedded store.
var queryMutants = []Mutant{
	{
		Name: "streams-buffer-without-bound", Promise: "G8", Says: "One client's queries fill the memory with index entries.",
		Edit:   Edit{"relay/store/embedded/reader.go", "return max(maxBuffered/max(r.streams, 1), minChunk)", "return maxFirst"},
		Suites: in("relay/store/embedded", "TestTheStreamsOfAQueryShareABoundedBuffer"),
	},
	{
		Name: "page-after-the-hint", Promise: "NIP-67", Says: "The last events of an answer wait until it is known whether there are more.",
		Edit: Edit{
			"relay/store/embedded/rows.go",
			"\tif len(dst) > before {\n\t\treturn dst, nil\n\t}\n\tif r.ranking.More()",
			"\tif r.hint, err = r.union.hint(ctx); err != nil {\n\t\treturn dst, err\n\t}\n\tif len(dst) > before {\n\t\treturn dst, nil\n\t}\n\tif r.ranking.More()",
		},
		Suites: in("relay/store/embedded", "TestPageAndEndDoNotWaitForALongLookForMore"),
	},
	{
		Name: "hint-at-any-price", Promise: "NIP-67", Says: "EOSE waits for a scan of everything that is stored.",
		Edit:   Edit{"relay/store/embedded/union.go", "case looks-2*hidden >= maxLooks || hidden >= maxHidden:", "case looks < 0:"},
		Suites: in("relay/store/embedded", "TestPageAndEndDoNotWaitForALongLookForMore"),
	},
	{
		Name: "hint-counts-what-is-hidden", Promise: "NIP-67", Says: "EOSE tells by its hint that there is much which the reader may not see.",
		Edit:   Edit{"relay/store/embedded/union.go", "case looks-2*hidden >= maxLooks", "case looks >= maxLooks"},
		Suites: in("relay/store/embedded", "TestHintDoesNotTellOfWhatIsHidden"),
	},
	{
		Name: "limit-zero-is-finished", Promise: "NIP-67", Says: "A client that asked for no event is told that it has all.",
		Edit:   Edit{"relay/store/embedded/rows.go", "|| r.unasked && r.hint", "|| false && r.hint"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "page-waits-for-a-scan", Promise: "G6", Says: "An event that was found waits until the page is full.",
		Edit:   Edit{"relay/store/embedded/rows.go", "(len(dst) == before || idle < pauseAfter)", "(len(dst) == before || idle >= 0)"},
		Suites: in("relay/store/embedded", "TestRecordsDoNotWaitForALongScan"),
	},
	{
		Name: "filter-waits-for-another", Promise: "G6", Says: "A filter that matches little keeps back what the others found.",
		Edit:   Edit{"relay/store/embedded/union.go", "front.before(first) || !w.has && front.same(first)", "!w.has || newest.has && front.before(first)"},
		Suites: in("relay/store/embedded", "TestRecordsDoNotWaitForAnotherFiltersScan"),
	},
	{
		Name: "filter-takes-alone", Promise: "G6", Says: "An event that matches two filters comes twice.",
		Edit:   Edit{"relay/store/embedded/union.go", " || !w.has && front.same(first)", ""},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "scan-outlives-its-query", Promise: "G8", Says: "A query goes on after its time or its connection has ended.",
		Edit:   Edit{"relay/store/embedded/reader.go", "r.work%checkEvery == 0 {", "r.work%checkEvery < 0 {"},
		Suites: in("relay/store/embedded", "TestEndOfTheContextEndsAScan"),
	},
	{
		Name: "slow-reader-holds-memtables", Promise: "G8", Says: "Each slow client keeps a memtable in memory.",
		Edit:   Edit{"relay/store/embedded/rows.go", "releaseErr := r.reader.release();", "releaseErr := error(nil);"},
		Suites: in("relay/store/embedded", "TestQueryHoldsNothingOfTheDatabaseBetweenPages"),
	},
	{
		Name: "failed-table-spins", Promise: "E1", Says: "A disk that takes no tables costs a processor.",
		Edit:   Edit{"relay/store/embedded/guard.go", "\t\tg.health.pause()\n", "\t\t_ = g.health\n"},
		Suites: in("relay/store/embedded", "TestTablesThatCannotBeWrittenAreTriedAgainAfterAPause"),
	},
}
