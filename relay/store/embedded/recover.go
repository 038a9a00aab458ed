package embedded

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// probeBytes is what a broken database's folder must take, beside the size of
// the write-ahead log, before the database is opened anew: opening writes the
// log's content as tables, and Pebble tries that without end.
const probeBytes = 1 << 20

// retryAfter is how long an attempt to open the database anew that failed keeps
// the next one off: each ends the open snapshots.
const retryAfter = time.Second

var errReopened = errors.New("database is opened anew after a failure")

// recover opens the database anew after the failure cause. Until the folder
// takes writes the old one is kept, since it can still be read.
func (s *Store) recover(cause error) error {
	if time.Since(s.failedAt) < retryAfter {
		return cause
	}
	if err := writeProbe(s.fs, s.dir, probeBytes+logBytes(s.fs, s.dir)); err != nil {
		return fmt.Errorf("%w (since: %w)", err, cause)
	}
	if err := s.retire(errReopened); err != nil {
		s.opt.Logger.Warn("end snapshots", "err", err)
	}
	old := s.engine
	s.engine = nil
	// What Close complains about is the failure that is known already.
	if err := old.close(); err != nil {
		s.opt.Logger.Warn("close broken database", "err", err)
	}
	return s.reopen()
}

// reopen opens the database, for reading alone when it cannot be written.
func (s *Store) reopen() error {
	e, err := openBest(s.fs, s.dir, s.lock, s.opt)
	if err != nil {
		return err
	}
	if err := s.adopt(e); err != nil {
		return errors.Join(err, e.close())
	}
	s.wake()
	if err := e.health.fatal(); err != nil {
		s.failedAt = time.Now()
		return err
	}
	return nil
}

// logBytes is the size of the write-ahead log, as far as it can be told.
func logBytes(fs vfs.FS, dir string) (total int) {
	names, err := fs.List(dir)
	if err != nil {
		return 0
	}
	for _, name := range names {
		if info, err := fs.Stat(fs.PathJoin(dir, name)); err == nil && strings.HasSuffix(name, logSuffix) {
			total += int(info.Size())
		}
	}
	return total
}

// writeProbe writes a file of n bytes durably and removes it.
func writeProbe(fs vfs.FS, dir string, n int) error {
	path := fs.PathJoin(dir, "probe")
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	block := make([]byte, min(n, 1<<20))
	for left := n; left > 0 && err == nil; left -= len(block) {
		_, err = f.Write(block[:min(left, len(block))])
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), fs.Remove(path))
}

var errDiskFull = errors.New("disk is full")

// checkSpace refuses to fill the disk to its brim, where Pebble could not flush.
func checkSpace(fs vfs.FS, dir string, minFree int64) error {
	if minFree < 0 {
		return nil
	}
	usage, err := fs.GetDiskUsage(dir)
	if err != nil {
		return nil // a file system that does not say; the commit will find out
	}
	if usage.AvailBytes < uint64(minFree) {
		return fmt.Errorf("%w: %d bytes are free, %d are kept", errDiskFull, usage.AvailBytes, minFree)
	}
	return nil
}
