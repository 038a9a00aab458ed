package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// checkParameters refuses a connection whose parameters did not arrive: a pooler stands
// between that drops them, and with them the time limits that locks need. Such a one, as
// PgBouncer in transaction mode, also hears no NOTIFY, and nobody would notice.
func checkParameters(ctx context.Context, conn *pgx.Conn, cfg *pgx.ConnConfig) error {
	want := maps.Clone(cfg.RuntimeParams)
	delete(want, "tcp_user_timeout") // 0 on sockets that are not TCP
	const sql = `SELECT name, setting FROM pg_settings WHERE name = ANY ($1)`
	rows, err := conn.Query(ctx, sql, slices.Sorted(maps.Keys(want)))
	if err != nil {
		return fmt.Errorf("parameters of the connection: %w", err)
	}
	var name, setting string
	_, err = pgx.ForEachRow(rows, []any{&name, &setting}, func() error {
		if setting != want[name] {
			return fmt.Errorf("%s of the connection is %s, not %s: connect to PostgreSQL itself, not to a pooler", name, setting, want[name])
		}
		return nil
	})
	return err
}
