package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
)

// Between a decision and its commit another replica bans the id, which takes no position:
// the decision is taken again.
func TestADecisionHoldsForItsVersionOnly(t *testing.T) {
	t.Parallel()
	database := server.Start(t).Database(t)
	other := reopen(t, database, postgres.Options{})
	p := server.NewProxy(t, database)
	s := reopen(t, p.URL(), postgres.Options{})
	e := note(1, "decided about and held back")
	held := p.Hold(e.Content)
	var out store.Outcome
	var g errgroup.Group
	g.Go(func() error { out = s.Append(t.Context(), []store.Write{{Event: e}})[0]; return nil })
	<-held.Reached()
	require.NoError(t, write(t, other, store.Write{Ban: []string{e.ID}}).Err)
	held.Release()
	require.NoError(t, g.Wait())
	require.ErrorIs(t, out.Err, store.ErrBanned)
	require.Empty(t, log(t, other))
}

// A commit whose connection broke while it waited for its turn cannot come after the
// writer has asked what became of it, and made it anew.
func TestALostCommitCannotFinishAfterItWasAskedFor(t *testing.T) {
	t.Parallel()
	database := server.Start(t).Database(t)
	p := server.NewProxy(t, database)
	s := reopen(t, p.URL(), postgres.Options{})
	holder, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	watcher, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), "BEGIN; SELECT log_lock()")
	require.NoError(t, err)
	e := note(1, "lost on its way")
	var out store.Outcome
	var g errgroup.Group
	g.Go(func() error { out = s.Append(t.Context(), []store.Write{{Event: e}})[0]; return nil })
	awaitCommits(t, watcher, 1)
	p.Set(server.Reset)
	p.Set(server.None)
	awaitCommits(t, watcher, 2) // the lost one, and the one that takes its place
	_, err = holder.Exec(t.Context(), "COMMIT")
	require.NoError(t, err)
	require.NoError(t, g.Wait())
	require.Equal(t, store.Outcome{Position: 1, Last: 1}, out, "not a duplicate of itself")
	require.Equal(t, map[store.Position]string{1: e.ID}, log(t, s))
	for _, conn := range []*pgx.Conn{holder, watcher} {
		require.NoError(t, conn.Close(context.WithoutCancel(t.Context())))
	}
}

// awaitCommits waits until n commits wait for their turn.
func awaitCommits(t *testing.T, conn *pgx.Conn, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waiting int
		const sql = `SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'SELECT log_commit%'`
		require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&waiting))
		return waiting == n
	}, 10*time.Second, 5*time.Millisecond)
}
