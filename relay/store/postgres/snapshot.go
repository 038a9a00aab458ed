package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

var errSnapshotOld = errors.New("snapshot is too old")

// snapshot is a store.Snapshot: a position. What was removed after it is still there,
// marked, for as long as Options.SnapshotAge; so it holds nothing of the database's, and
// outlives its connections.
type snapshot struct {
	store *Store
	head  int64

	control int64 // the newest control row then

	closed atomic.Bool
}

const (
	sqlApplied = `SELECT head, control FROM log_head`
	sqlTrimmed = `SELECT trimmed FROM log_head`

	sqlByIDs = `SELECT e.newest, e.id, e.position FROM unnest($1::bytea[]) AS k (id)
CROSS JOIN LATERAL (SELECT * FROM events WHERE id = k.id AND position + 0 <= $2 AND coalesce(gone, 9223372036854775807) > $2 OFFSET 0) e`

	// Those of the first, up to $2 bytes and the one that passes them; NULL for the others.
	sqlRaw = `SELECT position, CASE WHEN before < $2 THEN raw END FROM (
SELECT e.position, e.raw,
	coalesce(sum(octet_length(e.raw)) OVER (ORDER BY k.at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
FROM unnest($1::bigint[]) WITH ORDINALITY AS k (position, at)
CROSS JOIN LATERAL (SELECT * FROM events WHERE position = k.position OFFSET 0) e) n`

	sqlPrefixed = `SELECT e.position, e.raw FROM events e WHERE e.id >= $1 AND e.id <= $2
AND e.position + 0 <= $3 AND coalesce(e.gone, 9223372036854775807) > $3 ORDER BY e.id LIMIT $4`
)

// Snapshot implements store.Store.
func (s *Store) Snapshot(ctx context.Context) (store.Snapshot, error) {
	snap, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return snap, nil
}

func (s *Store) snapshot(ctx context.Context) (*snapshot, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	snap := &snapshot{store: s}
	if err := s.pools.short.QueryRow(ctx, sqlApplied).Scan(&snap.head, &snap.control); err != nil {
		return nil, s.failed(ctx, err)
	}
	return snap, nil
}

// Applied implements store.Snapshot.
func (s *snapshot) Applied() store.Position { return store.Position(s.head) }

// Control implements store.Snapshot.
func (s *snapshot) Control() store.Position { return store.Position(s.control) }

// Query implements store.Snapshot. It reads nothing yet.
func (s *snapshot) Query(ctx context.Context, filters []*wire.Filter, opt store.QueryOptions) (store.Rows, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	var plain, searches []*wire.Filter
	for _, f := range filters {
		if f.Searches() {
			searches = append(searches, f)
		} else {
			plain = append(plain, f)
		}
	}
	a := &answer{union: s.union(plain, opt.Limit, opt.Visible), maxTotal: opt.MaxTotal}
	a.unasked = slices.ContainsFunc(filters, func(f *wire.Filter) bool { return opt.Limit(f) == 0 })
	a.ranking = newRanking(s, searches, opt)
	a.union.skip = a.ranking.Has
	return a, nil
}

// Count implements store.Snapshot.
func (s *snapshot) Count(ctx context.Context, filters []*wire.Filter, limit int, visible func(*wire.Event) bool) (n int, exact bool, err error) {
	u := s.union(filters, unlimited, visible)
	if visible == nil && len(filters) == 1 && len(u.walks) == 1 && u.walks[0].exact() {
		return u.walks[0].count(ctx, limit)
	}
	for {
		found, err := u.next(ctx)
		switch {
		case err != nil:
			return 0, false, err
		case found == nil:
			return n, true, nil
		case limit > 0 && n == limit:
			return n, false, nil
		}
		n++
	}
}

// Prefixed implements store.Snapshot.
func (s *snapshot) Prefixed(ctx context.Context, prefix string, limit int) (out []store.Record, err error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if len(prefix) < 8 || len(prefix) > 64 || len(prefix)%2 != 0 || limit <= 0 || strings.ToLower(prefix) != prefix {
		return nil, nil
	}
	first, err := hex.DecodeString(prefix)
	if err != nil {
		return nil, nil // the beginning of none
	}
	last := append(slices.Clone(first), slices.Repeat([]byte{0xff}, 32-len(first))...)
	err = s.read(ctx, sqlPrefixed, []any{first, last, s.head, limit}, func(rows pgx.Rows) error {
		found, err := s.store.collect(rows)
		for _, f := range found {
			if f.event != nil {
				out = append(out, store.Record{Position: store.Position(f.position), Event: f.event})
			}
		}
		return err
	})
	return out, err
}

// read runs one statement, and then sees whether what it looked for may be gone.
func (s *snapshot) read(ctx context.Context, sql string, args []any, collect func(pgx.Rows) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	var trimmed int64
	var b pgx.Batch
	if sql == sqlSearch {
		free(&b)
	}
	b.Queue(sql, args...).Query(collect)
	b.Queue(sqlTrimmed).QueryRow(func(r pgx.Row) error { return r.Scan(&trimmed) })
	if sql == sqlSearch {
		b.Queue("COMMIT")
	}
	if err := s.store.pools.queries.SendBatch(ctx, &b).Close(); err != nil {
		if ready := s.ready(ctx); ready != nil {
			return ready
		}
		return s.store.failed(ctx, err)
	}
	if trimmed > s.head {
		return errSnapshotOld
	}
	return nil
}

// Close implements store.Snapshot; it may be called more than once.
func (s *snapshot) Close() error {
	s.closed.Store(true)
	return nil
}

func (s *snapshot) ready(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return s.store.ready(ctx)
}
