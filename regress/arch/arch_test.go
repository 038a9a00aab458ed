package arch_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/regress/arch"
)

const root = "../.."

var load = sync.OnceValues(func() ([]*arch.File, error) { return arch.Load(root) })

func house(t *testing.T) []*arch.File {
	t.Helper()
	files, err := load()
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// perFile are the rules that look at one file at a time.
var perFile = map[string]func(*arch.File) []arch.Finding{
	"imports":    arch.Imports,
	"size":       arch.Size,
	"sleep":      arch.Sleep,
	"background": arch.Background,
	"goroutines": arch.Goroutines,
	"init":       arch.Inits,
	"skips":      arch.Skips,
}

func TestEveryFileKeepsTheRules(t *testing.T) {
	t.Parallel()
	for name, rule := range perFile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, f := range house(t) {
				report(t, rule(f))
			}
		})
	}
}

func TestPackagesHaveAContractAndAName(t *testing.T) {
	t.Parallel()
	report(t, arch.Packages(house(t)))
}

func TestTheCommandReachesNoTestCode(t *testing.T) {
	t.Parallel()
	report(t, arch.Reach(house(t)))
}

func TestTopLevelIsFixed(t *testing.T) {
	t.Parallel()
	found, err := arch.Top(root)
	require.NoError(t, err)
	report(t, found)
}

// Whoever adds an exception reads it here.
func TestExceptionsStandInTheTable(t *testing.T) {
	t.Parallel()
	paths := map[string]bool{}
	for _, f := range house(t) {
		paths[f.Path] = true
	}
	for path, why := range arch.MayGo {
		t.Logf("%s may start goroutines: %s", path, why)
		assert.True(t, paths[path], "%s is gone: take it out of the table", path)
		assert.NotEmpty(t, why)
	}
}

func report(t *testing.T, found []arch.Finding) {
	t.Helper()
	for _, f := range found {
		t.Error(f)
	}
}
