package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
	"fencepost/relay/wire"
)

// onlyReads makes sessions of a database that begin from now on read-only, and ends the
// others; or makes an end of that.
func onlyReads(t *testing.T, url string, on bool) {
	t.Helper()
	setting := `RESET default_transaction_read_only`
	if on {
		setting = `SET default_transaction_read_only = on`
	}
	run(t, url+"&default_transaction_read_only=off", `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I `+setting+`', current_database()); END $$`)
	if on {
		run(t, url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	}
}

// A session that began while the database was read-only stays so, that of the writer too.
func TestCommitsGoOnAfterAReadOnlyTime(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	s := reopen(t, url, postgres.Options{})
	onlyReads(t, url, true)
	require.False(t, s.Refusing())
	require.ErrorContains(t, write(t, s, store.Write{Event: note(1, "during")}).Err, "read-only")
	require.True(t, s.Refusing())
	onlyReads(t, url, false)
	require.NoError(t, write(t, s, store.Write{Event: note(1, "after")}).Err)
	require.False(t, s.Refusing())
}

// Nobody has to publish for that, and what can only be read does not do.
func TestASweepFindsOutWhetherCommitsGoOn(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	s := reopen(t, url, postgres.Options{})
	onlyReads(t, url, true)
	require.Error(t, write(t, s, store.Write{Event: note(1, "during")}).Err)
	for _, on := range []bool{true, false} {
		onlyReads(t, url, on)
		n, err := s.Sweep(t.Context(), time.Now())
		require.NoError(t, err)
		require.Zero(t, n)
		require.Equal(t, on, s.Refusing())
	}
}

func TestWhatIsWrongWithAnEventIsNoRefusal(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	s := reopen(t, url, postgres.Options{})
	e := note(1, "damaged")
	require.NoError(t, write(t, s, store.Write{Event: e}).Err)
	damage(t, url, map[store.Position]*wire.Event{1: e})
	require.Error(t, write(t, s, store.Write{Event: deletes(1, e)}).Err)
	require.False(t, s.Refusing())
}
