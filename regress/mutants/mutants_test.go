package mutants_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/regress/mutants"
)

var (
	which = flag.String("mutants", "", "all, sample, or names with commas between them; a few when empty")
	seed  = flag.String("mutants.seed", os.Getenv("FENCEPOST_TEST_SAMPLE"), "what chooses the sample")
)

// few are quick to test, so that every run of go test tries them.
const few = "deliver-to-retired,evict-any-generation,queued-closed-not-muted"

func root(t *testing.T) string {
	dir, err := filepath.Abs("../..")
	require.NoError(t, err)
	return dir
}

func chosen(t *testing.T) (out []mutants.Mutant) {
	var err error
	switch *which {
	case "all":
		return mutants.Table()
	case "sample":
		return mutants.Sample(mutants.Table(), *seed)
	case "":
		out, err = mutants.Named(mutants.Table(), strings.Split(few, ",")...)
	default:
		out, err = mutants.Named(mutants.Table(), strings.Split(*which, ",")...)
	}
	require.NoError(t, err)
	return out
}

func TestTableFitsTheSource(t *testing.T) {
	t.Parallel()
	require.NoError(t, mutants.Check(root(t), mutants.Table()))
}

// Its subtests run two at a time on two cores: set -parallel for more.
func TestEveryMutantIsKilled(t *testing.T) {
	table := chosen(t)
	r := mutants.NewRunner(root(t), t.TempDir(), table)
	var killed, survived atomic.Int32
	t.Run("mutant", func(t *testing.T) {
		for i := range table {
			m := &table[i]
			t.Run(m.Name, func(t *testing.T) {
				t.Parallel()
				v, err := r.Test(t.Context(), m)
				require.NoError(t, err)
				if v.Killed {
					killed.Add(1)
				} else {
					survived.Add(1)
				}
				fmt.Printf("%-4s %s: %s\n", m.Promise, m.Name, v)
				require.True(t, v.Killed, "%s %s\n%s", m.Name, v, m.Says)
			})
		}
	})
	fmt.Printf("%d killed, %d survived\n", killed.Load(), survived.Load())
	require.EqualValues(t, len(table), killed.Load(), "the others survived or are errors of the table")
}

// harmless is an edit that no test can notice.
func harmless() mutants.Mutant {
	return mutants.Mutant{
		Name: "harmless", Promise: "none", Says: "Nothing goes wrong.",
		Edit:   mutants.Edit{File: "lifecycle/group.go", Old: "func (g *Group) Cancel() { g.cancel() }", New: "func (g *Group) Cancel() { g.cancel(); g.cancel() }"},
		Suites: []mutants.Suite{{Package: "lifecycle", Tests: []string{"TestGroupWaitsForItsGoroutines"}}},
	}
}

func TestRunnerTellsKillsFromErrors(t *testing.T) {
	t.Parallel()
	broken, missing := harmless(), harmless()
	broken.Name, broken.New = "does not compile", "func (g *Group) Cancel() { g.cancle() }"
	missing.Name, missing.Suites[0].Tests = "names no test", []string{"TestThatDoesNotExist"}
	tests := []struct {
		mutant mutants.Mutant
		err    string
	}{
		{harmless(), ""},
		{broken, "does not compile"},
		{missing, "has no test TestThatDoesNotExist"},
	}
	for _, test := range tests {
		t.Run(test.mutant.Name, func(t *testing.T) {
			t.Parallel()
			r := mutants.NewRunner(root(t), t.TempDir(), []mutants.Mutant{test.mutant})
			v, err := r.Test(t.Context(), &test.mutant)
			require.False(t, v.Killed)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Contains(t, v.String(), "SURVIVED")
		})
	}
}

func TestCheckFindsWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, err string
		spoil     func(m *mutants.Mutant)
	}{
		{"text that is not there", "occurs 0 times", func(m *mutants.Mutant) { m.Old = "no such text" }},
		{"text that is there often", "times in lifecycle/group.go, not once", func(m *mutants.Mutant) { m.Old = "g.mu.Lock()" }},
		{"no file", "no such file", func(m *mutants.Mutant) { m.File = "lifecycle/nothing.go" }},
		{"no change", "changes nothing", func(m *mutants.Mutant) { m.New = m.Old }},
		{"no suite", "a field is empty", func(m *mutants.Mutant) { m.Suites = nil }},
		{"the same name", "occurs twice", func(m *mutants.Mutant) { m.Name = "other" }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			other, spoilt := harmless(), harmless()
			other.Name = "other"
			require.NoError(t, mutants.Check(root(t), []mutants.Mutant{other, spoilt}))
			test.spoil(&spoilt)
			require.ErrorContains(t, mutants.Check(root(t), []mutants.Mutant{other, spoilt}), test.err)
		})
	}
}

func TestEveryPromiseHasAMutant(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, m := range mutants.Table() {
		found[m.Promise] = true
	}
	for _, promise := range []string{"G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9", "G10", "E1", "E2", "E3"} {
		require.True(t, found[promise], promise)
	}
}

func TestSampleIsAboutAQuarterAndFollowsItsSeed(t *testing.T) {
	t.Parallel()
	all := mutants.Table()
	names := map[string]bool{}
	for _, seed := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
		sample := mutants.Sample(all, seed)
		require.Equal(t, sample, mutants.Sample(all, seed))
		require.InDelta(t, len(all)/4, len(sample), float64(len(all))/8)
		for _, m := range sample {
			names[m.Name] = true
		}
	}
	require.Greater(t, len(names), len(all)*9/10, "other seeds choose others")
}
