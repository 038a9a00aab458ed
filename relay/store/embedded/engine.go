package embedded

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"fencepost/relay/store/aio"
)

// engine is one opening of the database.
type engine struct {
	// Set at construction, never changed.
	db     *pebble.DB
	health *health
	syncer *aio.Syncer // of the write-ahead log; nil where there is none
}

// openBest opens the database; for reading alone, with the failure in its
// health, when it cannot be written.
func openBest(fs vfs.FS, dir string, lock *pebble.Lock, o Options) (*engine, error) {
	failure := checkSpace(fs, dir, o.MinFreeBytes)
	if failure == nil {
		e, err := openEngine(fs, dir, lock, o)
		if err == nil {
			return e, nil
		}
		failure = err
	}
	e, err := openReadOnly(fs, dir, lock, o, failure)
	if err != nil {
		return nil, errors.Join(failure, err)
	}
	return e, nil
}

func openEngine(fs vfs.FS, dir string, lock *pebble.Lock, o Options) (*engine, error) {
	h := newHealth(o.Logger, nil)
	syncer, err := aio.New()
	if err != nil {
		o.Logger.Debug("commits are synced by a thread that waits", "err", err)
	}
	opt := databaseOptions(guardFS{FS: fs, health: h, syncer: syncer}, lock, o)
	opt.Logger = h
	opt.EventListener = h.listener()
	db, err := pebble.Open(dir, opt)
	if err == nil && h.fatal() != nil {
		_ = db.Close() // the fatal error says why it is of no use
		err = h.fatal()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), syncer.Close())
	}
	return &engine{db: db, health: h, syncer: syncer}, nil
}

// openReadOnly opens the database for reading where it cannot be written
// because of cause.
func openReadOnly(fs vfs.FS, dir string, lock *pebble.Lock, o Options, cause error) (*engine, error) {
	h := newHealth(o.Logger, cause)
	opt := databaseOptions(fs, lock, o)
	opt.Logger = h
	opt.EventListener = h.listener()
	opt.ReadOnly = true
	db, err := pebble.Open(dir, opt)
	if err != nil {
		return nil, fmt.Errorf("open database for reading: %w", err)
	}
	return &engine{db: db, health: h}, nil
}

// commit makes the batch durable. After an error the engine takes no further
// commit: Pebble has shown the batch to its readers already, and its log is
// broken.
func (e *engine) commit(b *pebble.Batch) error {
	if err := b.Commit(pebble.Sync); err != nil {
		e.health.fail(err)
		return err
	}
	return e.health.fatal() // the log's errors do not reach Pebble, see guardFS
}

// close releases the database. It must be called once.
func (e *engine) close() error {
	close(e.health.closing)
	return errors.Join(e.db.Close(), e.syncer.Close())
}
