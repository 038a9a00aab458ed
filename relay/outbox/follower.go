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

// Metrics counts what the follower does.
type Metrics interface {
	Position(begun, applied uint64)
	FrameDropped(why string)
	SubscriptionEnded(reason string)
}

const (
	// batchSize is how many rows are read at once.
	batchSize = 256
	// pollEvery is the floor of the fan-out latency when wake-ups are lost.
	pollEvery = time.Second
	// maxBackoff is the longest wait after an error of the log.
	maxBackoff = 5 * time.Second
)

// Options make a Follower. Everything but Pause must be set.
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

	// Owned by the goroutine that calls Step.
	candidates []*lifecycle.Handle

	begun     atomic.Uint64
	applied   progress
	failing   atomic.Bool  // the last Step failed
	started   time.Time    // when it was made
	confirmed atomic.Int64 // nanoseconds from started to the last confirmation
}

// New returns a follower that stands at o.Start.
func New(o Options) *Follower {
	f := &Follower{
		log: o.Log, index: o.Index, access: o.Access, controls: o.Controls,
		metrics: o.Metrics, now: o.Now, logger: o.Logger, pause: o.Pause, started: o.Now(),
	}
	f.begun.Store(uint64(o.Start))
	f.applied.reach(o.Start)
	f.metrics.Position(uint64(o.Start), uint64(o.Start))
	return f
}

// Begun returns the position that is being looked up, or was last: A of a REQ.
func (f *Follower) Begun() store.Position { return store.Position(f.begun.Load()) }

// Applied returns the position that the follower is done with.
func (f *Follower) Applied() store.Position { return f.applied.position() }

// Await blocks until the follower is done with position at, or ctx ends; it
// returns the context's error then. It costs little when that is so already.
func (f *Follower) Await(ctx context.Context, at store.Position) error {
	return f.applied.await(ctx, at)
}

// Failing reports whether the log could not be read, or a control row not be
// applied, the last time.
func (f *Follower) Failing() bool { return f.failing.Load() }

// Confirmed returns since when nothing is known of the log that has not been taken
// in here: when the last read began that reached the log's end and whose rows are
// all in force. Until the first one it is when the follower was made, for a caller
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
			wait(ctx, nil, rand.N(backoff)+backoff/2)
			backoff = min(2*backoff, maxBackoff)
			continue
		case err == nil && n == 0:
			wait(ctx, f.log.Changed(), pollEvery)
		}
		f.failing.Store(false)
		backoff = 50 * time.Millisecond
	}
}

// wait blocks until woken, until d has passed or ctx ends.
func wait(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-wake:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Step reads the next rows and applies them. It returns how many it applied, and
// stops before a control row that could not be.
func (f *Follower) Step(ctx context.Context) (int, error) {
	begin := f.now()
	entries, err := f.log.ReadLog(ctx, f.Applied(), batchSize)
	if err != nil {
		return 0, fmt.Errorf("read log: %w", err)
	}
	n := 0
	for ; n < len(entries) && err == nil; n++ {
		err = f.apply(ctx, &entries[n])
	}
	if err != nil {
		n-- // the row is not applied
	}
	if n == len(entries) && n < batchSize { // a full batch says nothing of what is behind it
		f.confirmed.Store(int64(begin.Sub(f.started)))
	}
	if len(entries) > 0 {
		f.metrics.Position(f.begun.Load(), uint64(f.Applied()))
	}
	return n, err
}

// apply does what follows from one row. begun comes before the lookup, always: a
// REQ that reads an older begun is in the index by then. A control row that cannot
// be applied stops everything behind it: nobody may see an event under permissions
// that were taken away before it.
func (f *Follower) apply(ctx context.Context, e *store.Entry) error {
	f.pause.At(pause.FanoutRead)
	f.begun.Store(uint64(e.Position))
	f.pause.At(pause.FanoutBegun)
	switch e.Type {
	case store.EntryEvent, store.EntryEphemeral:
		f.fanout(e)
	case store.EntryRemoval:
		f.fanoutRemoval(e)
	case store.EntryControl:
		if err := f.controls.Apply(ctx, e); err != nil {
			return fmt.Errorf("apply control row %d: %w", e.Position, err)
		}
	}
	f.applied.reach(e.Position)
	return nil
}
