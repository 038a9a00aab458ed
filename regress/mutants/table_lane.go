package mutants

// laneMutants remove what keeps order and bounds work: lanes, queries, groups.
var laneMutants = []Mutant{
	{
		Name: "lane-takes-unready", Promise: "G9", Says: "An event is committed before its signature was checked.",
		Edit:   Edit{"lifecycle/lane.go", " && l.items[n].isReady()", ""},
		Suites: in("lifecycle", "TestLaneTakesNothingThatIsNotPrepared"),
	},
	{
		Name: "lane-newest-first", Promise: "G9", Says: "Events are committed in another order than that of reading.",
		Edit:   Edit{"lifecycle/lane.go", "l.items = append(l.items, item)", "l.items = append([]*laneItem[T]{item}, l.items...)"},
		Suites: also(in("lifecycle", "TestLaneTakesNothingThatIsNotPrepared"), "TestEventsCommitInReadOrder"),
	},
	{
		Name: "lane-runs-twice", Promise: "G9", Says: "Two commits of one connection run at once and overtake each other.",
		Edit:   Edit{"lifecycle/lane.go", "start = !l.running", "start = true"},
		Suites: in("lifecycle", "TestLaneFlushesOneBatchAtATime"),
	},
	{
		Name: "lane-unbounded-items", Promise: "G8", Says: "A client sends any number of events ahead of their answers.",
		Edit:   Edit{"lifecycle/lane.go", "len(l.items) >= l.limit.Pending || ", ""},
		Suites: in("lifecycle", "TestLaneBlocksAtItsBound"),
	},
	{
		Name: "lane-unbounded-bytes", Promise: "G8", Says: "A client sends events of any size ahead of their answers.",
		Edit:   Edit{"lifecycle/lane.go", " || l.bytes+item.bytes > l.limit.PendingBytes", ""},
		Suites: in("lifecycle", "TestLaneIsBoundedInBytes"),
	},
	{
		Name: "lane-refuses-what-is-large", Promise: "G8", Says: "An event larger than the bound of an empty lane waits for ever.",
		Edit:   Edit{"lifecycle/lane.go", "if len(l.items) > 0 && (", "if ("},
		Suites: in("lifecycle", "TestLaneIsBoundedInBytes"),
	},
	{
		Name: "lane-wakes-nobody", Promise: "G8", Says: "The reader sleeps on although the lane has room.",
		Edit:   Edit{"lifecycle/lane.go", "\tif l.room != nil {\n\t\tclose(l.room)", "\tif false {\n\t\tclose(l.room)"},
		Suites: in("lifecycle", "TestLaneBlocksAtItsBound"),
	},
	{
		Name: "lane-panic-kills-the-pool", Promise: "G10", Says: "One bad event ends the pool that all connections share.",
		Edit:   Edit{"lifecycle/lane.go", "\t\tdefer func() { item.panicked = recover() }()\n", ""},
		Suites: in("lifecycle", "TestPanicInPreparationEndsTheConnectionAndNotThePool"),
	},
	{
		Name: "queries-unbounded", Promise: "G9", Says: "One connection runs any number of queries at once.",
		Edit:   Edit{"lifecycle/conn.go", "make(chan struct{}, o.Limits.Queries)", "make(chan struct{}, 1<<20)"},
		Suites: in("lifecycle", "TestQueryWaitsForAPlace"),
	},
	{
		Name: "query-keeps-its-place", Promise: "G9", Says: "After a few queries a connection never runs another.",
		Edit:   Edit{"lifecycle/query.go", "defer func() { <-c.queries }()", ""},
		Suites: in("lifecycle", "TestQueryWaitsForAPlace"),
	},
	{
		Name: "query-outlives-its-context", Promise: "G1", Says: "A query that waits for its place cannot be withdrawn.",
		Edit:   Edit{"lifecycle/query.go", "\t\tcase <-ctx.Done():\n\t\t}\n\t\tdeepenQuery", "\t\t}\n\t\tdeepenQuery"},
		Suites: in("lifecycle", "TestQueryWaitsForAPlace"),
	},
	{
		Name: "group-starts-after-wait", Promise: "G10", Says: "A goroutine starts in a group that was waited for.",
		Edit:   Edit{"lifecycle/group.go", "\tg.closed = true\n", ""},
		Suites: in("lifecycle", "TestGroupWaitsForItsGoroutines"),
	},
	{
		Name: "group-does-not-wait", Promise: "G10", Says: "A connection counts as gone while its goroutines run.",
		Edit:   Edit{"lifecycle/group.go", "if g.total == 0 {\n\t\treturn nil", "if true {\n\t\treturn nil"},
		Suites: in("lifecycle", "TestGroupWaitsForItsGoroutines"),
	},
	{
		Name: "group-wakes-nobody", Promise: "G10", Says: "Whoever waits for a group waits for ever.",
		Edit:   Edit{"lifecycle/group.go", "g.total == 0 && g.idle != nil {\n\t\tclose(g.idle)", "g.total == 0 && g.idle != nil && false {\n\t\tclose(g.idle)"},
		Suites: in("lifecycle", "TestPanicEndsTheGroupAndIsReported", "TestGroupWaitsForItsGoroutines"),
	},
	{
		Name: "panic-ends-the-process", Promise: "G10", Says: "A bug that one client meets ends all connections.",
		Edit:   Edit{"lifecycle/group.go", "\tdefer g.recover(name)\n", ""},
		Suites: in("lifecycle", "TestPanicEndsTheGroupAndIsReported"),
	},
}
