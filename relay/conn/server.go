package conn

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/registry"
	"fencepost/relay/wire"
)

// Session is the protocol side of one connection.
type Session interface {
	// Handle acts on one message and may keep it. The reader calls it, one
	// message after another. ctx ends when the connection begins to close.
	Handle(ctx context.Context, msg []byte)
	// End takes the connection's last generations out of the index. It is called
	// once, after Conn.Finish.
	End(ended []*lifecycle.Handle)
}

// Metrics counts what happens on sockets. Reasons have few values; bytes are
// those of messages, before compression and framing.
type Metrics interface {
	ConnOpened()
	ConnClosed(reason string)
	ConnRefused(reason string) // before the upgrade: socket, blocked, address, total, draining, handshake
	Panic()
	BytesIn(n int)
	FramesOut(frames, bytes int)
}

// Options make a Server. Open, Registry and Logger must be set.
type Options struct {
	// Open makes the session of a new connection, in the reader.
	Open     func(c *lifecycle.Conn) Session
	Limits   lifecycle.Limits
	CloseAck bool        // see lifecycle.Options
	Pause    *pause.Hook // nil outside tests

	Sight func(ev *wire.Event) lifecycle.Sight // see lifecycle.Options; nil: everybody may see everything
	// SightOfRemoved is for events that are gone; nil: the same as Sight.
	SightOfRemoved func(ev *wire.Event) lifecycle.Sight
	OnEnded        func(h *lifecycle.Handle) // see lifecycle.Options
	// Blocked reports whether nobody may connect from addr; nil: everybody may.
	Blocked func(addr netip.Addr) bool

	MaxMessage   int64         // bytes of a whole message, inflated; 0 is no bound
	PingInterval time.Duration // 0 is no pings
	PongTimeout  time.Duration // 0 is PingInterval
	WriteTimeout time.Duration // of one batch; 0 is none
	FlushTimeout time.Duration // from the beginning of the end; 0 flushes nothing

	TrustedProxies []netip.Prefix // whose forwarded headers are believed
	MaxPerAddress  int            // connections; IPv6 counts by /64; 0 is no cap
	MaxTotal       int            // connections; 0 is no cap
	Compression    bool           // permessage-deflate without context takeover

	Registry *registry.Registry
	Logger   *slog.Logger
	Metrics  Metrics // nil counts nothing
}

// Server upgrades HTTP requests and serves the connections.
type Server struct {
	// Set at construction, never changed.
	group *lifecycle.Group
	log   *slog.Logger

	options  atomic.Pointer[Options] // what new connections get; replaced whole
	draining atomic.Bool             // set by Refuse

	crew lifecycle.Crew // writers of all connections

	frames   sync.Pool // *[]lifecycle.Frame; benchmark: BenchmarkIdle, 31 KiB a writer
	buffers  sync.Pool // *[]byte; benchmark: BenchmarkIdle, 64 KiB a writer
	deflates sync.Pool // *deflater; 650 KiB each
	inflates sync.Pool // *inflater; 40 KiB each
	reads    sync.Pool // *[]byte of readAhead bytes; see inbox
}

