package postgres_test

import (
	"net"
	"net/url"
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

// Where a machine is gone, nobody says so: its address takes connections and is silent, or does
// not even take them. The primary is the other one.
func TestAHostThatIsSilentIsPassedOver(t *testing.T) {
	t.Parallel()
	dead, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
	require.NoError(t, err)
	defer func() { require.NoError(t, dead.Close()) }()
	database := server.Start(t).Database(t)
	u, err := url.Parse(database)
	require.NoError(t, err)
	u.Host = dead.Addr().String() + "," + u.Host
	s := reopen(t, u.String(), postgres.Options{})
	require.NoError(t, write(t, s, store.Write{Event: note(1, "first")}).Err)
	run(t, database, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	require.NoError(t, write(t, s, store.Write{Event: note(1, "by another connection")}).Err)
	require.NoError(t, use(within(t, 20*time.Second), s))
	require.Eventually(t, s.Listening, patience, 10*time.Millisecond)
}
