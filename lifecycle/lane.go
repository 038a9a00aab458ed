package lifecycle

import (
	"context"
	"slices"
	"sync"
)

// Pool is a fixed set of workers for short CPU work, shared by all connections.
type Pool struct {
	jobs chan func() // never closed
}

// NewPool starts n workers in g.
func NewPool(g *Group, n int) *Pool {
	p := &Pool{jobs: make(chan func(), 4*n)}
	for range n {
		g.Go("pool", p.work)
	}
	return p
}

func (p *Pool) work(ctx context.Context) {
	for {
		select {
		case job := <-p.jobs:
			job()
		case <-ctx.Done():
			return
		}
	}
}

// Do hands job to a worker; it blocks while all are busy and the line is full.
func (p *Pool) Do(ctx context.Context, job func()) error {
	select {
	case p.jobs <- job:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Run has a worker run job and waits for it, or until ctx ends: job may then still
// run. A panic of job is raised in the caller, whose connection it concerns.
func (p *Pool) Run(ctx context.Context, job func()) error {
	done := make(chan any, 1)
	err := p.Do(ctx, func() {
		defer func() { done <- recover() }()
		job()
	})
	if err != nil {
		return err
	}
	select {
	case panicked := <-done:
		if panicked != nil {
			panic(panicked)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Lane runs items through a parallel stage and then, in the order in which they
// were pushed, through a serial one (G9). The serial stage takes whatever is
// ready together. Its goroutine lives only while there are items.
type Lane[T any] struct {
	// Set at construction, never changed.
	group *Group
	pool  *Pool
	flush func(ctx context.Context, batch []T)
	limit Limits

	mu sync.Mutex // guards the fields below; never held across a callback
	// +checklocks:mu
	items []*laneItem[T] // in push order
	// +checklocks:mu
	bytes int
	// +checklocks:mu
	running bool
	// +checklocks:mu
	room chan struct{} // closed when items leave; nil when nobody waits
}

type laneItem[T any] struct {
	value T
	bytes int
	ready chan struct{} // closed when the parallel stage is done

	panicked any // what prepare panicked with; written before ready is closed
}

// laneBatch bounds the items of one call of the serial stage.
const laneBatch = 256

// NewLane returns an empty lane. flush is the serial stage; it is never called
// twice at the same time and may block.
func NewLane[T any](g *Group, p *Pool, l Limits, flush func(ctx context.Context, batch []T)) *Lane[T] {
	return &Lane[T]{group: g, pool: p, flush: flush, limit: l}
}

// Push queues value, which weighs bytes, and has prepare run in the pool. It
// blocks while Limits.Pending or PendingBytes are reached, or the pool is
// behind. After an error neither prepare nor flush sees the value.
func (l *Lane[T]) Push(ctx context.Context, value T, bytes int, prepare func()) error {
	item := &laneItem[T]{value: value, bytes: bytes, ready: make(chan struct{})}
	for {
		room, start := l.tryPush(item)
		if room == nil {
			if start && !l.group.Go("lane", l.run) {
				return ErrClosed
			}
			break
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	job := func() {
		defer close(item.ready)
		defer func() { item.panicked = recover() }()
		prepare()
	}
	if err := l.pool.Do(ctx, job); err != nil {
		job() // it has its place in the lane, so it must get ready
	}
	return nil
}

func (l *Lane[T]) tryPush(item *laneItem[T]) (room <-chan struct{}, start bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.items) > 0 && (len(l.items) >= l.limit.Pending || l.bytes+item.bytes > l.limit.PendingBytes) {
		if l.room == nil {
			l.room = make(chan struct{})
		}
		return l.room, false
	}
	l.items = append(l.items, item)
	l.bytes += item.bytes
	start = !l.running
	l.running = true
	return nil, start
}

func (l *Lane[T]) run(ctx context.Context) {
	var batch []T
	for {
		first := l.first()
		if first == nil {
			return
		}
		<-first.ready // prepare is short and always ends
		if first.panicked != nil {
			panic(first.panicked) // ends this connection and not the shared pool
		}
		batch = l.takeReady(batch[:0])
		l.flush(ctx, batch)
		clear(batch)
	}
}

// first returns the oldest item, or ends the run in the same critical section.
func (l *Lane[T]) first() *laneItem[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.items) == 0 {
		l.items, l.running = nil, false
		return nil
	}
	return l.items[0]
}

// takeReady takes the longest run of ready items from the front.
func (l *Lane[T]) takeReady(batch []T) []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for ; n < len(l.items) && n < laneBatch && l.items[n].isReady() && l.items[n].panicked == nil; n++ {
		batch = append(batch, l.items[n].value)
		l.bytes -= l.items[n].bytes
	}
	l.items = slices.Delete(l.items, 0, n)
	if l.room != nil {
		close(l.room)
		l.room = nil
	}
	return batch
}

func (i *laneItem[T]) isReady() bool {
	select {
	case <-i.ready:
		return true
	default:
		return false
	}
}
