package embedded

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"fencepost/relay/store/aio"
)

// What the names of files have: of the write-ahead log, of tables, and of Pebble's options.
const (
	logSuffix     = ".log"
	tableSuffix   = ".sst"
	optionsPrefix = "OPTIONS-"
)

// guardFS keeps errors of the write-ahead log away from Pebble, which answers
// them by panics that cannot be recovered from. The first one breaks the engine:
// the commit that met it fails, see engine.commit, and none is begun any more.
// From then on the log's files stay as they are on disk, as if the process had
// died at that moment: what Pebble still writes to them is dropped, none is removed,
// and its file of options is not replaced, so that checkLog misses no log that was never made.
//
// It syncs them without a thread that waits, where that is possible: see aio.
//
// It also keeps a table that could not be written from being tried again at once.
type guardFS struct {
	vfs.FS
	health *health
	syncer *aio.Syncer // nil: files are synced by the calling thread
}

// Create implements vfs.FS.
func (g guardFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasSuffix(name, tableSuffix) {
		g.health.pause()
	}
	return g.guard(name, category, func() (vfs.File, error) { return g.FS.Create(name, category) })
}

// ReuseForWrite implements vfs.FS.
func (g guardFS) ReuseForWrite(from, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return g.guard(name, category, func() (vfs.File, error) { return g.FS.ReuseForWrite(from, name, category) })
}

// Remove implements vfs.FS.
func (g guardFS) Remove(name string) error {
	if g.stays(name) {
		return nil
	}
	return g.FS.Remove(name)
}

// Rename implements vfs.FS.
func (g guardFS) Rename(from, to string) error {
	if g.stays(to) {
		return nil // an error would have Pebble give up in the middle of Open
	}
	return g.FS.Rename(from, to)
}

// stays reports whether name is one of the files by which checkLog tells what was removed,
// and the engine is broken: what came next may be in a log in memory. A log stays too until
// there is another one: Pebble removes what it has replayed before it makes its own.
func (g guardFS) stays(name string) bool {
	name = g.PathBase(name)
	if strings.HasSuffix(name, logSuffix) && !g.health.logged.Load() {
		return true // the next Open removes it
	}
	return (strings.HasSuffix(name, logSuffix) || strings.HasPrefix(name, optionsPrefix)) && g.health.fatal() != nil
}

// Unwrap implements vfs.FS.
func (g guardFS) Unwrap() vfs.FS { return g.FS }

// guard makes a file; a log that cannot be made is one in memory.
func (g guardFS) guard(name string, category vfs.DiskWriteCategory, create func() (vfs.File, error)) (vfs.File, error) {
	if !strings.HasSuffix(name, logSuffix) {
		return create()
	}
	if g.health.fatal() == nil {
		f, err := create()
		if err == nil {
			g.health.logged.Store(true)
			return guardFile{File: f, guard: g}, nil
		}
		g.health.fail(err)
	}
	f, err := vfs.NewMem().Create("log", category)
	return guardFile{File: f, guard: g}, err
}

// guardFile is a file of the write-ahead log.
type guardFile struct {
	vfs.File
	guard guardFS
}

// Write implements vfs.File.
func (f guardFile) Write(p []byte) (int, error) {
	return len(p), f.try(func() error { _, err := f.File.Write(p); return err })
}

// Sync implements vfs.File.
func (f guardFile) Sync() error { return f.try(f.File.Sync) }

// SyncData implements vfs.File.
func (f guardFile) SyncData() error { return f.try(f.syncData) }

func (f guardFile) syncData() error {
	if fd := f.Fd(); f.guard.syncer != nil && fd != vfs.InvalidFd {
		return f.guard.syncer.Sync(fd)
	}
	return f.File.SyncData()
}

// SyncTo implements vfs.File.
func (f guardFile) SyncTo(length int64) (full bool, err error) {
	return full, f.try(func() error { full, err = f.File.SyncTo(length); return err })
}

// Close implements vfs.File.
func (f guardFile) Close() error {
	if err := f.File.Close(); err != nil {
		f.guard.health.fail(err)
	}
	return nil
}

// try does nothing once the engine is broken, and never returns an error.
func (f guardFile) try(do func() error) error {
	if f.guard.health.fatal() != nil {
		return nil
	}
	if err := do(); err != nil {
		f.guard.health.fail(err)
	}
	return nil
}
