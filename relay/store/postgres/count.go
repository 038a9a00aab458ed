package postgres

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5"
)

// exact reports whether the database can say what matches, without a look at the events.
func (w *walk) exact() bool { return w.plan.exact && w.filter.IDs == nil }

// count counts in the database what w finds, to at most limit (0 is no bound). w must be
// exact.
func (w *walk) count(ctx context.Context, limit int) (n int, exact bool, err error) {
	w.cursor = entry{newest: w.query.from, id: []byte{}}
	most := math.MaxInt
	if limit > 0 && limit < math.MaxInt {
		most = limit + 1 // of each stream
	}
	sql := "SELECT count(*) FROM (" + w.plan.sql + ") c"
	if w.plan.repeated {
		sql = "SELECT count(DISTINCT c.position) FROM (" + w.plan.sql + ") c"
	}
	err = w.snapshot.read(ctx, sql, w.args(most), func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&n}, func() error { return nil })
		return err
	})
	if err != nil {
		return 0, false, err
	}
	if n >= most {
		return limit, false, nil
	}
	return n, true, nil
}
