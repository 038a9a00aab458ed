package conn_test

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/registry"
	"fencepost/relay/conn"
)

// session is a conn.Session that does what the test says. The zero one echoes.
type session struct {
	c      *lifecycle.Conn
	handle func(ctx context.Context, c *lifecycle.Conn, msg []byte)
	onEnd  func(ended []*lifecycle.Handle)
}

func (s *session) Handle(ctx context.Context, msg []byte) {
	if s.handle != nil {
		s.handle(ctx, s.c, msg)
		return
	}
	echo(ctx, s.c, msg)
}

func (s *session) End(ended []*lifecycle.Handle) {
	if s.onEnd != nil {
		s.onEnd(ended)
	}
}

func echo(ctx context.Context, c *lifecycle.Conn, msg []byte) {
	if a, err := c.ReserveAnswer(ctx); err == nil {
		a.Send(msg)
	}
}

// counts is a conn.Metrics that remembers.
type counts struct {
	mu      sync.Mutex
	open    int
	closed  map[string]int
	refused map[string]int
	panics  int
	in      int
	frames  int
	out     int
}

func newCounts() *counts {
	return &counts{closed: map[string]int{}, refused: map[string]int{}}
}

func (c *counts) ConnOpened() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
}

func (c *counts) ConnClosed(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	c.closed[reason]++
}

func (c *counts) ConnRefused(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[reason]++
}

func (c *counts) Panic() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.panics++
}

func (c *counts) BytesIn(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in += n
}

func (c *counts) FramesOut(frames, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frames += frames
	c.out += bytes
}

// patience bounds every wait for what must come. Twice that is less than a mutant gets.
const patience = 25 * time.Second

// limits are generous.
func limits() lifecycle.Limits {
	return lifecycle.Limits{
		QueueFrames: 4096, QueueBytes: 4 << 20, HoldFrames: 100, HoldBytes: 1 << 20,
		Subscriptions: 20, Weight: 1 << 16, Queries: 4, Pending: 64, PendingBytes: 1 << 20, RoomTimeout: time.Minute,
	}
}

// relay is a server under test.
type relay struct {
	*conn.Server
	registry *registry.Registry
	counts   *counts
	opened   chan *lifecycle.Conn // every connection that begins, if there is room
	http     *httptest.Server
	options  conn.Options // before a test changed them
}

// update changes the options of connections that begin from now on, from what they are
// without the change that the server began with.
func (r *relay) update(change func(o *conn.Options)) {
	o := r.options
	change(&o)
	r.Update(o)
}

// newRelay returns a server without sockets.
func newRelay(t testing.TB, ctx context.Context, s session, change func(o *conn.Options)) *relay {
	r := &relay{registry: registry.New(), counts: newCounts(), opened: make(chan *lifecycle.Conn, 16)}
	o := conn.Options{
		Open: func(c *lifecycle.Conn) conn.Session {
			select {
			case r.opened <- c:
			default:
			}
			return &session{c: c, handle: s.handle, onEnd: s.onEnd}
		},
		Limits: limits(), MaxMessage: 128 << 10,
		WriteTimeout: 10 * time.Second, FlushTimeout: 5 * time.Second,
		Registry: r.registry, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Metrics: r.counts,
	}
	r.options = o
	if change != nil {
		change(&o)
	}
	r.Server = conn.NewServer(ctx, o)
	return r
}

// serve returns a server on a real listener, which wrap may change. At the end of
// the test every connection must have left without a trace.
func serve(t testing.TB, s session, change func(o *conn.Options), wrap ...func(net.Listener) net.Listener) *relay {
	ctx, cancel := context.WithCancel(context.Background())
	r := newRelay(t, ctx, s, change)
	r.http = httptest.NewUnstartedServer(r)
	for _, w := range wrap {
		r.http.Listener = w(r.http.Listener)
	}
	r.http.Start()
	t.Cleanup(func() {
		cancel()
		r.gone(t)
		r.http.Close()
	})
	return r
}

// gone waits until no connection is left and checks that nothing is.
func (r *relay) gone(t testing.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, r.Wait(ctx))
	require.Zero(t, r.registry.Len())
	total, networks := r.registry.Admitted()
	require.Zero(t, total)
	require.Zero(t, networks)
	r.counts.mu.Lock()
	defer r.counts.mu.Unlock()
	require.Zero(t, r.counts.open)
}

// reasons returns how many connections ended for each reason.
func (r *relay) reasons() map[string]int {
	r.counts.mu.Lock()
	defer r.counts.mu.Unlock()
	return maps.Clone(r.counts.closed)
}

// refusals returns how many were not accepted for each reason.
func (r *relay) refusals() map[string]int {
	r.counts.mu.Lock()
	defer r.counts.mu.Unlock()
	return maps.Clone(r.counts.refused)
}
