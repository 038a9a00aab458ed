package embedded_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// Earlier versions left such a folder on a disk without room for a log as well, and then nothing is lost.
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
	before := logInfo(t, s).Epoch
	require.NoError(t, s.Close())
	require.Empty(t, said.String())

	moveLogs(t, dir, t.TempDir())
	s, err = embedded.Open(dir, opt)
	require.NoError(t, err)
	require.Contains(t, said.String(), "data folder has no write-ahead log")
	now := logInfo(t, s).Epoch
	require.NotEqual(t, before, now, "who resumes from a position that is lost is told so")
	require.NoError(t, s.Close())
	s = openDir(t, dir)
	require.Equal(t, now, logInfo(t, s).Epoch)
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

// hasLog reports whether there is a file of the write-ahead log.
func hasLog(t *testing.T, fs vfs.FS) bool {
	t.Helper()
	names, err := fs.List("data")
	return err == nil && slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, ".log") })
}

// Pebble removes the logs that it has replayed in a goroutine of its own, at times before it
// has made the next one: which may fail.
func TestALogStaysUntilThereIsAnotherOne(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("data", 0o700))
	write := func(fs vfs.FS, name string) {
		f, err := fs.Create("data/"+name, vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	write(fs, "000002.log")
	guarded := embedded.Guarded(fs)
	require.NoError(t, guarded.Remove("data/000002.log"))
	require.True(t, hasLog(t, fs))
	write(guarded, "000004.log")
	require.NoError(t, guarded.Remove("data/000002.log"))
	_, err := fs.Stat("data/000002.log")
	require.Error(t, err)
	require.True(t, hasLog(t, fs))
}

// A log that the disk did not take is none that was removed, whatever the folder held before and
// whichever operation on logs failed, for once or from then on.
func TestALogThatFailedIsNoneThatWasRemoved(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T, fs vfs.FS){
		"an empty folder": func(*testing.T, vfs.FS) {},
		"a start that was killed": func(t *testing.T, fs vfs.FS) {
			db, err := pebble.Open("data", &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}})
			require.NoError(t, err)
			require.NoError(t, db.Close())
		},
		"a store": func(t *testing.T, fs vfs.FS) {
			s := openFS(t, fs)
			put(t, s, note(1))
			require.NoError(t, s.Close())
		},
	} {
		for _, once := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, once %t", name, once), func(t *testing.T) {
				t.Parallel()
				for passes := int64(0); ; passes++ {
					d := newDisk()
					begin(t, d)
					d.part, d.once = ".log", once
					d.passes.Store(passes)
					had := hasLog(t, d)
					d.full.Store(true)
					var known []string
					if s, err := embedded.OpenFS(d, "data", embedded.Options{}); err == nil {
						_ = appendOne(s, note(2)).Err // known tells
						known = storedIDs(t, s)
						_ = s.Close() // may report what is wrong with the disk
					}
					d.full.Store(false)
					require.True(t, !had || hasLog(t, d), "operation %d", passes)
					var said bytes.Buffer
					s, err := embedded.OpenFS(d, "data", embedded.Options{Logger: slog.New(slog.NewTextHandler(&said, nil))})
					require.NoError(t, err, "operation %d", passes)
					require.NotContains(t, said.String(), "no write-ahead log", "operation %d", passes)
					require.Subset(t, storedIDs(t, s), known)
					put(t, s, note(3))
					require.NoError(t, s.Close())
					if d.failures.Load() == 0 {
						return
					}
				}
			})
		}
	}
}
