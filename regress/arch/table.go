package arch

// Row says what the packages of one folder may import from this module.
type Row struct {
	Dir   string   // a folder; "x/..." stands for x and all below
	May   []string // folders, the same way; its own folder is always allowed
	Notes string
}

// vocabulary may be imported by everything above it.
var vocabulary = []string{"relay/wire", "relay/store"}

// connections is what everything that acts on a subscription may import.
var connections = append([]string{"lifecycle", "lifecycle/pause"}, vocabulary...)

// fenced is what everything that knows of publishers' fences may import.
var fenced = append([]string{"lifecycle/fence"}, connections...)

// Table is the house: arrows go one way, from the first rows to the last. A
// package without a row is refused, so a new one begins here.
//
// Of several rows that fit, the longest Dir counts.
var Table = []Row{
	{"cmd/fencepost", []string{
		"relay", "relay/config", "relay/client", "relay/web/nip98", "relay/wire", "relay/store", "lifecycle",
		"regress/race", "regress/trace", "regress/bench",
	}, "commands; never a concrete store"},

	// regress may use everything, except for the parts that cmd takes.
	{"regress/...", []string{"relay/...", "handlers/...", "registry/...", "lifecycle/...", "regress/...", "cmd/..."}, ""},
	{"regress/race", regressForCmd, "used by cmd"},
	{"regress/trace", regressForCmd, "used by cmd"},
	{"regress/bench", regressForCmd, "used by cmd"},

	{"relay", []string{"relay/...", "handlers/...", "registry/...", "lifecycle/..."}, "the roof; see ConcreteStores"},
	{"handlers/...", append([]string{"relay/negentropy"}, connections...), "stores, index and access are interfaces declared here"},
	{"relay/conn", append([]string{"registry/..."}, connections...), ""},
	{"relay/outbox", connections, "the index is an interface declared here"},
	{"relay/access", append([]string{"relay/access/..."}, connections...), "state of permissions, folded from control rows"},
	{"relay/access/group", append([]string{"relay/access/control"}, connections...), "NIP-29"},
	{"relay/access/control", nil, "the language of control rows"},
	{"relay/manage", append([]string{"relay/access"}, vocabulary...), "what the operator asks for; between web and access"},
	{"relay/publish", append([]string{"relay/web/nip98", "relay/web/reply", "lifecycle/fence/kv"}, fenced...), "HTTP side of fenced publishers"},
	{"relay/web", append([]string{"relay/config", "relay/web/nip98", "relay/web/reply"}, connections...), ""},
	{"relay/web/reply", []string{"relay/web/nip98", "relay/wire"}, "how HTTP calls are answered and refused"},
	{"relay/web/nip98", []string{"relay/wire"}, "authentication of HTTP requests, both sides"},
	{"relay/store/embedded", append([]string{"relay/store/aio", "relay/store/commit", "relay/store/rank"}, fenced...), ""},
	{"relay/store/postgres", append([]string{"relay/store/commit", "relay/store/rank"}, fenced...), ""},
	{"relay/store/commit", vocabulary, "the group commit of both stores"},
	{"relay/store/aio", nil, "fdatasync that waits in the poller"},
	{"relay/store/rank", vocabulary, "the order of what searches find, of both stores"},
	{"relay/store/transfer", vocabulary, "copies one store into another"},
	{"registry/...", connections, ""},
	{"registry/presence", append([]string{"registry/session"}, connections...), "derived from the session index"},
	{"relay/mirror", append([]string{"relay/client", "lifecycle/fence"}, connections...), "other relays that this one is kept alike"},
	{"relay/client", append([]string{"relay/negentropy"}, connections...), "the client's side, for mirrors, commands and regress"},
	{"relay/config", []string{"relay/wire"}, "vocabulary of relay, web and cmd"},
	{"relay/throttle", nil, "one log line of a kind in a time; only the roof imports it"},
	{"relay/metrics", nil, "only the roof imports it; others count through interfaces of their own"},
	{"relay/store/storetest", append([]string{"lifecycle/fence"}, vocabulary...), "imported by tests and regress only"},

	{"lifecycle/fence", nil, "pure: who may publish to a stream"},
	{"lifecycle/fence/kv", fenced, "fences beside the relay's store"},
	{"lifecycle/fence/dapr", []string{"lifecycle/fence/kv"}, "a store of fences"},
	{"lifecycle", connections, ""},
	{"lifecycle/pause", nil, ""},
	{"relay/store", []string{"lifecycle/fence", "relay/wire"}, ""},
	{"relay/negentropy", nil, "NIP-77, both sides; of other modules none"},
	{"relay/wire", nil, "of other modules only go-nostr"},
}

var regressForCmd = append([]string{"regress/race", "regress/trace", "regress/bench", "relay/client", "lifecycle"}, vocabulary...)

// ForTests is what test files may import beside what their folder may.
var ForTests = append([]string{"relay/store/storetest", "regress/harness", "regress/postgres", "regress/dapr", "lifecycle/fence", "lifecycle/fence/dapr"}, connections...)

// ConcreteStores are named by one file only, their own folders, tests of the
// roof and regress aside.
var ConcreteStores = []string{"relay/store/embedded", "relay/store/postgres"}

// StoreBuilder is the file that names the concrete stores.
const StoreBuilder = "relay/build.go"

// Outside restricts which other modules a folder may import, its tests aside;
// folders that are not listed are free.
var Outside = map[string][]string{
	"relay/wire":       {"github.com/nbd-wtf/go-nostr"},
	"lifecycle/pause":  {},
	"relay/negentropy": {},
}

// ForCommand are the parts of regress that cmd uses. Nothing that they reach
// within the module imports TestOnly.
var (
	ForCommand = []string{"regress/race", "regress/trace", "regress/bench"}
	TestOnly   = []string{
		"testing", "github.com/stretchr/testify", "go.uber.org/goleak", "pgregory.net/rapid",
	}
)

// Suites are packages of test code in ordinary files, so that several test
// packages share them. The parts that cmd takes do not count.
var Suites = []string{"relay/store/storetest", "regress/..."}

// TopLevel is everything that may stand at the root, beside dotfiles and what
// .gitignore names.
var TopLevel = []string{
	"cmd", "relay", "registry", "handlers", "lifecycle", "regress",
	"go.mod", "go.sum", "Makefile", "README.md", "LICENSE",
}

// MayGo are the files with go statements of their own. Everything else starts
// goroutines in a lifecycle.Group.
var MayGo = map[string]string{
	"lifecycle/group.go":             "it is the group",
	"lifecycle/crew.go":              "each runs writers, for which the groups of their connections wait",
	"relay/store/embedded/writer.go": "the one commit writer, which Close waits for",
}

// BadNames say nothing about what a package is.
var BadNames = []string{"util", "utils", "common", "helper", "helpers", "types", "manager", "base", "misc"}

// Sizes in lines.
const (
	MaxFile     = 350
	MaxFunction = 60
	// LongBecause, in the comment at the head of a file or of a function, with
	// the reason after it, lifts the limit.
	LongBecause = "long because"
)
