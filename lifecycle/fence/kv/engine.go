package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fencepost/lifecycle/fence"
	"fencepost/lifecycle/pause"
)

const (
	// DrainLock is how long nobody else delivers after the last step of a drainer.
	DrainLock = 3 * time.Second
	// SweepEvery is how often Run looks for what others left behind.
	SweepEvery = time.Second
	// MaxPending is how many frames of a stream may wait (P9), unless Options say less.
	MaxPending = 1000
	// MaxStreams is how many streams one key may have.
	MaxStreams = 256

	// retries bounds how often a swap is tried against others.
	retries = 100
	// cleanup bounds what is done after the caller has gone.
	cleanup = 5 * time.Second
)

// Options make an Engine. KV and Sink must be set.
type Options struct {
	KV     KV
	Sink   Sink
	Now    func() time.Time // time.Now when nil
	Logger *slog.Logger     // silent when nil
	Pause  *pause.Hook

	MaxPending int // MaxPending when 0
}

// Engine is an engine of package publish.
type Engine struct {
	// Set at construction, never changed.
	kv    KV
	sink  Sink
	now   func() time.Time
	log   *slog.Logger
	pause *pause.Hook
	most  int // pending frames of a stream

	able atomic.Bool // the store was found to lack nothing

	mu sync.Mutex // guards the fields below; held for memory only
	// +checklocks:mu
	turns map[fence.Stream]*turn
	// +checklocks:mu
	waiting map[string]chan fence.Receipt // key of an item -> who publishes it here; capacity 1, never closed
}

// New returns an engine.
func New(o Options) *Engine {
	e := &Engine{
		kv: o.KV, sink: o.Sink, now: o.Now, log: o.Logger, pause: o.Pause, most: cmp.Or(o.MaxPending, MaxPending),
		turns: make(map[fence.Stream]*turn), waiting: make(map[string]chan fence.Receipt),
	}
	if e.now == nil {
		e.now = time.Now
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	return e
}

// ready refuses a store that lacks what the promises rest on (P13).
func (e *Engine) ready(ctx context.Context) error {
	if e.able.Load() {
		return nil
	}
	missing, err := e.kv.Missing(ctx)
	if err != nil {
		return fmt.Errorf("capabilities of the store: %w", err)
	}
	if len(missing) > 0 {
		return &fence.Error{Code: fence.FailedPrecondition, Text: "the store of fences lacks " + strings.Join(missing, " and ")}
	}
	e.able.Store(true)
	return nil
}

// Set claims, renews or revokes and returns the fence's epoch.
func (e *Engine) Set(ctx context.Context, s fence.Stream, c fence.Change) (epoch uint64, err error) {
	if err := e.ready(ctx); err != nil {
		return 0, err
	}
	fresh := false
	err = e.change(ctx, s, func(r record) (record, error) {
		if fresh = !r.state.Exists(); fresh {
			if err := e.enlist(ctx, s); err != nil {
				return r, err
			}
		}
		now := e.now()
		next, err := r.state.Set(c, now)
		epoch = next.Epoch
		return r.touched(next, now), err
	})
	if err == nil && fresh { // race: the sweep, which saw a stream without a record
		err = e.enlist(ctx, s)
	}
	return epoch, err
}

// Look returns the fence.
func (e *Engine) Look(ctx context.Context, s fence.Stream) (v fence.View, err error) {
	if err := e.ready(ctx); err != nil {
		return v, err
	}
	r, err := e.load(ctx, s)
	return fence.View{State: r.state, Now: e.now(), Pending: len(r.Pending)}, err
}

func (e *Engine) load(ctx context.Context, s fence.Stream) (record, error) {
	value, etag, err := e.kv.Get(ctx, recordKey(s))
	if err != nil {
		return record{}, fmt.Errorf("read stream: %w", err)
	}
	return decodeRecord(value, etag)
}

// change swaps the record of s for what edit makes of it, which is called again after
// another was faster.
func (e *Engine) change(ctx context.Context, s fence.Stream, edit func(record) (record, error)) error {
	for range retries {
		r, err := e.load(ctx, s)
		if err != nil {
			return err
		}
		next, err := edit(r)
		if err != nil {
			return err
		}
		if err := e.swap(ctx, s, r.etag, &next); !errors.Is(err, errConflict) {
			return err
		}
	}
	return &fence.Error{Code: fence.Aborted, Text: "too many others change the stream"}
}

// swap writes next in the place of the version etag, together with others. errConflict
// when it is not there any more; any other error leaves open what happened.
func (e *Engine) swap(ctx context.Context, s fence.Stream, etag string, next *record, others ...Op) error {
	e.pause.At(pause.FenceJudged)
	value, revision := next.encode()
	key := recordKey(s)
	err := e.kv.Transact(ctx, append(others, Op{Key: key, Value: value, Guard: true, ETag: etag}))
	if err == nil {
		e.pause.At(pause.FenceWritten)
		return nil
	}
	// A store may have carried it out nevertheless, and may not say what a conflict is.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	found, readErr := e.load(ctx, s)
	switch {
	case readErr != nil:
		return fmt.Errorf("write stream: %w", errors.Join(err, readErr))
	case found.Revision == revision:
		return nil
	case found.etag != etag:
		return errConflict
	}
	return fmt.Errorf("%w: %w", errUnwritten, err)
}

// errUnwritten says that a swap failed and did not happen.
var errUnwritten = errors.New("stream could not be written")

// remove deletes keys that nothing refers to. What is left behind after an error does no
// harm.
func (e *Engine) remove(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	if err := e.kv.Transact(ctx, []Op{{Key: key}}); err != nil {
		e.log.Warn("an item is left behind", "key", key, "err", err)
	}
}
