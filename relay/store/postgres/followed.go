package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/relay/store"
)

// Followed is the log for the one who follows it, by a connection that nobody else uses:
// a replica that does not see the end of its log in time shows nothing private, and what
// clients ask for must not bring that about. Where the database has no connection free for
// it, the queries of this process give theirs back and make no new ones until it has one.
type Followed struct{ store *Store }

// Followed returns the log for the one who follows it.
func (s *Store) Followed() *Followed { return &Followed{store: s} }

// Changed is Store.Changed.
func (f *Followed) Changed() <-chan struct{} { return f.store.changed }

// ReadLog is Store.ReadLog.
func (f *Followed) ReadLog(ctx context.Context, after store.Position, limit int) ([]store.Entry, error) {
	p := &f.store.pools
	rows, err := f.store.readRows(ctx, p.followed, sqlReadLog, after, limit, collectLog)
	switch {
	case code(err) == tooMany:
		p.full.Store(true)
		p.renew()
	case err == nil:
		p.full.Store(false)
	}
	return rows, err
}

// tooMany is the error of a database, or of a role, without a connection left.
const tooMany = "53300"

// errFull refuses a connection for queries.
var errFull = errors.New("the database has too few connections: what is left is for the log")

// pools are the connections of a store, but for those of the writer, the listener and the
// notifier.
type pools struct {
	queries  *pgxpool.Pool // for what clients ask, which may take long
	short    *pgxpool.Pool // for what is short, and must not wait for that
	followed *pgxpool.Pool // one connection, for Followed

	asking, brief *waiting // the connections of queries and of short

	full atomic.Bool // there is no connection for followed
}

// open makes the pools, and the connection of followed.
func (p *pools) open(ctx, life context.Context, cfg *pgxpool.Config) (err error) {
	log := cfg.Copy()
	log.MaxConns, log.MinConns = 1, 1
	log.MaxConnLifetime, log.MaxConnIdleTime = forever, forever
	log.ShouldPing = p.doubtful
	impatient(log, followedSilence, 0)
	if p.followed, err = pgxpool.NewWithConfig(life, log); err != nil {
		return err
	}
	if err = p.followed.Ping(ctx); err != nil {
		p.close()
		return fmt.Errorf("connect to the database: %w", err)
	}
	cfg = cfg.Copy()
	cfg.ShouldPing = p.doubtful
	cfg.BeforeConnect = func(context.Context, *pgx.ConnConfig) error {
		if p.full.Load() {
			return errFull
		}
		return nil
	}
	short := cfg.Copy()
	p.asking = impatient(cfg, 0, aliveTimeout)
	if p.queries, err = pgxpool.NewWithConfig(life, cfg); err == nil {
		short.MaxConns = shortConns
		p.brief = impatient(short, shortSilence, 0)
		p.short, err = pgxpool.NewWithConfig(life, short)
	}
	if err != nil {
		p.close()
	}
	return err
}

// renew gives up the connections that there are, once nobody uses them: one of them has
// shown that they are of no use any more.
func (p *pools) renew() {
	p.queries.Reset()
	p.short.Reset()
}

// doubt is renew where a connection fell silent. Those that are in use may be so too, and
// queries would wait for them as long as who asks does.
func (p *pools) doubt() {
	p.renew()
	p.brief.hurry(doubtedShort)
	p.asking.hurry(doubtedQuery)
}

// doubtful has a connection prove that it is alive where nobody used it for a second. It
// reports whether it is to be asked once more, which fails at once where it is not.
func (p *pools) doubtful(ctx context.Context, of pgxpool.ShouldPingParams) bool {
	if of.IdleDuration <= time.Second {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), aliveTimeout) // who asks may go away: that says nothing
	defer cancel()
	err := of.Conn.Ping(ctx)
	if ctx.Err() != nil {
		p.doubt()
	}
	return err != nil
}

// close waits for reads that are running.
func (p *pools) close() {
	for _, pool := range []*pgxpool.Pool{p.queries, p.short, p.followed} {
		if pool != nil {
			pool.Close()
		}
	}
}
