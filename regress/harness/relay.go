package harness

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/handlers"
	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/registry/index"
	"fencepost/relay/access"
	"fencepost/relay/metrics"
	"fencepost/relay/outbox"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// Options make a Relay; the zero value is a sensible one.
type Options struct {
	Limits   lifecycle.Limits // DefaultLimits where zero
	Handlers handlers.Limits
	CloseAck bool
	Control  *Controller    // its hook is used, and what is parked at the end goes on
	Pause    *pause.Hook    // for a hook that is no Controller's
	Auth     access.Require // RequireNeeded when empty
	Trace    bool           // check every client's frames; see Client.Check
	FromHead bool           // A of a REQ is the log's head, as the relay has it; else the least: what the fan-out has begun
	// Wrap returns the store that the relay works on, to spoil or delay its
	// answers; nil for the fake itself.
	Wrap func(store.Store) store.Store
}

// DefaultLimits returns limits that no ordinary test reaches.
func DefaultLimits() lifecycle.Limits {
	return lifecycle.Limits{
		QueueFrames: 1024, QueueBytes: 1 << 20, HoldFrames: 64, HoldBytes: 1 << 16,
		Subscriptions: 32, Weight: 1 << 16, Queries: 4, Pending: 64, PendingBytes: 1 << 20, RoomTimeout: 30 * time.Second,
	}
}

// Relay is a relay in memory.
type Relay struct {
	Store    *storetest.Fake
	Index    *index.Index
	Follower *outbox.Follower
	Handlers *handlers.Handlers

	ctx      context.Context
	options  Options
	group    *lifecycle.Group
	ledger   *ledger // the store with a list of its commits
	lastConn uint64
}

// New returns a relay that ends with the test. Call it inside the bubble.
func New(t testing.TB, o Options) *Relay {
	if o.Limits == (lifecycle.Limits{}) {
		o.Limits = DefaultLimits()
	}
	if o.Auth == "" {
		o.Auth = access.RequireNeeded
	}
	if o.Handlers.AuthWindow == 0 {
		o.Handlers.AuthWindow = 10 * time.Minute
	}
	if o.Control != nil {
		o.Pause = o.Control.Hook()
	}
	r := &Relay{Store: storetest.NewFake(time.Now), Index: index.New(), options: o}
	r.ledger = &ledger{Store: r.Store}
	var served store.Store = r.ledger
	if o.Wrap != nil {
		served = o.Wrap(served)
	}
	r.ctx = t.Context()
	r.group = lifecycle.NewGroup(r.ctx)
	log := slog.New(slog.DiscardHandler)
	var none *metrics.Metrics // counts nothing
	r.Follower = outbox.New(outbox.Options{
		Log: served, Index: r.Index, Metrics: none, Now: time.Now, Logger: log, Pause: o.Pause,
	})
	r.Handlers = handlers.New(handlers.Options{
		Store: served, Index: r.Index, Begun: r.begun, Access: access.New(o.Auth), Metrics: none,
		Pool: lifecycle.NewPool(r.group, 2), Now: time.Now, Logger: log, Limits: o.Handlers, Pause: o.Pause,
	})
	t.Cleanup(func() {
		r.group.Cancel()
		require.NoError(t, r.group.Wait(context.Background()))
	})
	return r
}

// begun returns A of a REQ.
func (r *Relay) begun() store.Position {
	a := r.Follower.Begun()
	if !r.options.FromHead {
		return a
	}
	info, err := r.Store.Log(r.ctx)
	if err != nil {
		return a
	}
	return max(a, info.Head)
}

// Commit appends events to the store, past every handler, and returns the
// position of the last.
func (r *Relay) Commit(t testing.TB, events ...*wire.Event) store.Position {
	var last store.Position
	for _, ev := range events {
		out := r.ledger.Append(r.ctx, []store.Write{{Event: ev}})
		require.NoError(t, out[0].Err)
		last = out[0].Position
	}
	return last
}

// Step runs the follower, in the caller, until it has applied all that is
// committed.
func (r *Relay) Step(t testing.TB) {
	for {
		n, err := r.Follower.Step(r.ctx)
		require.NoError(t, err)
		if n == 0 {
			return
		}
	}
}

// Evict ends one generation the way every evictor does, in the caller: choose,
// evict, take out of the index, with the pause points in between. It reports
// whether the generation was ended by this call.
func (r *Relay) Evict(h *lifecycle.Handle, why wire.Reason) bool {
	r.options.Pause.At(pause.EvictSelected)
	done := h.Evict(why)
	r.options.Pause.At(pause.Evicted)
	if done {
		r.Index.Remove(h)
	}
	return done
}
