package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// engine is one opening of the database.
type engine struct {
	// Set at construction, never changed.
	db     *pebble.DB
	health *health
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
	h := &health{log: o.Logger}
	opt := databaseOptions(guardFS{FS: fs, health: h}, lock, o)
	opt.Logger = h
	opt.EventListener = h.listener()
	db, err := pebble.Open(dir, opt)
	if err == nil && h.fatal() != nil {
		_ = db.Close() // the fatal error says why it is of no use
		err = h.fatal()
	}
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return &engine{db: db, health: h}, nil
}

// openReadOnly opens the database for reading where it cannot be written
// because of cause.
func openReadOnly(fs vfs.FS, dir string, lock *pebble.Lock, o Options, cause error) (*engine, error) {
	h := &health{log: o.Logger, broken: cause}
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

// close releases the database.
func (e *engine) close() error { return e.db.Close() }

// health is what Pebble tells of itself. It implements pebble.Logger: a fatal
// error, which Pebble's own logger answers by ending the process, is kept
// instead, and the store stops committing.
type health struct {
	log *slog.Logger

	mu sync.Mutex // guards the fields below
	// +checklocks:mu
	broken error // the first fatal error; it stays
	// +checklocks:mu
	lastFlush error // how the last flush ended
	// +checklocks:mu
	flushing error // why flushes fail; nil when they do not
}

// Infof implements pebble.Logger; what it gets is of no use to an operator.
func (h *health) Infof(string, ...any) {}

// Errorf implements pebble.Logger.
func (h *health) Errorf(format string, args ...any) {
	h.log.Warn("database reports an error", "err", fmt.Sprintf(format, args...))
}

// Fatalf implements pebble.Logger. It returns, and every caller in Pebble then
// returns an error or has done its work; see engine.commit for the commit.
func (h *health) Fatalf(format string, args ...any) {
	failure := fatalError{text: fmt.Sprintf(format, args...)}
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			failure.cause = err
		}
	}
	h.fail(failure)
}

// fatalError keeps the cause, which Pebble only formats.
type fatalError struct {
	text  string
	cause error
}

func (e fatalError) Error() string { return e.text }
func (e fatalError) Unwrap() error { return e.cause }

func (h *health) fail(err error) {
	if h.setBroken(err) {
		h.log.Error("database takes no more writes", "err", err)
	}
}

func (h *health) setBroken(err error) (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	first = h.broken == nil
	if first {
		h.broken = err
	}
	return first
}

// fatal returns the error after which the engine takes no commit, or nil.
func (h *health) fatal() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.broken
}

// stalled returns the error of the last flush: while flushes fail a commit
// could wait in vain for memory, so it is not begun.
func (h *health) stalled() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.flushing
}

func (h *health) listener() *pebble.EventListener {
	return &pebble.EventListener{
		FlushEnd: func(info pebble.FlushInfo) { h.flushEnded(info.Err) },
		// Pebble tries a flush again at once and without end: said once as an error.
		BackgroundError: func(err error) {
			if h.flushFailed(err) {
				h.log.Error("database cannot write its tables", "err", err)
				return
			}
			h.log.Debug("database background work", "err", err)
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			h.log.Error("database is damaged", "err", info.Details, "path", info.Path)
		},
	}
}

// flushEnded notes how a flush ended. An error is not a failure yet: a flush that
// had nothing to write ends with one too, and Pebble does not export it. Only a
// failure is reported as a background error next.
func (h *health) flushEnded(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lastFlush = err
	if err == nil {
		h.flushing = nil
	}
}

// flushFailed reports whether err, a background error, is that of the last flush
// and the first in a row.
func (h *health) flushFailed(err error) (fresh bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lastFlush == nil || !errors.Is(err, h.lastFlush) {
		return false
	}
	fresh = h.flushing == nil
	h.flushing = err
	return fresh
}
