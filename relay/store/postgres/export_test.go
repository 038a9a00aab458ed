package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/relay/wire"
)

// Explain returns how the database carries out the first chunk of what f asks for.
func (s *Store) Explain(ctx context.Context, f *wire.Filter) (string, error) {
	q, _ := newQuery(f)
	p := q.plan()
	if f.IDs != nil {
		return s.explain(ctx, sqlByIDs, q.ids, int64(1)<<40)
	}
	w := walk{snapshot: &snapshot{store: s, head: 1 << 40}, query: q, plan: p, cursor: entry{newest: q.from, id: []byte{}}}
	return s.explain(ctx, p.sql, w.args(100)...)
}

// ExplainOthers does the same for what every commit, the follower and the sweep ask.
func (s *Store) ExplainOthers(ctx context.Context) (map[string]string, error) {
	ids := [][]byte{make([]byte, 32), []byte(strings.Repeat("x", 32))}
	out := make(map[string]string)
	for sql, args := range map[string][]any{
		sqlByID:         {ids, ids, ids},
		sqlByAddress:    {ids, ids},
		sqlByPosition:   {[]int64{1, 2}},
		sqlDue:          {int64(1), int32(0), 500},
		sqlTombs:        {ids},
		sqlAddressTombs: {ids},
		sqlBans:         {ids},
		sqlEpochs:       {ids},
		sqlErasedKeys:   {ids},
		sqlErasedGroups: {ids},
		sqlRaw:          {[]int64{1, 2}, 1 << 19},
		sqlPrefixed:     {ids[0], ids[1], int64(1) << 40, 10},
		sqlReadLog:      {int64(100), 100},
		sqlReadControl:  {int64(100), 100},
		sqlTrimmable:    {1.0, 500},
		sqlTrimTags:     {[]int16{1}, ids[:1], []int64{1}, ids[:1], []int64{1}},
		sqlTrimSearch:   {[]int64{1}},
		sqlTrimEvents:   {[]int64{1}},
	} {
		plan, err := s.explain(ctx, sql, args...)
		if err != nil {
			return nil, err
		}
		out[sql] = plan
	}
	return out, nil
}

func (s *Store) explain(ctx context.Context, sql string, args ...any) (plan string, err error) {
	var b pgx.Batch
	if sql == sqlSearch {
		free(&b)
	}
	b.Queue("EXPLAIN (ANALYZE, TIMING OFF) "+sql, args...).Query(func(rows pgx.Rows) error {
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		plan = strings.Join(lines, "\n")
		return err
	})
	if sql == sqlSearch {
		b.Queue("COMMIT")
	}
	return plan, s.pools.short.SendBatch(ctx, &b).Close()
}

// HoldQueries takes all connections for queries, until the returned function is called.
func (s *Store) HoldQueries(ctx context.Context) (release func(), err error) {
	return hold(ctx, s.pools.queries, s.opt.MaxConns)
}

func hold(ctx context.Context, pool *pgxpool.Pool, n int) (release func(), err error) {
	var held []*pgxpool.Conn
	release = func() {
		for _, c := range held {
			c.Release()
		}
	}
	for range n {
		c, err := pool.Acquire(ctx)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, c)
	}
	return release, nil
}

// WriterSetting reads a setting as the next connection of the writer has it.
func (s *Store) WriterSetting(ctx context.Context, name string) (value string, err error) {
	w := writer{cfg: s.writer.cfg}
	defer w.drop(ctx)
	conn, err := w.connection(ctx)
	if err != nil {
		return "", err
	}
	return value, conn.QueryRow(ctx, `SELECT current_setting($1)`, name).Scan(&value)
}

// HoldShort does the same with those for short statements.
func (s *Store) HoldShort(ctx context.Context) (release func(), err error) {
	return hold(ctx, s.pools.short, shortConns)
}

// Backend is the process of the server that serves Followed.
func (f *Followed) Backend(ctx context.Context) (pid int, err error) {
	err = f.store.pools.followed.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&pid)
	return pid, err
}

// CheckParameters looks at a connection that has parameters, or that lost them.
func CheckParameters(ctx context.Context, url string, lost bool) error {
	cfg, err := parse(url, Options{})
	if err != nil {
		return err
	}
	used := cfg.ConnConfig.Copy()
	if lost {
		used.RuntimeParams = nil
	}
	conn, err := connect(ctx, used)
	if err != nil {
		return err
	}
	return errors.Join(checkParameters(ctx, conn, cfg.ConnConfig), conn.Close(ctx))
}

// UpTo applies the first n migrations.
func UpTo(ctx context.Context, url string, n int) error {
	enough := errors.New("that is enough")
	_, err := upWhere(ctx, url, func(_ context.Context, _ *pgx.Conn, m Migration) error {
		if m.Version > n {
			return enough
		}
		return nil
	})
	if errors.Is(err, enough) {
		return nil
	}
	return err
}
