package handlers

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Store is what the handlers ask of a store; see store.Store for the promises.
type Store interface {
	Append(ctx context.Context, writes []store.Write) []store.Outcome
	Snapshot(ctx context.Context) (store.Snapshot, error)
	ReadLog(ctx context.Context, after store.Position, max int) ([]store.Entry, error)
	Log(ctx context.Context) (store.LogInfo, error)
}

// Index is where live subscriptions are found by the fan-out.
type Index interface {
	Add(h *lifecycle.Handle)
	Remove(h *lifecycle.Handle) bool
}

// Metrics counts what the handlers see.
type Metrics interface {
	Message(verb string)
	EventOutcome(outcome string)
	SubscriptionEnded(reason string)
	Query(d time.Duration, events int)
	Commit(events int, d time.Duration)
}

// Options make Handlers. Everything but Pause must be set.
type Options struct {
	Store    Store
	Index    Index
	Progress Progress
	Writing  Writing
	Reading  Reading
	Metrics  Metrics
	Pool     *lifecycle.Pool // checks signatures
	Now      func() time.Time
	Logger   *slog.Logger
	Limits   Limits
	Search   bool // the store searches (NIP-50)
	Replicas bool // other processes may write to the store
	Pause    *pause.Hook
}

// Limits bound what a client may ask for; 0 is no bound.
type Limits struct {
	Filters      int // a REQ or COUNT
	FilterValues int // list values of one filter
	Values       int // list values of all filters of a REQ or COUNT
	MaxLimit     int // stored events of one filter
	DefaultLimit int // the same for a filter without limit
	MaxTotal     int // stored events of one REQ
	MaxCount     int // events that a COUNT counts
	NegRecords   int // events that a negotiation is about (NIP-77); 0: there are none
	NegSessions  int // negotiations of a connection
	NegHeld      int // events that all negotiations of the relay are about
	NegFrame     int // bytes of one message in a negotiation; NIP-77 has twice as many hex digits
	Tags         int // tags of an event
	TagValue     int // characters of one element of a tag
	Content      int // characters of an event's content
	MinPoW       int // leading zero bits of an id (NIP-13)

	QueryTimeout  time.Duration // how long the store may work for one REQ, COUNT or NEG-OPEN
	NegIdle       time.Duration // how long a negotiation waits for the client
	CreatedPast   time.Duration // how far created_at may lie back
	CreatedFuture time.Duration // how far it may lie ahead
	AuthWindow    time.Duration // how far created_at of an AUTH event may be off (NIP-42)
	URLs          []string      // the relay's public URLs; empty: what the client connected to
}

// Handlers answers the messages of all connections.
type Handlers struct {
	// Set at construction, never changed.
	store    Store
	index    Index
	progress Progress
	writing  Writing
	reading  Reading
	metrics  Metrics
	pool     *lifecycle.Pool
	now      func() time.Time
	log      *slog.Logger
	search   bool
	replicas bool
	pause    *pause.Hook

	limits atomic.Pointer[Limits] // swapped whole by SetLimits
	held   atomic.Int64           // events that negotiations are about
}

// New returns handlers that share o's parts.
func New(o Options) *Handlers {
	h := &Handlers{
		store: o.Store, index: o.Index, progress: o.Progress, writing: o.Writing, reading: o.Reading,
		metrics: o.Metrics, pool: o.Pool, now: o.Now, log: o.Logger, search: o.Search, replicas: o.Replicas, pause: o.Pause,
	}
	h.SetLimits(o.Limits)
	return h
}

// SetLimits replaces the limits for messages that are read from now on.
func (h *Handlers) SetLimits(l Limits) { h.limits.Store(&l) }

// Ended takes a generation out of the index that its connection has ended because
// nobody could say what its reader may see; see lifecycle.Options.OnEnded.
func (h *Handlers) Ended(x *lifecycle.Handle) {
	h.index.Remove(x)
	h.metrics.SubscriptionEnded(string(wire.Failed))
}
