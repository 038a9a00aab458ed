package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"fencepost/relay/wire"
)

// Explain returns how the database carries out the first chunk of what f asks for.
func (s *Store) Explain(ctx context.Context, f *wire.Filter) (string, error) {
	q, _ := newQuery(f)
	p := q.plan()
	if f.IDs != nil {
		return s.explain(ctx, sqlByIDs, q.ids, int64(1)<<40)
	}
	args := append([]any{q.from, []byte{}, q.to, int64(1) << 40, 100, p.kinds, p.authors}, p.args...)
	return s.explain(ctx, p.sql, args...)
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
		sqlRaw:          {[]int64{1, 2}},
		sqlPrefixed:     {ids[0], ids[1], int64(1) << 40, 10},
		sqlReadLog:      {int64(100), 100},
		sqlReadControl:  {int64(100), 100},
		sqlTrimmable:    {1.0, 500},
		sqlTrimTags:     {[]int16{1}, ids[:1], []int64{1}, ids[:1], []int64{1}},
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

func (s *Store) explain(ctx context.Context, sql string, args ...any) (string, error) {
	rows, err := s.pool.Query(ctx, "EXPLAIN (ANALYZE, TIMING OFF) "+sql, args...)
	if err != nil {
		return "", err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(lines, "\n"), err
}
