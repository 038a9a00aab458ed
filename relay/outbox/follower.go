package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Log is the committed log; see store.Store for the promises.
type Log interface {
	ReadLog(ctx context.Context, after store.Position, max int) ([]store.Entry, error)
	Changed() <-chan struct{}
}

// Index finds the subscriptions that an event may concern.
type Index interface {
	Candidates(dst []*lifecycle.Handle, ev *wire.Event) []*lifecycle.Handle
	All(dst []*lifecycle.Handle) []*lifecycle.Handle
	Remove(h *lifecycle.Handle) bool
}

// Access says who may see an event.
type Access interface {
	Sight(ev *wire.Event) lifecycle.Sight
}

// Controls takes in control rows, in position order: permissions change, and what
// depended on them ends, before Apply returns. A row whose Apply failed is given
// again.
type Controls interface {
	Apply(ctx context.Context, e *store.Entry) error
}

// Readers are who rests on permissions.
type Readers interface {
	// Distrust ends every subscription that strangers may not have, with CLOSED
	// "error: ...".
	Distrust()
}

// Metrics counts what the follower does.
type Metrics interface {
	Position(begun, applied uint64)
	FrameDropped(why string)
	SubscriptionEnded(reason string)
	DeadLetter(class string)
}

const (
	// batchSize is how many rows are read at once.
	batchSize = 256
	// pollEvery is the floor of the fan-out latency when wake-ups are lost.
	pollEvery = time.Second
	// maxBackoff is the longest wait after an error of the log, give or take a half:
	// a database that is back should be seen before the replica counts as lost.
	maxBackoff = 2 * time.Second
)

// Options make a Follower. Everything down to Logger must be set.
type Options struct {
	Log      Log
	Index    Index
	Access   Access
	Controls Controls
	Metrics  Metrics
	Now      func() time.Time
	Logger   *slog.Logger
	Start    store.Position // rows up to it were applied before, or never live here
	Pause    *pause.Hook

	Readers Readers       // whom permissions fail that cannot be kept up; nil: nobody
	Letters Letters       // where dead letters are kept; nil: nowhere, they are logged and counted
	Replica string        // the name of this replica, which stands in its dead letters
	MaxLag  time.Duration // how old Confirmed may be while permissions are trusted, at first; 0: any age
}

// Follower applies the log in position order.
type Follower struct {
	// Set at construction, never changed.
	log      Log
	index    Index
	access   Access
	controls Controls
	metrics  Metrics
	now      func() time.Time
	logger   *slog.Logger
	pause    *pause.Hook
	readers  Readers
	letters  Letters
	replica  string
	started  time.Time // when it was made

	// Owned by the goroutine that calls Step.
	candidates []*lifecycle.Handle
	backlog    backlog

	begun     atomic.Uint64
	applied   line
	settled   line                             // what the rows up to applied and late make of it
	late      atomic.Pointer[[]store.Position] // deferred rows; replaced as a whole
	failing   atomic.Bool                      // the last Step failed
	stuck     atomic.Bool                      // at a control row that cannot be applied
	confirmed atomic.Int64                     // nanoseconds from started to the last confirmation
	maxLag    atomic.Int64                     // nanoseconds; 0: any
	requests  requests                         // to try dead letters again
}

// New returns a follower that stands at o.Start.
func New(o Options) *Follower {
	f := &Follower{
		log: o.Log, index: o.Index, access: o.Access, controls: o.Controls,
		metrics: o.Metrics, now: o.Now, logger: o.Logger, pause: o.Pause, started: o.Now(),
		readers: o.Readers, letters: o.Letters, replica: o.Replica,
		backlog: newBacklog(), requests: requests{wake: make(chan struct{}, 1)},
	}
	f.SetMaxLag(o.MaxLag)
	f.begun.Store(uint64(o.Start))
	f.late.Store(&[]store.Position{})
	f.pass(o.Start)
	f.metrics.Position(uint64(o.Start), uint64(o.Start))
	return f
}

// Begun returns the position that is being looked up, or was last.
func (f *Follower) Begun() store.Position { return store.Position(f.begun.Load()) }

