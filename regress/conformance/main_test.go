package conformance_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "fencepost/relay" // a change of the relay must not leave a cached result
)

var (
	urlFlag    = flag.String("conformance.url", "", "ws:// or wss:// URL of a running relay to test instead of this one")
	binaryFlag = flag.String("conformance.binary", "", "a built fencepost to start instead of building one")
)

// fleet is every relay process that the suite started.
type fleet struct {
	dir    string // holds the binary and the data
	binary func() (string, error)

	mu     sync.Mutex
	shared map[string]*relay // configuration -> the process that tests share
	all    []*relay
}

// relays is set by TestMain before the first test.
var relays *fleet

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "fencepost-conformance-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	relays = &fleet{dir: dir, shared: make(map[string]*relay)}
	relays.binary = sync.OnceValues(relays.build)
	code := m.Run()
	for _, r := range relays.all {
		if err := r.retire(); err != nil {
			fmt.Fprintf(os.Stderr, "relay with %q: %v\n%s\n", r.env, err, r.log.String())
			code = max(code, 1)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

const command = "../../cmd/fencepost"

// build builds the command once. The glob and the reads make the command's files
// known to go test, whose cached results depend on them then.
func (f *fleet) build() (string, error) {
	if *binaryFlag != "" {
		return filepath.Abs(*binaryFlag)
	}
	sources, err := filepath.Glob(command + "/*.go")
	if err != nil {
		return "", err
	}
	for _, s := range sources {
		if _, err := os.ReadFile(s); err != nil {
			return "", err
		}
	}
	binary := filepath.Join(f.dir, "fencepost")
	args := strings.Fields("build " + raceFlag + " -o " + binary + " " + command)
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", command, err, out)
	}
	return binary, nil
}
