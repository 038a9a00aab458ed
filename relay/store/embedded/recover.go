package embedded

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// probeBytes is what a broken database's folder must take before the database is
// opened anew: opening replays the log and writes tables.
const probeBytes = 1 << 20

var errReopened = errors.New("database is opened anew after a failure")

// recover opens the database anew after the failure cause. Until the folder
// takes writes the old one is kept, since it can still be read.
func (s *Store) recover(cause error) error {
	if err := writeProbe(s.fs, s.dir, probeBytes); err != nil {
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

func (s *Store) reopen() error {
	e, err := openEngine(s.fs, s.dir, s.lock, s.opt)
	if err != nil {
		return err
	}
	if err := s.adopt(e); err != nil {
		return errors.Join(err, e.close())
	}
	s.wake()
	s.opt.Logger.Info("database opened anew")
	return nil
}

// writeProbe writes a file of n bytes durably and removes it.
func writeProbe(fs vfs.FS, dir string, n int) error {
	path := fs.PathJoin(dir, "probe")
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, n))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), fs.Remove(path))
}
