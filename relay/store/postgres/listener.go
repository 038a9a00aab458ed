package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// channel carries empty wake-ups; what changed is read from the log.
const channel = "fencepost"

const (
	pingEvery   = 2 * time.Second // of an idle listener
	pingTimeout = 2 * time.Second
	retryFirst  = 50 * time.Millisecond
	retryMost   = 2 * time.Second
)

// listener hears of the commits of other processes on a connection of its own, which is
// never in a transaction. While it is away the follower's poll goes on.
type listener struct {
	cfg  *pgx.ConnConfig // set at construction, never changed
	conn *pgx.Conn       // owned by the listener goroutine; nil while it is away

	listening atomic.Bool
	losses    atomic.Uint64 // of the connection
	notifier  atomic.Uint32 // the backend of this process's own notifications
}

// begin connects and listens.
func (l *listener) begin(ctx context.Context) error {
	conn, err := connect(ctx, l.cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return errors.Join(err, conn.Close(ctx))
	}
	l.conn = conn
	l.listening.Store(true)
	return nil
}

func (l *listener) end(ctx context.Context) error {
	l.listening.Store(false)
	if l.conn == nil {
		return nil
	}
	conn := l.conn
	l.conn = nil
	if conn.IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return conn.Close(ctx)
}

// wait returns once another process has committed: true, or once the connection has
// proved to be alive: false.
func (l *listener) wait(ctx context.Context) (woken bool, err error) {
	waiting, cancel := context.WithTimeout(ctx, pingEvery)
	defer cancel()
	n, err := l.conn.WaitForNotification(waiting)
	if err == nil {
		return n.PID != l.notifier.Load(), nil
	}
	if waiting.Err() == nil || ctx.Err() != nil {
		return false, err
	}
	alive, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return false, l.conn.Ping(alive)
}

// Listening reports whether commits of other processes are heard of at once. Otherwise
// the follower's poll finds them.
func (s *Store) Listening() bool { return s.listener.listening.Load() }

// Losses returns how often the connection was lost by which this process hears of the
// commits of others. A new one may take milliseconds.
func (s *Store) Losses() uint64 { return s.listener.losses.Load() }

// listen is the listener goroutine. After each reconnect it wakes the follower: LISTEN
// comes first, then the look at the log, then waiting.
func (s *Store) listen(ctx context.Context) {
	retry := newBackoff()
	for ctx.Err() == nil {
		if s.listener.conn == nil {
			if err := s.listener.begin(ctx); err != nil {
				retry.pause(ctx)
				continue
			}
			retry = newBackoff()
			s.opt.Logger.Info("listening to the database again")
			wake(s.changed)
		}
		woken, err := s.listener.wait(ctx)
		if woken {
			wake(s.changed)
		}
		if err != nil && ctx.Err() == nil {
			s.opt.Logger.Warn("listener lost its connection", "err", err)
			_ = s.listener.end(ctx) // it is of no further use
			s.listener.losses.Add(1)
		}
	}
}

// tell is the notifier goroutine: after commits of this process it wakes the others.
// What it cannot tell they find by their poll.
func (s *Store) tell(ctx context.Context) {
	w := writer{cfg: s.listener.cfg}
	defer func() { w.drop(ctx) }()
	retry := newBackoff()
	for {
		select {
		case <-s.notify:
		case <-ctx.Done():
			return
		}
		if err := s.tellOnce(ctx, &w); err != nil && ctx.Err() == nil {
			s.opt.Logger.Warn("cannot wake other replicas", "err", err)
			w.drop(ctx)
			wake(s.notify)
			retry.pause(ctx)
			continue
		}
		retry = newBackoff()
	}
}

func (s *Store) tellOnce(ctx context.Context, w *writer) error {
	conn, err := w.connection(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	s.listener.notifier.Store(conn.PgConn().PID())
	_, err = conn.Exec(ctx, "NOTIFY "+channel)
	return err
}

// backoff is a jittered pause that grows to a ceiling.
type backoff struct{ next time.Duration }

func newBackoff() *backoff { return &backoff{next: retryFirst} }

func (b *backoff) pause(ctx context.Context) {
	select {
	case <-time.After(b.next/2 + rand.N(b.next)):
	case <-ctx.Done():
	}
	b.next = min(2*b.next, retryMost)
}
