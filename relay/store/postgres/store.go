package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"fencepost/lifecycle"
	"fencepost/relay/store"
	"fencepost/relay/store/commit"
)

// Store is a store.Store over PostgreSQL. Its methods may be called from any goroutine.
type Store struct {
	// Set at construction, never changed.
	opt     Options
	pools   pools
	queue   *commit.Queue[uint64]
	changed chan struct{} // one waiting wake-up at most; never closed
	notify  chan struct{} // the same for the notifier
	group   *lifecycle.Group
	written chan struct{} // closed when the writer has ended
	close   func() error  // runs shutdown once

	closed   atomic.Bool
	damaged  atomic.Uint64 // see Damaged
	refusing atomic.Bool   // see Refusing

	listener listener
	writer   writer // owned by the writer goroutine
}

// open is Open without patience.
func open(ctx context.Context, url string, opt Options) (*Store, error) {
	if opt.Migrate {
		if err := upUnharmed(ctx, url); err != nil {
			return nil, err
		}
	}
	cfg, err := parse(url, opt)
	if err != nil {
		return nil, err
	}
	conn, err := connect(ctx, cfg.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	durable, err := check(ctx, conn, cfg.ConnConfig, opt)
	if err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	cfg.ConnConfig.RuntimeParams["synchronous_commit"] = durable // whatever the database has for sessions later
	life := context.WithoutCancel(ctx)
	me := make([]byte, 16)
	_, _ = rand.Read(me) // never fails
	s := &Store{
		opt:     opt,
		queue:   commit.NewQueue[uint64](),
		changed: make(chan struct{}, 1),
		notify:  make(chan struct{}, 1),
		group:   lifecycle.NewGroup(life),
		written: make(chan struct{}),
		writer:  writer{cfg: cfg.ConnConfig, conn: conn, me: me},
	}
	if err := s.pools.open(ctx, life, cfg); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	s.listener.cfg = cfg.ConnConfig
	s.close = sync.OnceValue(s.shutdown)
	if err := s.listener.begin(ctx); err != nil {
		s.pools.close()
		return nil, errors.Join(err, conn.Close(ctx))
	}
	s.group.Go("writer", func(context.Context) { defer close(s.written); s.write(life) })
	s.group.Go("listener", s.listen)
	s.group.Go("notifier", s.tell)
	return s, nil
}

// check refuses a database that is not one for this store. durable is its synchronous_commit.
func check(ctx context.Context, conn *pgx.Conn, cfg *pgx.ConnConfig, opt Options) (durable string, err error) {
	ctx, cancel := context.WithTimeout(ctx, shortSilence)
	defer cancel()
	durable, err = checkSettings(ctx, conn)
	return durable, errors.Join(err, checkParameters(ctx, conn, cfg), checkSchema(ctx, conn), checkCopying(ctx, conn, opt))
}

// closeTimeout is how long connections of a store that closes are waited for.
const closeTimeout = 5 * time.Second

// checkSettings refuses a database that would lose what it acknowledged, and one that
// cannot hold every word. durable is its synchronous_commit.
func checkSettings(ctx context.Context, conn *pgx.Conn) (durable string, err error) {
	var fsync, encoding string
	const sql = `SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_setting('server_encoding')`
	if err := conn.QueryRow(ctx, sql).Scan(&fsync, &durable, &encoding); err != nil {
		return "", fmt.Errorf("settings of the database: %w", err)
	}
	switch {
	case fsync == "off":
		return "", errors.New("the database runs with fsync=off and would lose acknowledged events")
	case durable == "off":
		return "", errors.New("the database runs with synchronous_commit=off and would lose acknowledged events")
	case encoding != "UTF8":
		return "", fmt.Errorf("the encoding of the database is %s, it has to be UTF8", encoding)
	}
	return durable, nil
}

// Append implements store.Store. It blocks while the queue is full and until the events
// are durable; an ended ctx withdraws what the writer has not taken.
func (s *Store) Append(ctx context.Context, writes []store.Write) []store.Outcome {
	if len(writes) == 0 {
		return nil
	}
	bytes := 0
	for i := range writes {
		bytes += weight(&writes[i])
	}
	r := commit.Append[uint64](writes, bytes)
	s.queue.Do(ctx, r)
	return r.Outcomes
}

// weight estimates what w costs in memory and on the wire, in bytes.
func weight(w *store.Write) int {
	n := 64 * (1 + len(w.Ban) + len(w.Unban) + len(w.Terms))
	for i := range w.Controls {
		n += 64 + len(w.Controls[i].Data)
	}
	if w.Event != nil {
		n += 512 + len(w.Event.Raw())
	}
	for _, e := range w.Also {
		n += 512 + len(e.Raw())
	}
	return n
}

// Sweep implements store.Store. Each commit takes sweepRows, so that appends come in
// between. It also deletes events that were removed longer than SnapshotAge ago.
func (s *Store) Sweep(ctx context.Context, now time.Time) (int, error) {
	total := 0
	for {
		r := &request{Until: now}
		s.queue.Do(ctx, r)
		total += r.Removed
		if r.Err != nil {
			return total, r.Err
		}
		if r.Removed < sweepRows {
			return total, s.trim(ctx)
		}
	}
}

// Changed implements store.Store.
func (s *Store) Changed() <-chan struct{} { return s.changed }

// Close implements store.Store.
func (s *Store) Close() error { return s.close() }

func (s *Store) shutdown() error {
	s.closed.Store(true)
	s.queue.Close()
	<-s.written
	s.group.Cancel()
	life := context.WithoutCancel(s.group.Context())
	err := s.group.Wait(life)
	s.closePools(life)
	return errors.Join(err, s.writer.end(life), s.listener.end(life))
}

// closePools gives up connections on which the database says nothing: all that could be
// lost with them is an answer that nobody waits for.
func (s *Store) closePools(life context.Context) {
	closing := lifecycle.NewGroup(life)
	closing.Go("pools", func(context.Context) { s.pools.close() })
	ctx, cancel := context.WithTimeout(life, closeTimeout)
	defer cancel()
	if closing.Wait(ctx) != nil {
		s.opt.Logger.Warn("the database does not let its connections go")
	}
}

// ready returns why nothing can be read.
func (s *Store) ready(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

// wake leaves a wake-up unless one is waiting already.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
