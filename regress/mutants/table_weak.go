package mutants

const limiter = "relay/throttle/throttle.go"

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
}
