package postgres_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/regress/postgres"
)

// ask sends one query and waits for its answer.
func ask(ctx context.Context, conn *pgx.Conn, text string) (answer string, err error) {
	err = conn.QueryRow(ctx, "SELECT '"+text+"'").Scan(&answer)
	return answer, err
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // a fault may have ended it
	return conn
}

func TestProxyPassesAndKnowsItsPorts(t *testing.T) {
	t.Parallel()
	database := postgres.Start(t).Database(t)
	p := postgres.NewProxy(t, database)
	conn := connect(t, p.URL())
	answer, err := ask(t.Context(), conn, "x")
	require.NoError(t, err)
	require.Equal(t, "x", answer)
	var port int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT client_port FROM pg_stat_activity WHERE pid = pg_backend_pid()").Scan(&port))
	require.Equal(t, []int{port}, p.Ports())
	require.NoError(t, conn.Close(t.Context()))
	require.Eventually(t, func() bool { return len(p.Ports()) == 0 }, 10*time.Second, time.Millisecond)
}

func TestProxyHoldsEverythingInABlackHole(t *testing.T) {
	t.Parallel()
	p := postgres.NewProxy(t, postgres.Start(t).Database(t))
	conn := connect(t, p.URL())
	p.Set(postgres.BlackHole)
	var g errgroup.Group
	answered := make(chan struct{})
	g.Go(func() error {
		defer close(answered)
		_, err := ask(t.Context(), conn, "late")
		return err
	})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := pgx.Connect(ctx, p.URL())
	require.ErrorIs(t, err, context.DeadlineExceeded, "nobody is told")
	select {
	case <-answered:
		require.Fail(t, "an answer out of a black hole")
	default:
	}
	p.Set(postgres.None)
	require.NoError(t, g.Wait())
}

func TestProxyResetsOldAndNewConnections(t *testing.T) {
	t.Parallel()
	p := postgres.NewProxy(t, postgres.Start(t).Database(t))
	conn := connect(t, p.URL())
	p.Set(postgres.Reset)
	_, err := ask(t.Context(), conn, "x")
	require.Error(t, err)
	_, err = pgx.Connect(t.Context(), p.URL())
	require.Error(t, err)
	p.Set(postgres.None)
	_, err = ask(t.Context(), connect(t, p.URL()), "x")
	require.NoError(t, err)
}

func TestProxyDelays(t *testing.T) {
	t.Parallel()
	const delay = 50 * time.Millisecond
	p := postgres.NewProxy(t, postgres.Start(t).Database(t))
	conn := connect(t, p.URL())
	p.Delay(delay)
	began := time.Now()
	_, err := ask(t.Context(), conn, "x")
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(began), 2*delay)
}

func TestProxyHoldsOneMessage(t *testing.T) {
	t.Parallel()
	p := postgres.NewProxy(t, postgres.Start(t).Database(t))
	one, other := connect(t, p.URL()), connect(t, p.URL())
	held := p.Hold("needle")
	var g errgroup.Group
	g.Go(func() error {
		_, err := ask(t.Context(), one, "needle")
		return err
	})
	<-held.Reached()
	text, err := ask(t.Context(), other, "hay")
	require.NoError(t, err, "the other connection goes on")
	require.Equal(t, "hay", text)
	held.Release()
	require.NoError(t, g.Wait())
	require.Zero(t, held.Left())
}

func TestProxyLosesAnAnswerToWhatWasDone(t *testing.T) {
	t.Parallel()
	database := postgres.Start(t).Database(t)
	p := postgres.NewProxy(t, database)
	conn, direct := connect(t, p.URL()), connect(t, database)
	p.Lose("needle", 1)
	_, err := conn.Exec(t.Context(), "CREATE TABLE needle (n int)")
	require.Error(t, err)
	require.Error(t, conn.Ping(t.Context()))
	rows, err := direct.Query(t.Context(), "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'")
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.True(t, slices.Contains(tables, "needle"))
}

func TestProxyDeafensWhoListens(t *testing.T) {
	t.Parallel()
	p := postgres.NewProxy(t, postgres.Start(t).Database(t))
	listener, other := connect(t, p.URL()), connect(t, p.URL())
	_, err := listener.Exec(t.Context(), "LISTEN channel")
	require.NoError(t, err)
	p.Deafen(true)
	_, err = other.Exec(t.Context(), "NOTIFY channel, 'lost'")
	require.NoError(t, err, "nobody else is concerned")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = listener.WaitForNotification(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	p.Deafen(false)
	_, err = other.Exec(t.Context(), "NOTIFY channel, 'heard'")
	require.NoError(t, err)
	heard, err := listener.WaitForNotification(t.Context())
	require.NoError(t, err)
	require.Equal(t, "heard", heard.Payload)
}
