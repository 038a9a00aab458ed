package embedded_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store/embedded"
)

// moveLogs moves the write-ahead log of a store that is closed.
func moveLogs(t *testing.T, from, to string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(from, "*.log"))
	require.NoError(t, err)
	require.NotEmpty(t, logs)
	for _, path := range logs {
		require.NoError(t, os.Rename(path, filepath.Join(to, filepath.Base(path))))
	}
}

// Pebble by itself begins a new database there.
func TestAFolderThatLostEverythingIsRefused(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	s := openDir(t, dir)
	put(t, s, note(1))
	require.NoError(t, s.Close())
	moveLogs(t, dir, elsewhere)
	for range 2 { // a refusal changes nothing
		_, err := embedded.Open(dir, embedded.Options{})
		require.ErrorContains(t, err, "the write-ahead log (*.log) was removed")
	}
	moveLogs(t, elsewhere, dir)
	s = openDir(t, dir)
	require.Equal(t, []string{note(1).ID}, storedIDs(t, s))
	require.NoError(t, s.Close())
}

// A disk without room for a log leaves a folder without one as well, and loses nothing.
func TestAFolderThatLostItsNewestEventsSaysSo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 2 { // the second Open writes a table of what the first left
		s := openDir(t, dir)
		put(t, s, note(i))
		require.NoError(t, s.Close())
	}
	var said bytes.Buffer
	opt := embedded.Options{Logger: slog.New(slog.NewTextHandler(&said, nil))}
	s, err := embedded.Open(dir, opt)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.Empty(t, said.String())

	moveLogs(t, dir, t.TempDir())
	s, err = embedded.Open(dir, opt)
	require.NoError(t, err)
	require.Contains(t, said.String(), "data folder has no write-ahead log")
	require.NoError(t, s.Close())
}

// A first start that was killed before it had a schema is no store that was lost.
func TestAFolderInWhichNothingHadBegunIsANewOne(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	db, err := pebble.Open("data", &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}})
	require.NoError(t, err)
	require.NoError(t, db.Close())
	s := openFS(t, fs)
	put(t, s, note(1))
	require.NoError(t, s.Close())
}
