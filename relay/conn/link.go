package conn

import (
	"context"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
)

// link is one connection being served: the socket, the session, and the
// lifecycle.Conn between them.
type link struct {
	// Set at construction, never changed.
	server *Server
	o      *Options
	sock   Socket
	conn   *lifecycle.Conn
	life   context.Context // the parent of the connection's own

	pinger *time.Timer // starts pings; nil without

	// Owned by the reader.
	session Session

	bound   atomic.Pointer[time.Timer] // closes the socket FlushTimeout after Close
	turns   atomic.Uint64              // raised before and after each Handle: odd while one runs
	writing atomic.Bool                // a batch is being written
}

// serve runs one connection to its end, as the package comment says.
func (s *Server) serve(ctx context.Context, o *Options, sock Socket, peer lifecycle.Peer) {
	l := s.newLink(ctx, o, sock, peer)
	o.Registry.Add(l.conn)
	o.Metrics.ConnOpened()
	if s.draining.Load() { // the drain may have looked at the registry before Add
		l.conn.Close(causeDrain)
	}
	if o.Blocked(peer.Addr) { // it may have been blocked since it was admitted
		l.conn.Close(causeBlocked)
	}

	group := l.conn.Group()
	stop := context.AfterFunc(group.Context(), func() { l.conn.Close(l.endCause()) }) // if nobody has
	l.startPings()
	group.Run("reader", l.read)
	l.conn.Close(l.endCause()) // if nobody has: the reader panicked
	stop()
	o.Pause.At(pause.ConnClosed)

	<-l.conn.Written()
	ended := l.conn.Finish()
	group.Run("end", func(context.Context) { l.end(ended) })
	l.await()
	l.stopPings() // nobody sets it any more
	if bound := l.bound.Load(); bound != nil {
		bound.Stop()
	}
	sock.CloseNow()
	o.Registry.Remove(l.conn)
	l.report()
}

func (s *Server) newLink(ctx context.Context, o *Options, sock Socket, peer lifecycle.Peer) *link {
	l := &link{server: s, o: o, sock: sock, life: ctx}
	l.conn = lifecycle.NewConn(ctx, lifecycle.Options{
		ID: o.Registry.NextID(), Peer: peer, Limits: o.Limits, CloseAck: o.CloseAck,
		OnClose: func() {
			l.bound.Store(time.AfterFunc(o.FlushTimeout, l.cut))
		},
		Write: l.write, Crew: &l.server.crew,
		Sight: o.Sight, OnEnded: o.OnEnded, Pause: o.Pause,
		SightOfRemoved: o.SightOfRemoved,
	})
	return l
}

// read is the reader: it returns when the connection is closing.
func (l *link) read(context.Context) {
	l.session = l.o.Open(l.conn)
	ctx := l.conn.Context()
	for {
		msg, err := l.sock.Read()
		if err != nil {
			l.conn.Close(readCause(err))
			return
		}
		l.conn.Touch(time.Now())
		l.o.Metrics.BytesIn(len(msg))
		if !utf8.Valid(msg) { // RFC 6455 section 8.1
			l.conn.Close(causeUTF8)
			return
		}
		if ctx.Err() != nil {
			return // nothing is answered any more
		}
		l.turns.Add(1)
		l.session.Handle(ctx, msg)
		l.turns.Add(1)
	}
}

// cut ends the flushing of a connection that closes.
func (l *link) cut() {
	l.sock.CloseNow()
	l.conn.GiveUp()
}

func (l *link) end(ended []*lifecycle.Handle) {
	if l.session != nil {
		l.session.End(ended)
	}
}

// await returns when no goroutine of the connection is left. One that does not
// end is a bug that must not pass silently, and a connection that is not all
// gone must not count as gone.
func (l *link) await() {
	const patience = 10 * time.Second
	ctx := context.WithoutCancel(l.life)
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := l.conn.Group().Wait(short); err != nil {
		l.server.log.Error("connection does not end", "conn", l.conn.ID(), "err", err)
		_ = l.conn.Group().Wait(ctx) // it cannot fail: ctx does not end
	}
}

// endCause returns why a connection ends that nobody closed: the server ends, or
// one of the connection's goroutines panicked and so ended its group.
func (l *link) endCause() lifecycle.Cause {
	if l.life.Err() != nil {
		return causeDrain
	}
	return causePanic
}

// report logs and counts the end.
func (l *link) report() {
	cause := l.conn.Cause()
	reason := reasonOf(cause)
	select {
	case err := <-l.conn.Group().Failed():
		l.server.log.Error("connection ended by a panic", "conn", l.conn.ID(), "err", err)
		l.o.Metrics.Panic()
		reason = "panic"
	default:
	}
	l.o.Metrics.ConnClosed(reason)
	l.server.log.Debug("connection closed", "conn", l.conn.ID(), "code", cause.Code, "reason", cause.Text)
}
