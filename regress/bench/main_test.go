package bench_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"fencepost/regress/bench"
)

// signedDir holds the events of quick runs with seed 0, for all tests.
var signedDir string

func TestMain(m *testing.M) {
	code := signAndRun(m)
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func signAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "fencepost-bench-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	signedDir = dir
	o := bench.Options{Quick: true, Cache: dir, Rounds: 2, Relay: bench.Target{PID: 1}, OnTmpfs: bench.Target{URL: "ws://x"}}
	if err := bench.Prepare(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
