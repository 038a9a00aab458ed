package commit

import (
	"time"

	"fencepost/relay/store"
)

// Request is one call that waits for the writer: writes to append, a sweep, events to
// erase, or the log to trim. F is how the store names a stored event.
type Request[F any] struct {
	// Set by the caller, not changed once queued.
	Writes  []store.Write
	Until   time.Time        // of a sweep; zero for the others
	Erasure *store.Erasure   // nil for the others
	Found   []F              // what it selects
	Keep    *store.Retention // of a trim; nil for the others
	Now     time.Time        // the time of a trim
	Letter  *LetterChange    // nil for the others
	Bytes   int              // what it takes in memory, about

	// Set by the writer before it calls Answered.
	Outcomes []store.Outcome // one for each of Writes
	Removed  int             // by a sweep or an erasure, rows that a trim has looked at, dead letters that were taken
	Err      error

	done chan struct{} // closed by Answered
}

// LetterChange puts a dead letter, or takes it away.
type LetterChange struct {
	store.DeadLetter
	Take bool
}

// Append returns the request of writes, which take about bytes in memory.
func Append[F any](writes []store.Write, bytes int) *Request[F] {
	return &Request[F]{Writes: writes, Bytes: bytes, Outcomes: make([]store.Outcome, len(writes))}
}

// IsSweep reports whether r is a sweep.
func (r *Request[F]) IsSweep() bool { return !r.Until.IsZero() }

// alone reports whether r has a commit for itself: it looks at the database only, or is
// large.
func (r *Request[F]) alone() bool { return r.IsSweep() || r.Erasure != nil || r.Keep != nil }

// Fail answers the request with err. It does not call Answered.
func (r *Request[F]) Fail(err error) {
	r.Err, r.Removed = err, 0
	for i := range r.Outcomes {
		r.Outcomes[i] = store.Outcome{Err: err}
	}
}

// Answered ends the wait of the caller. The writer calls it once.
func (r *Request[F]) Answered() { close(r.done) }
