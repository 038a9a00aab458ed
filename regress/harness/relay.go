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
	"fencepost/registry"
	"fencepost/registry/index"
	"fencepost/relay/access"
	"fencepost/relay/access/group"
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
	Search   bool // REQ and COUNT may search
	Replicas bool // a refusal waits for what others have committed; Beside alone does not make it so
	CloseAck bool
	Control  *Controller    // its hook is used, and what is parked at the end goes on
	Pause    *pause.Hook    // for a hook that is no Controller's
	Auth     access.Require // what Rules demand when they say nothing
	Operator string         // the same, a public key
	Rules    access.Rules
	Outside  access.Outside // nil: nobody else is asked
	Groups   group.Rules    // anyone may create groups when they say nothing
	Trace    bool           // check every client's frames; see Client.Check
	// Writing, Reading and Controls take the place of the relay's own policy where
	// they are set.
	Writing  handlers.Writing
	Reading  handlers.Reading
	Controls outbox.Controls
	Cuts     access.Metrics // what the cutter ends; nil: nobody counts
	MaxLag   time.Duration  // how long permissions are trusted without a look at the log; 0: for ever
	// Read returns what takes the place of the policy for readers, to leave out a
	// part of it; nil for the policy itself.
	Read func(handlers.Reading) handlers.Reading
	// Wrap returns the store that the relay works on, to spoil or delay its
	// answers; nil for the fake itself.
	Wrap func(store.Store) store.Store
	// Beside is a relay that this one shares its store with, as another replica. Each
	// applies the log by itself.
	Beside *Relay
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
	Registry *registry.Registry
	Index    *index.Index
	Policy   *access.Policy
	Cutter   *access.Cutter
	Follower *outbox.Follower
	Handlers *handlers.Handlers

	ctx     context.Context
	options Options
	group   *lifecycle.Group
	ledger  *ledger  // the store with a list of its commits
	history *history // who might see what when
	judged  bool     // permissions are the relay's own, and traces hold it to them
}

// New returns a relay that ends with the test. Call it inside the bubble.
func New(t testing.TB, o Options) *Relay {
	if o.Limits == (lifecycle.Limits{}) {
		o.Limits = DefaultLimits()
	}
	if o.Handlers.AuthWindow == 0 {
		o.Handlers.AuthWindow = 10 * time.Minute
	}
	if o.Control != nil {
		o.Pause = o.Control.Hook()
	}
	if o.Rules.Require == "" {
		o.Rules.Require = o.Auth
	}
	if o.Rules.Operator == "" {
		o.Rules.Operator = o.Operator
	}
	if o.Groups.Create == "" {
		o.Groups.Create = group.CreateAnyone
	}
	r := &Relay{Store: storetest.NewFake(time.Now), Registry: registry.New(), Index: index.New()}
	r.ledger = &ledger{Store: r.Store}
	if o.Beside != nil {
		r.Store, r.ledger = o.Beside.Store, o.Beside.ledger
	}
	var served store.Store = r.ledger
	if o.Wrap != nil {
		served = o.Wrap(served)
	}
	r.ctx = t.Context()
	r.group = lifecycle.NewGroup(r.ctx)
	r.permit(t, o)
	r.wire(served, o)
	t.Cleanup(func() {
		r.group.Cancel()
		require.NoError(t, r.group.Wait(context.Background()))
	})
	return r
}

// wire makes what works on the store.
func (r *Relay) wire(served store.Store, o Options) {
	if o.Read != nil {
		o.Reading = o.Read(r.Policy)
	}
	r.judged = o.Reading == nil && o.Controls == nil
	if o.Writing == nil {
		o.Writing = r.Policy
	}
	if o.Reading == nil {
		o.Reading = r.Policy
	}
	if o.Controls == nil {
		o.Controls = r.Cutter
	}
	r.options = o
	controls := watched{Controls: o.Controls, history: r.history}
	log := slog.New(slog.DiscardHandler)
	var none *metrics.Metrics // counts nothing
	r.Follower = outbox.New(outbox.Options{
		Log: served, Index: r.Index, Access: o.Reading, Controls: controls, Metrics: none, Now: time.Now, Logger: log, Pause: o.Pause,
		Readers: r.Cutter, MaxLag: o.MaxLag,
	})
	r.Policy.Trust(r.Follower.Fresh)
	r.Handlers = handlers.New(handlers.Options{
		Store: served, Index: r.Index, Progress: r.Follower, Writing: o.Writing, Reading: o.Reading, Metrics: none,
		Pool: lifecycle.NewPool(r.group, 2), Now: time.Now, Logger: log, Limits: o.Handlers, Search: o.Search, Replicas: o.Replicas, Pause: o.Pause,
	})
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

// Run has the follower run by itself from now on, as in a relay; Step must not be
// called any more.
func (r *Relay) Run() {
	r.group.Go("follower", r.Follower.Run)
	r.group.Go("watch", r.Follower.Watch)
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
