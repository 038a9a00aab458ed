package harness

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/handlers"
	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/regress/trace"
	"fencepost/relay/wire"
)

// Client is one connection, seen from its reader and its writer.
type Client struct {
	// Set at construction, never changed.
	Conn      *lifecycle.Conn
	Session   *handlers.Session
	Trace     *trace.Trace // nil without Options.Trace
	Challenge string       // NIP-42

	relay    *Relay
	handling context.Context // what Handle gets; ends when the connection closes

	// Owned by the test's goroutine.
	closed bool

	mu sync.Mutex // a frame is taken and traced in one step; guards the fields below
	// +checklocks:mu
	reported int // commits that the trace knows
	// +checklocks:mu
	keys []known
}

// Connect opens a connection that ends with the test. The NIP-42 challenge has
// been taken from its queue.
func (r *Relay) Connect(t testing.TB) *Client {
	client := &Client{relay: r}
	var cancel context.CancelFunc
	client.handling, cancel = context.WithCancel(r.ctx)
	client.Conn = lifecycle.NewConn(r.ctx, lifecycle.Options{
		ID: r.Registry.NextID(), Peer: lifecycle.Peer{URL: "ws://relay.test"},
		Limits: r.options.Limits, CloseAck: r.options.CloseAck, OnClose: cancel,
		Sight: r.options.Reading.Sight, OnEnded: r.Handlers.Ended, Pause: r.options.Pause,
		SightOfRemoved: r.sightOfRemoved(),
	})
	r.Registry.Add(client.Conn)
	client.Session = r.Handlers.Open(client.Conn)
	for _, frame := range client.Take() {
		m, err := wire.DecodeRelay([]byte(frame))
		require.NoError(t, err)
		client.Challenge = m.Text
	}
	if r.options.Trace {
		client.Trace = trace.New(trace.Options{CloseAck: r.options.CloseAck, Commits: true, Judge: r.judge(client)})
	}
	t.Cleanup(func() {
		if r.options.Control != nil {
			r.options.Control.ReleaseAll()
		}
		client.Disconnect(t)
	})
	return client
}

// Send runs the reader's part of one message in the caller. What the message
// starts may still be running, or parked, when it returns.
func (c *Client) Send(msg string) {
	if c.Trace != nil {
		c.Trace.Reading([]byte(msg))
	}
	c.Session.Handle(c.handling, []byte(msg))
	c.noteKeys()
	if c.Trace != nil {
		c.read()
	}
}

// read tells the trace that a message has taken effect. What is being taken was
// taken before that.
func (c *Client) read() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Trace.Read()
}

// Take is the writer: it takes everything queued and returns the frames.
func (c *Client) Take() []string { return c.TakeBytes(1 << 30) }

// TakeBytes is Take for one batch of up to about limit bytes.
func (c *Client) TakeBytes(limit int) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	frames, _ := c.Conn.Take(nil, limit)
	c.reportLocked()
	out := make([]string, len(frames))
	for i, f := range frames {
		text := f.AppendTo(nil)
		if c.Trace != nil {
			c.Trace.Got(text)
		}
		out[i] = string(text)
	}
	return out
}

// reportLocked tells the trace what was committed since it was told last.
func (c *Client) reportLocked() {
	if c.Trace == nil {
		return
	}
	for _, row := range c.relay.ledger.after(c.reported) {
		c.Trace.Committed(row.position, row.event)
		c.reported++
	}
}

// Settle waits until every goroutine of the bubble is blocked, then takes; when
// something stays in the queue because it is decided about again, once more.
func (c *Client) Settle() (frames []string) {
	for left := -1; ; {
		synctest.Wait()
		got := c.Take()
		frames = append(frames, got...)
		before := left
		if left = c.Conn.Usage().Frames; left == 0 || len(got) == 0 && left == before {
			return frames
		}
	}
}

// Auth authenticates with a secret key (NIP-42) and takes what is queued, of which
// the last must say that it worked.
func (c *Client) Auth(t testing.TB, secret string) {
	t.Helper()
	c.Send(c.AuthMessage(t, secret))
	frames := c.Settle()
	require.NotEmpty(t, frames)
	m, err := wire.DecodeRelay([]byte(frames[len(frames)-1]))
	require.NoError(t, err)
	require.True(t, m.Verb == "OK" && m.OK, frames)
}

// AuthMessage answers the challenge with a secret key (NIP-42).
func (c *Client) AuthMessage(t testing.TB, secret string) string {
	t.Helper()
	e := nostr.Event{
		Kind: nostr.KindClientAuthentication, CreatedAt: nostr.Timestamp(time.Now().Unix()),
		Tags: nostr.Tags{{"relay", c.Conn.Peer().URL}, {"challenge", c.Challenge}},
	}
	require.NoError(t, e.Sign(secret))
	return string(wire.AppendAuthMessage(nil, wire.NewEvent(e)))
}

// Check runs the follower and the writer until nothing moves any more, and
// fails the test if the trace shows a violation. Nothing may be parked.
func (c *Client) Check(t testing.TB) {
	t.Helper()
	c.relay.Step(t)
	for len(c.Settle()) > 0 {
		c.relay.Step(t)
	}
	if found := c.Trace.Settled(); len(found) > 0 {
		require.Fail(t, "trace violates a promise", "%v\n%s", found, c.Trace.Transcript())
	}
}

// Disconnect ends the connection the way relay/conn does and waits for its
// goroutines. A second call does nothing.
func (c *Client) Disconnect(t testing.TB) {
	if c.closed {
		return
	}
	c.closed = true
	if c.Trace != nil {
		c.Trace.Ended()
	}
	c.Conn.Close(lifecycle.Cause{Code: 1000})
	c.relay.options.Pause.At(pause.ConnClosed)
	c.Session.End(c.Conn.Finish())
	c.relay.Registry.Remove(c.Conn)
	require.NoError(t, c.Conn.Group().Wait(context.Background()))
}
