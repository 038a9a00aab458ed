package postgres_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
)

// ledger knows what was acknowledged.
type ledger struct {
	mu sync.Mutex
	// +checklocks:mu
	at map[store.Position]string // position -> id
	// +checklocks:mu
	failed int
}

func (l *ledger) note(out store.Outcome, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if out.Err != nil {
		l.failed++
		return
	}
	l.at[out.Position] = id
}

// publish appends from several callers over all stores until ctx ends, by the authors
// from key on.
func publish(ctx context.Context, key int, stores []*postgres.Store) *ledger {
	l := &ledger{at: make(map[store.Position]string)}
	var g errgroup.Group
	for caller := range 8 {
		g.Go(func() error {
			for i := 0; ctx.Err() == nil; i++ {
				e := note(key+caller, strconv.Itoa(i))
				out := stores[caller%len(stores)].Append(context.WithoutCancel(ctx), []store.Write{{Event: e}})[0]
				l.note(out, e.ID)
			}
			return nil
		})
	}
	_ = g.Wait() // its functions return none
	return l
}

// requireKept requires that everything acknowledged is in the log, at its position, and
// nothing twice.
func (l *ledger) requireKept(t *testing.T, s *postgres.Store) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	stored := log(t, s)
	seen := make(map[string]bool)
	for _, id := range stored {
		require.False(t, seen[id], "an event twice")
		seen[id] = true
	}
	for position, id := range l.at {
		require.Equal(t, id, stored[position])
	}
	t.Logf("%d acknowledged, %d in the log, %d refused", len(l.at), len(stored), l.failed)
}

func long(short, full_ time.Duration) time.Duration {
	if full {
		return full_
	}
	return short
}

func TestKilledBackendsLoseNothing(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	patiently := postgres.Options{CommitTimeout: time.Minute} // where commits are slow, a few in a row are killed
	stores := []*postgres.Store{reopen(t, url, patiently), reopen(t, url, patiently)}
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	var g errgroup.Group
	kills := 0
	g.Go(func() error {
		defer cancel()
		tick, clock := time.Tick(30*time.Millisecond), awake(t)
		for clock() < long(2*time.Second, 20*time.Second) || kills == 0 && clock() < patience {
			<-tick
			var n int
			const kill = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'SELECT log_commit%' AND state <> 'idle'`
			if err := conn.QueryRow(t.Context(), kill).Scan(&n); err != nil {
				return err
			}
			kills += n
		}
		return conn.Close(t.Context())
	})
	l := publish(ctx, 0, stores)
	require.NoError(t, g.Wait())
	t.Logf("%d backends killed", kills)
	require.NotZero(t, kills)
	require.Zero(t, l.failed, "each commit is made up for")
	l.requireKept(t, stores[1])
}

func TestARestartOfTheDatabaseLosesNothing(t *testing.T) {
	t.Parallel()
	from := server.Start(t)
	if !from.Own() {
		t.Skipf("needs a server of its own, not that of %s", server.EnvURL)
	}
	url := from.Database(t)
	stores := []*postgres.Store{reopen(t, url, postgres.Options{}), reopen(t, url, postgres.Options{})}
	ctx, cancel := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error {
		defer cancel()
		<-time.After(time.Second)
		from.Restart(t)
		<-time.After(long(time.Second, 20*time.Second))
		return nil
	})
	l := publish(ctx, 0, stores)
	require.NoError(t, g.Wait())
	l.requireKept(t, stores[0])
	woken(t, stores[0])
}

// A statement that fails because of one event fails that event only.
func TestOnlyTheCulpritFails(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	s := reopen(t, url, postgres.Options{})
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `ALTER TABLE events ADD CHECK (position(convert_to('culprit', 'UTF8') IN raw) = 0)`)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	var writes []store.Write
	for i := range 20 {
		content := strconv.Itoa(i)
		if i == 7 || i == 13 {
			content = "culprit " + content
		}
		writes = append(writes, store.Write{Event: note(1, content)})
	}
	var position store.Position
	for i, out := range s.Append(t.Context(), writes) {
		if i == 7 || i == 13 {
			require.Error(t, out.Err)
			continue
		}
		position++
		require.Equal(t, store.Outcome{Position: position, Last: position}, out)
	}
	require.Len(t, log(t, s), 18)
}

func TestALogRowThatLacksSomethingIsRefused(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	s := reopen(t, url, postgres.Options{})
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	for _, row := range []string{
		"(-1, 1, 0, NULL, '\\x0000000000000000', NULL)",
		"(0, 1, 0, NULL, '\\x0000000000000000', NULL)",
		"(1, 3, 1, -1, '\\x0000000000000000', '\\x')",
		"(1, 5, 0, NULL, '\\x0000000000000000', NULL)",
		"(1, 5, 0, NULL, '\\x', '\\x')",
		"(1, 5, 0, NULL, NULL, '\\x')",
		"(1, 9, 0, NULL, '\\x0000000000000000', '\\x')",
	} {
		_, err = conn.Exec(t.Context(), "INSERT INTO log (position, type, detail, target, prefix, body) VALUES "+row)
		require.Error(t, err, row)
	}
	require.NoError(t, conn.Close(t.Context()))
	require.Empty(t, log(t, s))
}
