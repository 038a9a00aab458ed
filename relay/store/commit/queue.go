package commit

import (
	"context"
	"sync"

	"fencepost/relay/store"
)

// What one commit takes at most; a single call is never divided.
const (
	maxWrites = 1000
	maxBytes  = 8 << 20
)

// QueueBytes is how much waits for the writer; the call that passes it is the
// last that is let in.
const QueueBytes = 16 << 20

// Queue holds requests in the order of their arrival, bounded in bytes.
type Queue[F any] struct {
	wake chan struct{} // one wake-up for the writer; never closed

	mu sync.Mutex // guards the fields below
	// +checklocks:mu
	waiting []*Request[F]
	// +checklocks:mu
	bytes int
	// +checklocks:mu
	closed bool
	// +checklocks:mu
	room chan struct{} // closed and replaced when requests leave
}

// NewQueue returns an empty queue.
func NewQueue[F any]() *Queue[F] {
	return &Queue[F]{wake: make(chan struct{}, 1), room: make(chan struct{})}
}

// Do queues r and waits until the writer has answered it; it blocks while the queue is
// full. When ctx ends before the writer took r, r is withdrawn and fails with ctx's
// error; after that the outcome is waited for, since the caller must learn it and commits
// are short. A closed queue fails it with store.ErrClosed.
func (q *Queue[F]) Do(ctx context.Context, r *Request[F]) {
	r.done = make(chan struct{})
	if err := q.push(ctx, r); err != nil {
		r.Fail(err)
		return
	}
	select {
	case <-r.done:
		return
	case <-ctx.Done():
	}
	if q.withdraw(r) {
		r.Fail(ctx.Err())
		return
	}
	<-r.done
}

func (q *Queue[F]) push(ctx context.Context, r *Request[F]) error {
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
func (q *Queue[F]) tryPush(r *Request[F]) (room <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, store.ErrClosed
	}
	if q.bytes >= QueueBytes {
		return q.room, nil
	}
	q.waiting = append(q.waiting, r)
	q.bytes += r.Bytes
	q.signal()
	return nil, nil
}

// withdraw takes r back; false when the writer has it.
func (q *Queue[F]) withdraw(r *Request[F]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, w := range q.waiting {
		if w == r {
			q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
			q.leftLocked(r.Bytes)
			return true
		}
	}
	return false
}

// Take waits for requests and returns what one commit can hold; a sweep, an erasure or a
// trim is always alone. Not ok when the queue is closed and empty. One goroutine calls it.
func (q *Queue[F]) Take() (taken []*Request[F], ok bool) {
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

func (q *Queue[F]) tryTake() (taken []*Request[F], closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	writes, bytes := 0, 0
	for _, r := range q.waiting {
		writes += len(r.Writes)
		bytes += r.Bytes
		if len(taken) > 0 && (r.alone() || writes > maxWrites || bytes > maxBytes) {
			bytes -= r.Bytes
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

// Rest takes what waits now, all of it, and does not wait. The goroutine of Take calls it.
func (q *Queue[F]) Rest() (taken []*Request[F]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken, q.waiting = q.waiting, nil
	q.leftLocked(q.bytes)
	return taken
}

// leftLocked accounts for requests that left the queue.
func (q *Queue[F]) leftLocked(bytes int) {
	q.bytes -= bytes
	close(q.room)
	q.room = make(chan struct{})
	if len(q.waiting) == 0 {
		q.waiting = nil
	}
}

// Waiting returns how many requests the writer has not taken yet.
func (q *Queue[F]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// Close refuses further requests; those that wait are still answered.
func (q *Queue[F]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

func (q *Queue[F]) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
