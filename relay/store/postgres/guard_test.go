package postgres_test

import (
	"strings"
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

// A commit that got lost on its way is made anew, and by then the lost one is refused,
// whenever the database comes to it.
func TestALostCommitCannotFinishAfterItWasAskedFor(t *testing.T) {
	t.Parallel()
	database := server.Start(t).Database(t)
	p := server.NewProxy(t, database)
	s := reopen(t, p.URL(), postgres.Options{CommitTimeout: time.Minute})
	conn, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	e := note(1, "lost on its way")
	lost, anew := p.Hold(e.Content), p.Hold(e.Content)
	var out store.Outcome
	var g errgroup.Group
	g.Go(func() error { out = s.Append(t.Context(), []store.Write{{Event: e}})[0]; return nil })
	<-lost.Reached()
	p.Set(server.Reset)
	p.Set(server.None)
	<-anew.Reached() // it was asked what became of the first
	var arguments int
	const sql = `SELECT pronargs FROM pg_proc WHERE proname = 'log_commit'`
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&arguments))
	_, err = conn.Exec(t.Context(), `SELECT log_commit(0, 1, 0, '\x'`+strings.Repeat(", '{}'", arguments-4)+")")
	require.ErrorContains(t, err, "another commit came first")
	anew.Release()
	require.NoError(t, g.Wait())
	require.Equal(t, store.Outcome{Position: 1, Last: 1}, out)
	require.Equal(t, map[store.Position]string{1: e.ID}, log(t, s))
	require.NoError(t, conn.Close(t.Context()))
}
