package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// retryPause is how long Pebble, which tries again at once what failed in the
// background, is kept from the next attempt.
const retryPause = 100 * time.Millisecond

// health is what Pebble tells of itself. It implements pebble.Logger: a fatal
// error, which Pebble's own logger answers by ending the process, is kept
// instead, and the store stops committing.
type health struct {
	// Set at construction, never changed.
	log     *slog.Logger
	closing chan struct{} // closed when the engine is

	logged atomic.Bool // the engine has made a log

	mu sync.Mutex // guards the fields below
	// +checklocks:mu
	broken error // the first fatal error; it stays
	// +checklocks:mu
	lastFlush error // how the last flush ended
	// +checklocks:mu
	flushing error // why flushes fail; nil when they do not
	// +checklocks:mu
	setback bool // background work failed, and no pause was made for it yet
}

func newHealth(log *slog.Logger, broken error) *health {
	return &health{log: log, closing: make(chan struct{}), broken: broken}
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
		// Pebble tries a flush again without end: said once as an error.
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
	h.setback = true
	if h.lastFlush == nil || !errors.Is(err, h.lastFlush) {
		return false
	}
	fresh = h.flushing == nil
	h.flushing = err
	return fresh
}

// pause waits for a moment if background work has failed since the last pause.
// The work that is about to make a table calls it, which holds none of Pebble's
// locks: commits and readers go on meanwhile.
func (h *health) pause() {
	if !h.takeSetback() {
		return
	}
	timer := time.NewTimer(retryPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.closing:
	}
}

func (h *health) takeSetback() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	had := h.setback
	h.setback = false
	return had
}
