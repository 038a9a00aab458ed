package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
)

// A dump holds the name of the history as everything else, and what is committed after
// the restore has the numbers of what was lost. The timeline of the server is the same.
func TestARestoredDumpIsAnotherHistory(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	s := reopen(t, url, postgres.Options{})
	require.NoError(t, s.Append(t.Context(), []store.Write{{Event: note(1, "kept")}})[0].Err)
	before, err := s.Log(t.Context())
	require.NoError(t, err)
	again, err := s.Log(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, again)

	run(t, url, `CREATE TABLE dump AS SELECT * FROM log_head;
		DROP TABLE log_head; CREATE TABLE log_head AS SELECT * FROM dump`) // as pg_restore --clean makes it anew
	require.NoError(t, s.Append(t.Context(), []store.Write{{Event: note(1, "after")}})[0].Err)
	after, err := s.Log(t.Context())
	require.NoError(t, err)
	require.Equal(t, before.Head+1, after.Head)
	require.NotEqual(t, before.Epoch, after.Epoch)
}

// A standby may lag, and who reads it to its end would trust permissions that are gone.
func TestAStandbyIsNotReadAfterAReconnect(t *testing.T) {
	t.Parallel()
	from := server.Start(t)
	if !from.Own() {
		t.Skip("the server is not the test's own")
	}
	url := from.Database(t)
	s := reopen(t, url, postgres.Options{})
	require.NoError(t, s.Append(t.Context(), []store.Write{{Event: note(1, "kept")}})[0].Err)

	from.RestartAsStandby(t)
	conn, err := pgx.Connect(t.Context(), url) // it answers everybody else
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	for range 10 { // the first ones meet what is left of the pool
		_, err = s.ReadLog(t.Context(), 0, 1)
	}
	require.ErrorContains(t, err, "standby")
	_, err = postgres.Open(t.Context(), url, postgres.Options{Migrate: true})
	require.ErrorContains(t, err, "standby")

	from.Restart(t)
	require.Eventually(t, func() bool {
		_, err := s.ReadLog(t.Context(), 0, 1)
		return err == nil
	}, patience, 20*time.Millisecond)
	require.NoError(t, s.Append(t.Context(), []store.Write{{Event: note(1, "after")}})[0].Err)
}
