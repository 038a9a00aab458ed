package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"fencepost/relay/store"
)

// migrations are files named NNNN_what.sql, numbered from 1 without a hole, and never
// edited after they shipped. One that begins with additiveMark leaves replicas of the
// version before it able to work: it takes nothing away that they use, and nothing is
// wrong with what they write.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrationLock is the advisory lock under which migrations run.
const migrationLock = 0x66656e6365706f73 // "fencepos"

const additiveMark = "-- Additive."

// Migration is one step of the schema.
type Migration struct {
	Version  int
	Name     string
	Applied  bool
	Additive bool // replicas of the version before it go on working

	sql string
}

// Status returns all migrations that this program knows, in order, and the version of
// the database, which is larger than the last one's when a newer program migrated it.
func Status(ctx context.Context, url string) (all []Migration, version int, err error) {
	err = withConn(ctx, url, func(conn *pgx.Conn) error {
		all, version, err = status(ctx, conn)
		return err
	})
	return all, version, err
}

// Up applies what is missing, each migration in a transaction of its own, and returns
// what it applied. Of several that run at once, one works and the others wait for it.
// A database of a newer version is refused with store.ErrSchema.
func Up(ctx context.Context, url string) (applied []Migration, err error) {
	return upWhere(ctx, url, func(context.Context, *pgx.Conn, Migration) error { return nil })
}

// upUnharmed is Up that stops before a step which would stop replicas that run.
func upUnharmed(ctx context.Context, url string) error {
	_, err := upWhere(ctx, url, func(ctx context.Context, conn *pgx.Conn, m Migration) error {
		if m.Additive || m.Version == 1 {
			return nil
		}
		n, err := replicas(ctx, conn)
		if err == nil && n > 0 {
			err = fmt.Errorf("%w: replicas of an older version run, which migration %d (%s) would stop: end them first, or run fencepost migrate up",
				store.ErrSchema, m.Version, m.Name)
		}
		return err
	})
	return err
}

// upWhere applies what is missing as long as may has no objection.
func upWhere(ctx context.Context, url string, may func(context.Context, *pgx.Conn, Migration) error) (applied []Migration, err error) {
	err = withConn(ctx, url, func(conn *pgx.Conn) error {
		applied, err = up(ctx, conn, may)
		return err
	})
	return applied, err
}

func withConn(ctx context.Context, url string, do func(*pgx.Conn) error) error {
	cfg, err := parseURL(url)
	if err != nil {
		return err
	}
	conn, err := connect(ctx, cfg.ConnConfig)
	if err != nil {
		return err
	}
	return errors.Join(do(conn), conn.Close(ctx))
}

func up(ctx context.Context, conn *pgx.Conn, may func(context.Context, *pgx.Conn, Migration) error) (applied []Migration, err error) {
	if done, err := complete(ctx, conn); done || err != nil {
		return nil, err
	}
	// The lock ends with the connection.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(migrationLock)); err != nil {
		return nil, fmt.Errorf("wait for other migrations: %w", err)
	}
	all, version, err := status(ctx, conn)
	if err != nil {
		return nil, err
	}
	if version > len(all) {
		return nil, schemaError(version, len(all))
	}
	for _, m := range all[version:] {
		if err := may(ctx, conn, m); err != nil {
			return applied, err
		}
		if err := apply(ctx, conn, m); err != nil {
			return applied, fmt.Errorf("migration %d (%s): %w", m.Version, m.Name, err)
		}
		m.Applied = true
		applied = append(applied, m)
	}
	return applied, nil
}

// complete reports whether there is nothing to apply, which needs no lock that may take long.
func complete(ctx context.Context, conn *pgx.Conn) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, shortSilence)
	defer cancel()
	all, version, err := status(ctx, conn)
	return version == len(all), err
}

func apply(ctx context.Context, conn *pgx.Conn, m Migration) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		const table = `CREATE TABLE IF NOT EXISTS schema_version (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())`
		if _, err := tx.Exec(ctx, table); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, m.sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO schema_version (version) VALUES ($1)", m.Version)
		return err
	})
}

func status(ctx context.Context, conn *pgx.Conn) ([]Migration, int, error) {
	all, err := known()
	if err != nil {
		return nil, 0, err
	}
	version, err := schemaVersion(ctx, conn)
	if err != nil {
		return nil, 0, err
	}
	for i := range all {
		all[i].Applied = all[i].Version <= version
	}
	return all, version, nil
}

// known reads the embedded migrations.
func known() ([]Migration, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	all := make([]Migration, len(names))
	for i, name := range names {
		number, what, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(name, "migrations/"), ".sql"), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("%s is out of order", name)
		}
		sql, err := fs.ReadFile(migrations, name)
		if err != nil {
			return nil, err
		}
		all[i] = Migration{Version: version, Name: what, sql: string(sql), Additive: strings.HasPrefix(string(sql), additiveMark)}
	}
	return all, nil
}

// schemaVersion is 0 for a database that has none of it.
func schemaVersion(ctx context.Context, conn *pgx.Conn) (version int, err error) {
	err = conn.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM schema_version").Scan(&version)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == undefinedTable {
		return 0, nil
	}
	return version, err
}

// checkSchema refuses every version but the one that this program was made for.
func checkSchema(ctx context.Context, conn *pgx.Conn) error {
	all, version, err := status(ctx, conn)
	if err == nil && version != len(all) {
		err = schemaError(version, len(all))
	}
	return err
}

func schemaError(have, want int) error {
	if have > want {
		return fmt.Errorf("%w: the database has version %d, this program knows up to %d: run a newer one", store.ErrSchema, have, want)
	}
	return fmt.Errorf("%w: the database has version %d, this program needs %d: run fencepost migrate up", store.ErrSchema, have, want)
}
