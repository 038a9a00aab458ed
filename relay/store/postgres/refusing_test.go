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

// On a full disk the row of the head can be changed still, but none be added.
func TestASweepIsNoProofOfRoom(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	s, other := reopen(t, url, postgres.Options{}), reopen(t, url, postgres.Options{})
	sweep := func() {
		_, err := s.Sweep(t.Context(), time.Now())
		require.NoError(t, err)
	}
	fill := func() {
		run(t, url, `CREATE OR REPLACE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql
			AS $$ BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
			CREATE TRIGGER no_room BEFORE INSERT ON log EXECUTE FUNCTION no_room()`)
		require.ErrorContains(t, write(t, s, store.Write{Event: note(1, "during")}).Err, "could not extend")
		for range 3 {
			sweep()
			require.True(t, s.Refusing())
		}
		run(t, url, `DROP TRIGGER no_room ON log`)
		sweep()
		require.True(t, s.Refusing(), "nobody has written yet")
	}
	fill()
	require.NoError(t, write(t, s, store.Write{Event: note(1, "mine")}).Err)
	require.False(t, s.Refusing())
	fill()
	require.NoError(t, write(t, other, store.Write{Event: note(1, "of another")}).Err)
	sweep()
	require.False(t, s.Refusing())
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
