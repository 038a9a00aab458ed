package postgres

import (
	"context"
	"sync"
	"time"

	"fencepost/relay/store"
)

// What one commit takes at most; a single call is never divided.
const (
	commitEvents = 1000
	commitBytes  = 8 << 20
)

// queueBytes is how much waits for the writer; the call that passes it is the
// last that is let in.
const queueBytes = 16 << 20

// request is one call that waits for the writer: writes to append, a sweep, or
// events to erase.
type request struct {
	// Set by the caller, not changed once queued.
	writes  []store.Write
	until   time.Time      // of a sweep; zero for the others
	erasure *store.Erasure // nil for the others
	found   []uint64       // positions of what it selects
	bytes   int

	// Set by the writer before done is closed.
	outcomes []store.Outcome
	removed  int // by a sweep or an erasure
	err      error
	done     chan struct{}
}

func (r *request) isSweep() bool { return !r.until.IsZero() }

// alone reports whether r has a commit for itself: both of these are large.
func (r *request) alone() bool { return r.isSweep() || r.erasure != nil }

// fail answers the request with err.
func (r *request) fail(err error) {
	r.err, r.removed = err, 0
	for i := range r.outcomes {
		r.outcomes[i] = store.Outcome{Err: err}
	}
}

// queue holds requests in the order of their arrival, bounded in bytes.
type queue struct {
	wake chan struct{} // one wake-up for the writer; never closed

	mu sync.Mutex // guards the fields below
	// +checklocks:mu
	waiting []*request
	// +checklocks:mu
	bytes int
	// +checklocks:mu
	closed bool
	// +checklocks:mu
	room chan struct{} // closed and replaced when requests leave
}

func newQueue() *queue {
	return &queue{wake: make(chan struct{}, 1), room: make(chan struct{})}
}

// do queues r and waits until the writer has answered it. When ctx ends before
// the writer took it, it is withdrawn; after that the outcome is waited for,
// since the caller must learn it and commits are short.
func (q *queue) do(ctx context.Context, r *request) {
	if err := q.push(ctx, r); err != nil {
		r.fail(err)
		return
	}
	select {
	case <-r.done:
		return
	case <-ctx.Done():
	}
	if q.withdraw(r) {
		r.fail(ctx.Err())
		return
	}
	<-r.done
}

func (q *queue) push(ctx context.Context, r *request) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		room, err := q.tryPush(r)
		if err != nil || room == nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
		}
	}
}

// tryPush queues r, or returns the channel that is closed when there may be room.
func (q *queue) tryPush(r *request) (room <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, store.ErrClosed
	}
	if q.bytes >= queueBytes {
		return q.room, nil
	}
	q.waiting = append(q.waiting, r)
	q.bytes += r.bytes
	q.signal()
	return nil, nil
}

// withdraw takes r back; false when the writer has it.
func (q *queue) withdraw(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, w := range q.waiting {
		if w == r {
			q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
			q.leftLocked(r.bytes)
			return true
		}
	}
	return false
}

// take waits for requests and returns what one commit can hold, a sweep or
// an erasure always alone. Not ok when the queue is closed and empty.
func (q *queue) take() (taken []*request, ok bool) {
	for {
		taken, closed := q.tryTake()
		if len(taken) > 0 {
			return taken, true
		}
		if closed {
			return nil, false
		}
		<-q.wake
	}
}

func (q *queue) tryTake() (taken []*request, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	events, bytes := 0, 0
	for _, r := range q.waiting {
		events += len(r.writes)
		bytes += r.bytes
		if len(taken) > 0 && (r.alone() || events > commitEvents || bytes > commitBytes) {
			bytes -= r.bytes
			break
		}
		taken = append(taken, r)
		if r.alone() {
			break
		}
	}
	q.waiting = q.waiting[len(taken):]
	q.leftLocked(bytes)
	return taken, q.closed
}

// leftLocked accounts for requests that left the queue.
func (q *queue) leftLocked(bytes int) {
	q.bytes -= bytes
	close(q.room)
	q.room = make(chan struct{})
	if len(q.waiting) == 0 {
		q.waiting = nil
	}
}

// close refuses further requests; those that wait are still answered.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
