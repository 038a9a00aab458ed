package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
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
	require.ErrorContains(t, write(t, s, store.Write{Event: note(1, "during")}).Err, "read-only")
	onlyReads(t, url, false)
	require.NoError(t, write(t, s, store.Write{Event: note(1, "after")}).Err)
}
