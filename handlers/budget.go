package handlers

import (
	"context"
	"errors"
	"sync"
	"time"

	"fencepost/relay/wire"
)

// errTimeout ends a query that costs the store too much. What the client takes
// for reading does not count.
var errTimeout = wire.Because(wire.Failed, "the query takes too long, ask for less")

// budget is the time that the store may still work for one query.
type budget struct{ left time.Duration } // 0 at the beginning is no bound

// spend runs one piece of work within the budget. It returns errTimeout when the
// budget ended it, and work's own error otherwise.
func (b *budget) spend(ctx context.Context, work func(ctx context.Context) error) error {
	if b.left == 0 {
		return work(ctx)
	}
	begin := time.Now()
	within := &bounded{Context: ctx, until: begin.Add(b.left)}
	defer within.end()
	err := work(within)
	b.left = max(b.left-time.Since(begin), 1)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return errTimeout
	}
	return err
}

// bounded is what context.WithDeadline returns, with the difference that it sets a timer
// only for whoever asks for Done. A store on the local disk asks for Err from time to
// time: three timers a REQ were a fifth of what a REQ for one id allocates.
type bounded struct {
	// Set at construction, never changed.
	context.Context // the query's own
	until           time.Time

	mu sync.Mutex // guards the fields below; nothing else happens under it
	// +checklocks:mu
	over bool
	// +checklocks:mu
	timed context.Context // nil until Done was called
	// +checklocks:mu
	cancel context.CancelFunc // of timed
}

// Deadline implements context.Context.
func (b *bounded) Deadline() (time.Time, bool) {
	if earlier, ok := b.Context.Deadline(); ok && earlier.Before(b.until) {
		return earlier, true
	}
	return b.until, true
}

// Done implements context.Context.
func (b *bounded) Done() <-chan struct{} {
	if timed := b.withTimer(); timed != nil {
		return timed.Done()
	}
	fresh, cancel := context.WithDeadline(b.Context, b.until)
	timed, adopted := b.adopt(fresh, cancel)
	if !adopted {
		cancel()
	}
	return timed.Done()
}

func (b *bounded) withTimer() context.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.timed
}

// adopt makes fresh the context with the timer unless there is one. It is to be
// cancelled if it was not adopted, or if the end came before it.
func (b *bounded) adopt(fresh context.Context, cancel context.CancelFunc) (timed context.Context, adopted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timed != nil {
		return b.timed, false
	}
	b.timed, b.cancel = fresh, cancel
	return fresh, !b.over
}

// Err implements context.Context.
func (b *bounded) Err() error {
	if err := b.Context.Err(); err != nil {
		return err
	}
	if b.isOver() {
		return context.Canceled
	}
	if !time.Now().Before(b.until) {
		return context.DeadlineExceeded
	}
	return nil
}

func (b *bounded) isOver() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over
}

// end cancels the context.
func (b *bounded) end() {
	if cancel := b.close(); cancel != nil {
		cancel()
	}
}

func (b *bounded) close() context.CancelFunc {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	return b.cancel
}
