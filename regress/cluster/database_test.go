package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/regress/cluster"
)

// operator is a connection past all proxies, of who runs the database.
type operator struct{ conn *pgx.Conn }

func operate(t testing.TB, database string) *operator {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the server may be gone
	return &operator{conn}
}

// Backends of the replicas, by what they did last.
const (
	listeners = `query LIKE 'LISTEN%' OR query = '-- ping'`
	notifiers = `query LIKE 'NOTIFY%'`
)

// terminate ends backends again and again until ctx ends, and returns how many. It does so
// until it has found one, for a while.
func (o *operator) terminate(ctx context.Context, every time.Duration, which string) (total int, err error) {
	sql := `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND (` + which + `)`
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), cluster.Patience)
	defer cancel()
	for cluster.Wait(ctx, every) == nil || total == 0 && cluster.Wait(patient, every) == nil {
		var n int
		if err := o.conn.QueryRow(context.WithoutCancel(ctx), sql).Scan(&n); err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

// holds reports whether the replica, which has a proxy, holds the lock of the log.
func (o *operator) holds(ctx context.Context, r *cluster.Replica) (held bool, err error) {
	const sql = `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'advisory' AND l.granted AND a.datname = current_database() AND a.client_port = ANY ($1))`
	err = o.conn.QueryRow(ctx, sql, r.Proxy.Ports()).Scan(&held)
	return held, err
}

// stopInside stops a replica while it is inside a commit: it holds the lock of the log,
// and still does so when the database has done all that it was asked for. It returns how
// many times it stopped the replica for that.
func (o *operator) stopInside(ctx context.Context, r *cluster.Replica) (tries int, err error) {
	ctx, cancel := context.WithTimeout(ctx, cluster.Patience)
	defer cancel()
	for tries = 1; ; tries++ {
		if err := r.Stop(); err != nil {
			return tries, err
		}
		held, err := o.holds(ctx, r)
		if err == nil && held {
			err = cluster.Wait(ctx, 20*time.Millisecond)
			if err == nil {
				held, err = o.holds(ctx, r)
			}
		}
		if err != nil || held {
			return tries, err
		}
		if err := r.Continue(); err != nil {
			return tries, err
		}
		if err := cluster.Wait(ctx, rand.N(4*time.Millisecond)); err != nil {
			return tries, fmt.Errorf("not found inside a commit: %w", err)
		}
	}
}

// within returns how long it took until ok holds.
func within(ctx context.Context, ok func() (bool, error)) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, cluster.Patience)
	defer cancel()
	for began := time.Now(); ; {
		done, err := ok()
		if done {
			return time.Since(began), nil
		}
		if waited := cluster.Wait(ctx, 20*time.Millisecond); waited != nil {
			return 0, errors.Join(waited, err)
		}
	}
}
