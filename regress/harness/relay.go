package harness

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
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
	Pause    *pause.Hook
	Auth     access.Require // RequireNeeded when empty
}

// DefaultLimits returns limits that no ordinary test reaches.
func DefaultLimits() lifecycle.Limits {
	return lifecycle.Limits{
		QueueFrames: 1024, QueueBytes: 1 << 20, HoldFrames: 64, HoldBytes: 1 << 16,
		Subscriptions: 32, Queries: 4, Pending: 64, PendingBytes: 1 << 20, RoomTimeout: 30 * time.Second,
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
	r := &Relay{Store: storetest.NewFake(time.Now), Index: index.New(), options: o}
	r.ctx = t.Context()
	r.group = lifecycle.NewGroup(r.ctx)
	log := slog.New(slog.DiscardHandler)
	var none *metrics.Metrics // counts nothing
	r.Follower = outbox.New(outbox.Options{
		Log: r.Store, Index: r.Index, Metrics: none, Now: time.Now, Logger: log, Pause: o.Pause,
	})
	r.Handlers = handlers.New(handlers.Options{
		Store: r.Store, Index: r.Index, Begun: r.Follower.Begun, Access: access.New(o.Auth), Metrics: none,
		Pool: lifecycle.NewPool(r.group, 2), Now: time.Now, Logger: log, Limits: o.Handlers, Pause: o.Pause,
	})
	t.Cleanup(func() {
		r.group.Cancel()
		require.NoError(t, r.group.Wait(context.Background()))
	})
	return r
}

// Commit appends events to the store, past every handler, and returns the
// position of the last.
func (r *Relay) Commit(t testing.TB, events ...*wire.Event) store.Position {
	var last store.Position
	for _, ev := range events {
		out := r.Store.Append(r.ctx, []store.Write{{Event: ev}})
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

// Client is one connection, seen from its reader and its writer.
type Client struct {
	Conn    *lifecycle.Conn
	Session *handlers.Session
	relay   *Relay
	closed  bool
}

// Connect opens a connection that ends with the test. The NIP-42 challenge has
// been taken from its queue.
func (r *Relay) Connect(t testing.TB) *Client {
	r.lastConn++
	c := lifecycle.NewConn(r.ctx, lifecycle.Options{
		ID: r.lastConn, Peer: lifecycle.Peer{URL: "ws://relay.test"}, Limits: r.options.Limits, CloseAck: r.options.CloseAck,
	})
	client := &Client{Conn: c, relay: r}
	client.Session = r.Handlers.Open(c)
	client.Take()
	t.Cleanup(func() { client.Disconnect(t) })
	return client
}

// Send runs the reader's part of one message in the caller. What the message
// starts may still be running, or parked, when it returns.
func (c *Client) Send(msg string) { c.Session.Handle(c.relay.ctx, []byte(msg)) }

// Take is the writer: it takes everything queued and returns the frames.
func (c *Client) Take() []string {
	frames, _ := c.Conn.Take(nil, 1<<30)
	out := make([]string, len(frames))
	for i, f := range frames {
		out[i] = string(f.AppendTo(nil))
	}
	return out
}

// Settle waits until every goroutine of the bubble is blocked, then takes.
func (c *Client) Settle() []string {
	synctest.Wait()
	return c.Take()
}

// Disconnect ends the connection the way relay/conn does and waits for its
// goroutines. A second call does nothing.
func (c *Client) Disconnect(t testing.TB) {
	if c.closed {
		return
	}
	c.closed = true
	c.Conn.Close(lifecycle.Cause{Code: 1000})
	c.relay.options.Pause.At(pause.ConnClosed)
	c.Session.End(c.Conn.Finish())
	require.NoError(t, c.Conn.Group().Wait(context.Background()))
}
