package outbox

import (
	"context"
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
	Log     Log
	Index   Index
	Metrics Metrics
	Now     func() time.Time
	Logger  *slog.Logger
	Start   store.Position // rows up to it are stored and were never live here
	Pause   *pause.Hook
}

// Follower applies the log in position order.
type Follower struct {
	// Set at construction, never changed.
	log     Log
	index   Index
	metrics Metrics
	now     func() time.Time
	logger  *slog.Logger
	pause   *pause.Hook

	// Owned by the goroutine that calls Step.
	candidates []*lifecycle.Handle

	begun   atomic.Uint64
	applied atomic.Uint64
	failing atomic.Bool // the last read of the log failed
}

// New returns a follower that stands at o.Start.
func New(o Options) *Follower {
	f := &Follower{
		log: o.Log, index: o.Index, metrics: o.Metrics, now: o.Now, logger: o.Logger, pause: o.Pause,
	}
	f.begun.Store(uint64(o.Start))
	f.applied.Store(uint64(o.Start))
	f.metrics.Position(uint64(o.Start), uint64(o.Start))
	return f
}

// Begun returns the position that is being looked up, or was last: A of a REQ.
func (f *Follower) Begun() store.Position { return store.Position(f.begun.Load()) }

// Applied returns the position that the follower is done with.
func (f *Follower) Applied() store.Position { return store.Position(f.applied.Load()) }

// Failing reports whether the log could not be read the last time.
func (f *Follower) Failing() bool { return f.failing.Load() }

// Run follows the log until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	backoff := 50 * time.Millisecond
	for ctx.Err() == nil {
		n, err := f.Step(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			f.failing.Store(true)
			f.logger.Error("log cannot be read", "position", f.Applied(), "err", err)
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

// Step reads the next rows and applies them. It returns how many there were.
func (f *Follower) Step(ctx context.Context) (int, error) {
	entries, err := f.log.ReadLog(ctx, f.Applied(), batchSize)
	if err != nil {
		return 0, err
	}
	for i := range entries {
		f.apply(&entries[i])
	}
	if len(entries) > 0 {
		f.metrics.Position(f.begun.Load(), f.applied.Load())
	}
	return len(entries), nil
}

// apply fans one row out. begun comes before the lookup, always: a REQ that
// reads an older begun is in the index by then.
func (f *Follower) apply(e *store.Entry) {
	f.pause.At(pause.FanoutRead)
	f.begun.Store(uint64(e.Position))
	f.pause.At(pause.FanoutBegun)
	if e.Type == store.EntryEvent || e.Type == store.EntryEphemeral {
		f.fanout(e)
	}
	f.applied.Store(uint64(e.Position))
}

func (f *Follower) fanout(e *store.Entry) {
	now := f.now().Unix()
	f.candidates = f.index.Candidates(f.candidates[:0], e.Event)
	f.pause.At(pause.FanoutSelected)
	for _, h := range f.candidates {
		if !e.Matches(h.Filters(), now) {
			continue
		}
		f.pause.At(pause.FanoutDecided)
		switch h.Deliver(e.Position, e.Event, nil) {
		case lifecycle.Ended:
			f.index.Remove(h)
			f.metrics.SubscriptionEnded("slow")
		case lifecycle.Dropped:
			f.metrics.FrameDropped("stale")
		}
	}
	clear(f.candidates)
}
