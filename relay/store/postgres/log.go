package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/relay/store"
)

const (
	// OFFSET 0: see load.go. Else a follower could not keep up with a log that grows fast.
	sqlReadLog = `SELECT l.position, l.version, l.type, l.detail, coalesce(l.target, 0), l.prefix, coalesce(l.body, e.raw),
coalesce(e.kind, -1), e.pubkey, e.address FROM log l
LEFT JOIN LATERAL (SELECT * FROM events WHERE position = l.position AND l.type = 1 OFFSET 0) e ON true
WHERE l.position > $1 ORDER BY l.position LIMIT $2`

	sqlReadControl = `SELECT l.position, l.version, l.type, l.detail, coalesce(l.target, 0), l.prefix, l.body
FROM log l WHERE l.type = 5 AND l.position > $1 ORDER BY l.position LIMIT $2`

	sqlFloor = `SELECT floor FROM log_head`

	// The timeline changes when a standby takes over or a backup is recovered to a moment,
	// the number of the table when a dump makes it anew.
	sqlLog = `SELECT id || '-' || left(pg_walfile_name(pg_current_wal_lsn()), 8) || '-' || tableoid, floor, head, control
FROM log_head`
)

// Log implements store.Store. The epoch is the random name of this history, the
// timeline of the server and the number of the table that has the head.
func (s *Store) Log(ctx context.Context) (info store.LogInfo, err error) {
	if err := s.ready(ctx); err != nil {
		return info, err
	}
	err = s.pools.short.QueryRow(ctx, sqlLog).Scan(&info.Epoch, &info.Floor, &info.Head, &info.Control)
	return info, s.failed(ctx, err)
}

// ReadLog implements store.Store.
func (s *Store) ReadLog(ctx context.Context, after store.Position, limit int) ([]store.Entry, error) {
	return s.readRows(ctx, s.pools.short, sqlReadLog, after, limit, collectLog)
}

// ReadControl implements store.Store.
func (s *Store) ReadControl(ctx context.Context, after store.Position, limit int) ([]store.Entry, error) {
	return s.readRows(ctx, s.pools.short, sqlReadControl, after, limit, collectRows)
}

func (s *Store) readRows(ctx context.Context, by *pgxpool.Pool, sql string, after store.Position, limit int, collect func(pgx.Rows) ([]store.Entry, error)) (out []store.Entry, err error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if limit <= 0 || after >= math.MaxInt64 {
		return nil, nil
	}
	var b pgx.Batch
	b.Queue(sql, int64(after), limit).Query(func(rows pgx.Rows) error {
		out, err = collect(rows)
		return err
	})
	var floor store.Position
	b.Queue(sqlFloor).QueryRow(func(r pgx.Row) error { return r.Scan(&floor) }) // after the rows: what it allows was there
	if err := by.SendBatch(ctx, &b).Close(); err != nil {
		return nil, s.failed(ctx, err)
	}
	if sql == sqlReadLog && after+1 < floor {
		return nil, store.ErrFloor
	}
	return out, nil
}

func collectRows(rows pgx.Rows) (out []store.Entry, err error) {
	var r rawRow
	_, err = pgx.ForEachRow(rows, []any{&r.position, &r.version, &r.kind, &r.detail, &r.target, &r.prefix, &r.body}, func() error {
		e, err := r.decode(nil)
		out = append(out, e)
		return err
	})
	return out, err
}

// collectLog does not fail where a body cannot be read.
func collectLog(rows pgx.Rows) (out []store.Entry, err error) {
	var r rawRow
	var t routing
	to := []any{&r.position, &r.version, &r.kind, &r.detail, &r.target, &r.prefix, &r.body, &t.kind, &t.pubkey, &t.address}
	_, err = pgx.ForEachRow(rows, to, func() error {
		e, err := r.decode(nil)
		if err != nil {
			e = r.broken(err, &t)
		}
		out = append(out, e)
		return nil
	})
	return out, err
}

// readOnly is the error of a session that began while the database was read-only.
const readOnly = "25006"

// failed makes an error of reading what callers expect: the store may have been closed
// meanwhile, and a context ended.
func (s *Store) failed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ready := s.ready(ctx); ready != nil {
		return ready
	}
	switch {
	case errors.Is(err, errSilent):
		s.pools.doubt()
	case code(err) == readOnly:
		s.pools.renew()
	}
	return fmt.Errorf("read the database: %w", err)
}
