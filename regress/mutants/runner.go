package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of the tests of one suite, which take a second or two.
const (
	timeout = 60 * time.Second
	// hangTimeout is for mutants that Hangs: what it waits for never comes.
	hangTimeout = 15 * time.Second
)

// Runner tests mutants. Several may be tested at once.
type Runner struct {
	// Set at construction, never changed.
	root, scratch string
	table         []Mutant

	mu sync.Mutex // guards the field below; not held while a suite runs
	// +checklocks:mu
	baselines map[string]func() error // package -> its baseline, run once
}

// NewRunner returns a runner for the repository at root, an absolute path, which
// writes below scratch only. table tells which tests a baseline takes in.
func NewRunner(root, scratch string, table []Mutant) *Runner {
	return &Runner{root: root, scratch: scratch, table: table, baselines: map[string]func() error{}}
}

// Verdict is what became of one mutant.
type Verdict struct {
	Killed bool
	By     string // for each suite the test that failed; the suite that did not when it survived
}

func (v Verdict) String() string {
	if v.Killed {
		return "killed by " + v.By
	}
	return "SURVIVED " + v.By
}

// Test removes the fence of m and runs its suites. An error means that nothing
// can be said of m: it does not fit the source or compile, or a suite fails
// without it.
func (r *Runner) Test(ctx context.Context, m *Mutant) (Verdict, error) {
	dir, err := os.MkdirTemp(r.scratch, "mutant")
	if err != nil {
		return Verdict{}, err
	}
	overlay, err := r.overlay(dir, m)
	if err != nil {
		return Verdict{}, err
	}
	var by []string
	for _, s := range m.Suites {
		if err := r.baseline(ctx, s.Package); err != nil {
			return Verdict{}, err
		}
		patience := timeout
		if m.Hangs {
			patience = hangTimeout
		}
		failed, err := r.suite(ctx, dir, s, patience, "-overlay="+overlay)
		switch {
		case err != nil:
			return Verdict{}, fmt.Errorf("%s: %w", m.Name, err)
		case failed == hung && !m.Hangs:
			return Verdict{}, fmt.Errorf("%s: %v of %s ran longer than %v", m.Name, s.Tests, s.Package, patience)
		case failed == "":
			return Verdict{By: fmt.Sprintf("%v of %s", s.Tests, s.Package)}, nil
		}
		by = append(by, failed)
	}
	return Verdict{Killed: true, By: strings.Join(by, " and ")}, nil
}

// overlay writes the changed files and the list of them that go build reads.
func (r *Runner) overlay(dir string, m *Mutant) (string, error) {
	changed, err := m.mutate(r.root)
	if err != nil {
		return "", err
	}
	list := struct{ Replace map[string]string }{map[string]string{}}
	for path, text := range changed {
		copied := filepath.Join(dir, fmt.Sprintf("%d_%s", len(list.Replace), filepath.Base(path)))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			return "", err
		}
		list.Replace[path] = copied
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o600)
}

// baseline makes sure, once a package, that its suites pass without a mutant.
func (r *Runner) baseline(ctx context.Context, pkg string) error {
	r.mu.Lock()
	once := r.baselines[pkg]
	if once == nil {
		once = sync.OnceValue(func() error { return r.runBaseline(ctx, pkg) })
		r.baselines[pkg] = once
	}
	r.mu.Unlock()
	return once()
}

func (r *Runner) runBaseline(ctx context.Context, pkg string) error {
	dir, err := os.MkdirTemp(r.scratch, "baseline")
	if err != nil {
		return err
	}
	all := Suite{Package: pkg}
	for _, m := range r.table {
		for _, s := range m.Suites {
			if s.Package == pkg {
				all.Tests = append(all.Tests, s.Tests...)
			}
		}
	}
	slices.Sort(all.Tests)
	all.Tests = slices.Compact(all.Tests)
	failed, err := r.suite(ctx, dir, all, timeout)
	if err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	if failed != "" {
		return fmt.Errorf("baseline: %s fails in %s without any mutant", failed, pkg)
	}
	return nil
}

// suite compiles and runs s and returns what failed, or "".
func (r *Runner) suite(ctx context.Context, dir string, s Suite, patience time.Duration, buildFlags ...string) (failed string, err error) {
	binary := filepath.Join(dir, strings.ReplaceAll(s.Package, "/", "_")+".test")
	defer func() { err = errors.Join(err, os.RemoveAll(binary)) }()
	args := append([]string{"test", "-c", "-ldflags=-s -w", "-o", binary}, buildFlags...)
	build := exec.CommandContext(ctx, "go", append(args, "./"+s.Package)...)
	build.Dir = r.root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("does not compile: %w\n%s", err, out)
	}
	test := exec.CommandContext(ctx, binary, "-test.run=^("+strings.Join(s.Tests, "|")+")$",
		"-test.v", "-test.failfast", "-test.timeout="+patience.String())
	test.Dir = filepath.Join(r.root, filepath.FromSlash(s.Package))
	out, err := test.CombinedOutput()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err == nil {
		return "", allRan(string(out), s)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return "", err
	}
	return whatFailed(string(out)), nil
}

// allRan finds tests that do not exist: a suite that runs nothing passes.
func allRan(out string, s Suite) error {
	for _, name := range s.Tests {
		if !strings.Contains(out, "--- PASS: "+name+" ") {
			return fmt.Errorf("%s has no test %s, or skips it", s.Package, name)
		}
	}
	return nil
}

// hung is what whatFailed returns for a suite that ran into its timeout.
const hung = "the timeout"

var (
	failLine  = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	crashLine = regexp.MustCompile(`(?m)^(?:panic|fatal error): .*`)
)

// whatFailed returns the first test that failed, or how the program ended.
func whatFailed(out string) string {
	if strings.Contains(out, "panic: test timed out") {
		return hung
	}
	if found := failLine.FindStringSubmatch(out); found != nil {
		return found[1]
	}
	if found := crashLine.FindString(out); found != "" {
		return found
	}
	return "an exit without a word"
}
