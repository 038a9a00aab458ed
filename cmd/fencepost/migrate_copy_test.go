package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	main "fencepost/cmd/fencepost"
	"fencepost/regress/postgres"
)

var sumLine = regexp.MustCompile(`(?m)^(original|copy): +(\d+ events, \d+ control rows, \d+ marks), digest ([0-9a-f]{64})$`)

// copyStore runs the command and returns what both stores hold.
func copyStore(t *testing.T, from, to string) string {
	t.Helper()
	r := main.Run(t.Context(), nil, "migrate", "copy", "--from", from, "--to", to)
	require.Zero(t, r.Code, r.Stderr)
	sums := sumLine.FindAllStringSubmatch(r.Stdout, -1)
	require.Len(t, sums, 2, r.Stdout)
	require.Equal(t, sums[0][2:], sums[1][2:])
	return sums[0][2] + sums[0][3]
}

func TestMigrateCopyIntoADatabaseAndBack(t *testing.T) {
	t.Parallel()
	database := postgres.Start(t).Database(t)
	dir, back := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "back")
	r := main.Run(t.Context(), nil, "import", "--data", dir, testdata)
	require.Zero(t, r.Code, r.Stderr)
	key := []byte(strings.Repeat("17", 32) + "\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "relay.key"), key, 0o600))

	sum := copyStore(t, dir, database)
	require.Equal(t, sum, copyStore(t, dir, database), "a complete copy is compared again")
	require.Equal(t, sum, copyStore(t, database, back))
	got, err := os.ReadFile(filepath.Join(back, "relay.key"))
	require.NoError(t, err)
	require.Equal(t, string(key), string(got))
	original := main.Run(t.Context(), nil, "export", "--data", dir)
	require.Equal(t, original, main.Run(t.Context(), nil, "export", "--data", back))
	env := []string{"FENCEPOST_STORE_POSTGRES_URL=" + database}
	require.Equal(t, original, main.RunWith(t.Context(), nil, env, "export"))
}

func TestMigrateCopyRefusals(t *testing.T) {
	t.Parallel()
	folder := func() string { return filepath.Join(t.TempDir(), "data") }
	from, full, keyed, other := folder(), folder(), folder(), folder()
	for _, dir := range []string{from, full, other} {
		require.Zero(t, main.Run(t.Context(), nil, "import", "--data", dir, testdata).Code)
	}
	require.NoError(t, os.Mkdir(keyed, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(keyed, "relay.key"), []byte(strings.Repeat("17", 32)), 0o600))
	target := folder()
	copyStore(t, from, target)
	for name, c := range map[string]struct{ from, to, want string }{
		"no folder":               {folder(), folder(), "no such file"},
		"no store":                {t.TempDir(), folder(), "there is no store to copy"},
		"a store with events":     {from, full, "the target is not empty"},
		"a relay's folder":        {from, keyed, "the target is not empty: a relay has run on it; copy into a new database or folder"},
		"a copy of another store": {other, target, "the target holds a copy of another store"},
		"into itself":             {from, from, "store is in use"},
	} {
		r := main.Run(t.Context(), nil, "migrate", "copy", "--from", c.from, "--to", c.to)
		require.Equal(t, 1, r.Code, name)
		require.Contains(t, r.Stderr, c.want, name)
		require.Empty(t, r.Stdout, name)
	}
	require.Zero(t, main.Run(t.Context(), strings.NewReader(""), "import", "--data", target, "-").Code, "a complete copy is an ordinary store")
}

func TestMigrateCopyShowsADifference(t *testing.T) {
	t.Parallel()
	from, to := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "data")
	require.Zero(t, main.Run(t.Context(), nil, "import", "--data", from, testdata).Code)
	copyStore(t, from, to)
	more := strings.NewReader(string(signedAt(t, 1, 1_700_000_000, "one more").Raw()) + "\n")
	require.Zero(t, main.Run(t.Context(), more, "import", "--data", to, "-").Code)
	r := main.Run(t.Context(), nil, "migrate", "copy", "--from", from, "--to", to)
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "the copy differs from the original")
	sums := sumLine.FindAllStringSubmatch(r.Stdout, -1)
	require.Len(t, sums, 2)
	require.NotEqual(t, sums[0][3], sums[1][3])
}
