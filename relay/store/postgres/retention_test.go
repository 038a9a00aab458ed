package postgres_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
	"fencepost/relay/store/storetest"
)

// What has gone leaves room for what comes: a database through which the same goes again
// and again grows no more, once vacuum has been by.
func TestNothingGrowsWithWhatHasGone(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	now := time.Unix(1_700_000_000, 0)
	s := reopen(t, url, postgres.Options{Now: func() time.Time { return now }, SnapshotAge: time.Millisecond})
	rounds, each := 12, 300
	if full {
		rounds, each = 60, 1000
	}
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	sizes := make([]map[string]int64, 0, rounds)
	for range rounds {
		traffic(t, s, now, each)
		now = now.Add(2 * store.EphemeralAge)
		n, err := s.Sweep(t.Context(), now)
		require.NoError(t, err)
		require.Equal(t, 2*each, n)
		_, err = s.Trim(t.Context(), store.Retention{Rows: uint64(each)}, now)
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), "VACUUM log, events, tags, search, log_head, writers, log_times, tombs")
		require.NoError(t, err)
		sizes = append(sizes, relations(t, conn))
	}
	require.NoError(t, conn.Close(t.Context()))
	settled, last := sizes[rounds/3], sizes[rounds-1]
	for name, size := range last {
		t.Logf("%s: %d KiB after the first round, %d after the %dth, %d in the end",
			name, sizes[0][name]>>10, settled[name]>>10, rounds/3+1, size>>10)
		require.LessOrEqual(t, size, settled[name]+settled[name]/4+64<<10, name)
	}
	require.Equal(t, each, count(t, url, "log"))
	require.Zero(t, count(t, url, "events")+count(t, url, "search")+count(t, url, "tags"))
}

// traffic appends n ephemeral events and n that expire.
func traffic(t *testing.T, s *postgres.Store, now time.Time, n int) {
	t.Helper()
	var writes []store.Write
	text := strings.Repeat(" and more", 100)
	for i := range n {
		at := now.Unix()*1000 + int64(i)
		tags := nostr.Tags{{"t", strconv.Itoa(i)}, {"expiration", strconv.FormatInt(now.Unix()+60, 10)}}
		writes = append(writes,
			store.Write{Event: storetest.Draft{Kind: 20_000, At: at, Content: text}.Event()},
			store.Write{Event: storetest.Draft{Kind: 1, At: at, Tags: tags, Content: "word" + strconv.Itoa(i) + text}.Event()})
	}
	for _, out := range s.Append(t.Context(), writes) {
		require.NoError(t, out.Err)
	}
}

// relations returns what each table takes on disk, with its indexes.
func relations(t *testing.T, conn *pgx.Conn) map[string]int64 {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT relname::text, pg_total_relation_size(oid) FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`)
	require.NoError(t, err)
	sizes := make(map[string]int64)
	var name string
	var size int64
	_, err = pgx.ForEachRow(rows, []any{&name, &size}, func() error { sizes[name] = size; return nil })
	require.NoError(t, err)
	return sizes
}

// A trim that held rows before it has its turn would deadlock with a commit that voids
// one of them.
func TestATrimTakesItsTurnBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	s := reopen(t, url, postgres.Options{})
	for i := range 3 {
		require.NoError(t, write(t, s, store.Write{Event: note(1, strconv.Itoa(i))}).Err)
	}
	holder, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), "ALTER FUNCTION log_trim SET lock_timeout = '1min'")
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), "BEGIN; SELECT log_lock(); SET LOCAL lock_timeout = '5s'")
	require.NoError(t, err)
	var g errgroup.Group
	g.Go(func() error {
		_, err := s.Trim(t.Context(), store.Retention{Rows: 1}, time.Now())
		return err
	})
	require.Eventually(t, func() bool {
		var waits bool
		const sql = `SELECT count(*) > 0 FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'SELECT log_trim%'`
		require.NoError(t, holder.QueryRow(t.Context(), sql).Scan(&waits))
		_, err := holder.Exec(t.Context(), "SELECT pg_stat_clear_snapshot()")
		return err == nil && waits
	}, patience, 5*time.Millisecond)
	_, err = holder.Exec(t.Context(), "UPDATE log SET type = 4, detail = 1 WHERE position = 1")
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), "COMMIT")
	require.NoError(t, err)
	require.NoError(t, g.Wait())
	require.Equal(t, 1, count(t, url, "log"))
	require.NoError(t, holder.Close(t.Context()))
}

// Replicas that trim at once, while others append and backends are killed, leave the log
// whole from its floor on.
func TestKilledTrimsLeaveNoHole(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	stores := []*postgres.Store{reopen(t, url, postgres.Options{}), reopen(t, url, postgres.Options{})}
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	var g errgroup.Group
	for _, s := range stores {
		g.Go(func() error {
			for ctx.Err() == nil {
				_, _ = s.Trim(ctx, store.Retention{Rows: 20, Age: time.Hour}, time.Now()) // fails when it is killed
			}
			return nil
		})
	}
	g.Go(func() error {
		defer cancel()
		tick, clock, head := time.Tick(20*time.Millisecond), awake(t), 0
		for clock() < long(2*time.Second, 20*time.Second) || head < 100 && clock() < patience {
			<-tick
			const kill = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'SELECT log_trim%' AND state <> 'idle'`
			if _, err := conn.Exec(t.Context(), kill); err != nil {
				return err
			}
			if err := conn.QueryRow(t.Context(), `SELECT head FROM log_head`).Scan(&head); err != nil {
				return err
			}
		}
		return conn.Close(t.Context())
	})
	l := publish(ctx, 0, stores)
	require.NoError(t, g.Wait())
	require.Zero(t, l.failed)
	floor, err := stores[0].Trim(t.Context(), store.Retention{Rows: 20}, time.Now())
	require.NoError(t, err)
	require.Greater(t, floor, store.Position(1))
	info, err := stores[1].Log(t.Context())
	require.NoError(t, err)
	require.Equal(t, floor, info.Floor)
	rows, err := stores[1].ReadLog(t.Context(), floor-1, 100)
	require.NoError(t, err)
	require.Len(t, rows, 20)
	for i, r := range rows {
		require.Equal(t, floor+store.Position(i), r.Position)
	}
	require.Equal(t, 20, count(t, url, "log"))
	require.Equal(t, len(l.at), count(t, url, "events"), "stored events stay")
}