// NewServer returns a server whose connections end when ctx does.
func NewServer(ctx context.Context, o Options) *Server {
	s := &Server{group: lifecycle.NewGroup(ctx), log: o.Logger}
	s.frames.New = func() any { return new([]lifecycle.Frame) }
	s.buffers.New = func() any { return new([]byte) }
	s.deflates.New = func() any { return newDeflater() }
	s.inflates.New = func() any { return newInflater() }
	s.reads.New = func() any {
		buf := make([]byte, readAhead)
		return &buf
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	if o.Blocked == nil {
		o.Blocked = func(netip.Addr) bool { return false }
	}
	s.options.Store(&o)
	return s
}

// Update makes o hold for connections that begin from now on. Open ones keep
// what they began with. Functions, Pause, Registry, Logger and Metrics stay as they
// were given to NewServer.
func (s *Server) Update(o Options) {
	old := s.options.Load()
	o.Open, o.Pause, o.Registry, o.Logger, o.Metrics = old.Open, old.Pause, old.Registry, old.Logger, old.Metrics
	o.Sight, o.SightOfRemoved, o.OnEnded, o.Blocked = old.Sight, old.SightOfRemoved, old.OnEnded, old.Blocked
	s.options.Store(&o)
}

// Gate refuses with 403 what comes from a blocked address, whatever it asks for,
// and hands everything else to next.
func (s *Server) Gate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := s.options.Load()
		if o.Blocked(ClientPeer(r, o.TrustedProxies).Addr) {
			block(w, o)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ServeHTTP admits the client (403, 429 and 503 otherwise) and upgrades the request.
// It returns after the upgrade: the connection goes on in a goroutine of its own,
// which spares the memory that net/http holds while a handler runs.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o := s.options.Load()
	serving := s.group.Context().Err() == nil && !s.draining.Load() && s.group.Run("upgrade", func(context.Context) {
		s.admit(w, r, o)
	})
	if !serving {
		refuse(w, o, http.StatusServiceUnavailable, "draining")
	}
}

func (s *Server) admit(w http.ResponseWriter, r *http.Request, o *Options) {
	peer := ClientPeer(r, o.TrustedProxies)
	if o.Blocked(peer.Addr) {
		block(w, o)
		return
	}
	release, err := o.Registry.Admit(peer.Addr, o.MaxPerAddress, o.MaxTotal)
	switch {
	case errors.Is(err, registry.ErrAddressFull):
		refuse(w, o, http.StatusTooManyRequests, "address")
		return
	case err != nil:
		refuse(w, o, http.StatusServiceUnavailable, "total")
		return
	}
	sock, err := s.upgrade(w, r, o)
	if err != nil { // the library has answered
		release()
		o.Metrics.ConnRefused("handshake")
		return
	}
	if !s.group.Go("conn", func(ctx context.Context) {
		defer release()
		s.serve(ctx, o, sock, peer)
	}) {
		sock.CloseNow() // Wait came in between
		release()
	}
}

// refuse answers before the upgrade; the client may try again later.
func refuse(w http.ResponseWriter, o *Options, status int, reason string) {
	const retryAfter = "30" // seconds
	o.Metrics.ConnRefused(reason)
	w.Header().Set("Retry-After", retryAfter)
	http.Error(w, http.StatusText(status), status)
}

// block answers somebody who need not try again.
func block(w http.ResponseWriter, o *Options) {
	o.Metrics.ConnRefused("blocked")
	http.Error(w, http.StatusText(http.StatusForbidden), http.StatusForbidden)
}

// Serve serves sock in the caller's goroutine until the connection has ended,
// with all that belongs to it. ctx ends it, and so does the server's. Caps do
// not apply.
func (s *Server) Serve(ctx context.Context, sock Socket, peer lifecycle.Peer) {
	if !s.group.Run("conn", func(server context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(server, cancel)()
		s.serve(ctx, s.options.Load(), sock, peer)
	}) {
		sock.CloseNow()
	}
}

// Refuse takes no new connections from now on. One that is being upgraded at this
// moment is either in the registry when Refuse returns, or closes itself.
func (s *Server) Refuse() { s.draining.Store(true) }

// Wait refuses new connections and blocks until none is left or ctx ends. It
// ends none: the caller closes them, or ends the context given to NewServer.
func (s *Server) Wait(ctx context.Context) error {
	s.Refuse()
	return s.group.Wait(ctx)
}

// Failed receives a panic outside any connection, after which all of them end.
func (s *Server) Failed() <-chan error { return s.group.Failed() }

type noMetrics struct{}

func (noMetrics) ConnOpened()        {}
func (noMetrics) ConnClosed(string)  {}
func (noMetrics) ConnRefused(string) {}
func (noMetrics) Panic()             {}
func (noMetrics) BytesIn(int)        {}
func (noMetrics) FramesOut(int, int) {}
