package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/regress/postgres"
)

func TestDatabasesAreEmptyAndSurviveARestart(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	count := func(url string) (n int) {
		conn, err := pgx.Connect(t.Context(), url)
		require.NoError(t, err)
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&n))
		_, err = conn.Exec(t.Context(), "CREATE TABLE made (n int)")
		require.NoError(t, err)
		require.NoError(t, conn.Close(t.Context()))
		return n
	}
	one := server.Database(t)
	require.Zero(t, count(one))
	require.Zero(t, count(server.Database(t)))
	if server.Own() {
		server.Restart(t)
		conn, err := pgx.Connect(t.Context(), one)
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), "SELECT n FROM made")
		require.NoError(t, err)
		require.NoError(t, conn.Close(t.Context()))
	}
}