// Applied returns the position that the follower has passed: every control row at
// or below it is in force, every other row is delivered, deferred or a dead letter.
func (f *Follower) Applied() store.Position { return f.applied.position() }

// Deferred returns the rows at or below Applied that are not delivered yet, in
// rising order. A row is among them before Applied reaches it, and no longer once
// its delivery begins. Nobody may change the slice.
func (f *Follower) Deferred() []store.Position { return *f.late.Load() }

// Settled returns the contiguous checkpoint: the position at or below Applied up to
// which no row is deferred. A Requeue can lower it.
func (f *Follower) Settled() store.Position { return f.settled.position() }

// Settle blocks until Settled has reached at, or ctx ends; it returns the context's
// error then.
func (f *Follower) Settle(ctx context.Context, at store.Position) error {
	return f.settled.await(ctx, at)
}

// Await blocks until Applied has reached at, or ctx ends; it returns the context's
// error then. Deferred rows do not hold it up: who waits does so for control rows,
// which are never deferred. It costs little when that is so already.
func (f *Follower) Await(ctx context.Context, at store.Position) error {
	return f.applied.await(ctx, at)
}

// Failing reports whether the log could not be read, or a control row not be
// applied, the last time.
func (f *Follower) Failing() bool { return f.failing.Load() }

// Confirmed returns since when nothing is known of permissions that has not been taken
// in here: when the last read began that reached the log's end and whose control rows
// are all in force. Until the first one it is when the follower was made, for a caller
// that has just read Start. It does not lock.
func (f *Follower) Confirmed() time.Time {
	return f.started.Add(time.Duration(f.confirmed.Load()))
}

// Run follows the log until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	backoff := 50 * time.Millisecond
	for ctx.Err() == nil {
		n, err := f.Step(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			f.failing.Store(true)
			f.logger.Error("log cannot be followed", "position", f.Applied(), "err", err)
			wait(ctx, nil, nil, rand.N(backoff)+backoff/2)
			backoff = min(2*backoff, maxBackoff)
			continue
		case err == nil && n == 0:
			f.idle(ctx)
		}
		f.failing.Store(false)
		backoff = 50 * time.Millisecond
	}
}

// idle blocks until there may be something to do.
func (f *Follower) idle(ctx context.Context) {
	d := pollEvery
	if due, ok := f.backlog.nextDue(); ok {
		d = min(d, max(due.Sub(f.now()), 0))
	}
	wait(ctx, f.log.Changed(), f.requests.wake, d)
}

// wait blocks until woken, until d has passed or ctx ends.
func wait(ctx context.Context, wake, also <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-wake:
	case <-also:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Step tries deferred rows again that are due, and then reads the next rows and
// applies them. It returns how many of these it has passed, and stops before a control
// row that cannot be applied. An error of the log is nobody's attempt (O11).
func (f *Follower) Step(ctx context.Context) (int, error) {
	if err := f.again(ctx); err != nil {
		return 0, err
	}
	begin := f.now()
	entries, err := f.log.ReadLog(ctx, f.Applied(), batchSize)
	if err != nil {
		return 0, fmt.Errorf("read log: %w", err)
	}
	n, settled := 0, behindControls(entries)
	for ; n < len(entries) && err == nil; n++ {
		if n == settled {
			f.confirm(begin, entries)
		}
		err = f.apply(ctx, &entries[n])
	}
	if err != nil {
		n-- // the row is not applied
	}
	if n == len(entries) {
		f.confirm(begin, entries)
	}
	if len(entries) > 0 {
		f.metrics.Position(f.begun.Load(), uint64(f.Applied()))
	}
	return n, err
}

// behindControls returns where the rows begin behind the last control row.
func behindControls(entries []store.Entry) int {
	n := len(entries)
	for n > 0 && entries[n-1].Type != store.EntryControl {
		n--
	}
	return n
}

// confirm notes that the control rows are in force of a read that began then. It comes
// before the events behind them are decided about: after a while away these would find
// that nothing is trusted, and end the subscriptions that ask for more than is private.
// A full batch says nothing of what is behind it.
func (f *Follower) confirm(begin time.Time, entries []store.Entry) {
	if len(entries) < batchSize {
		f.confirmed.Store(int64(begin.Sub(f.started)))
	}
}
