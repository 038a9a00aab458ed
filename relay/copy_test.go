package relay_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/regress/postgres"
	"fencepost/relay"
	"fencepost/relay/config"
	"fencepost/relay/store"
)

// keyed makes a folder with a store, whose relay has a key unless that is empty.
func keyed(t *testing.T, key string) config.Config {
	t.Helper()
	c := options(t.TempDir()).Config
	s, err := relay.OpenStore(t.Context(), c, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, s.Append(t.Context(), []store.Write{{Event: note(t, "original")}})[0].Err)
	require.NoError(t, s.Close())
	if key != "" {
		require.NoError(t, os.WriteFile(filepath.Join(c.Data, "relay.key"), []byte(key), 0o600))
	}
	return c
}

// copyHeld begins a copy into a database, and does something while the copy has seen that
// the target is alone and waits for the lock to leave its mark. It returns what came of it.
func copyHeld(t *testing.T, from, to config.Config, meanwhile func()) error {
	t.Helper()
	database := to.Store.Postgres.URL.Reveal()
	conn, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "BEGIN; SELECT FROM log_head FOR UPDATE")
	require.NoError(t, err)
	g := lifecycle.NewGroup(t.Context())
	var copied error
	g.Go("copy", func(ctx context.Context) {
		_, copied = relay.CopyStore(ctx, from, to, slog.New(slog.DiscardHandler), func(string) {})
	})
	until(t, func() bool {
		return rows(t, database, `SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'fencepost copy' AND wait_event_type = 'Lock'`) > 0
	})
	meanwhile()
	require.NoError(t, conn.Close(t.Context()))
	require.NoError(t, g.Wait(t.Context()))
	return copied
}

// target is an empty database that has its schema.
func target(t *testing.T, server *postgres.Server) (o relay.Options, database string) {
	t.Helper()
	database = server.Database(t)
	o = options(t.TempDir())
	over(database)(&o.Config)
	_, err := relay.MigrateSchema(t.Context(), o.Config)
	require.NoError(t, err)
	return o, database
}

func TestARelayThatComesBeforeTheMarkOfACopyEndsTheCopy(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	for _, key := range []string{strings.Repeat("17", 32), ""} {
		to, database := target(t, server)
		from := keyed(t, key)
		var made *relay.Relay
		err := copyHeld(t, from, to.Config, func() {
			var err error
			made, err = relay.New(t.Context(), to)
			require.NoError(t, err)
		})
		require.ErrorIs(t, err, relay.ErrServed)
		r := run(t, made)
		require.NoError(t, r.dial(t).Publish(t.Context(), note(t, "it is that relay's")))
		require.NoError(t, r.stop())
		again, err := relay.New(t.Context(), to)
		require.NoError(t, err, "nothing is left of the copy")
		require.NoError(t, run(t, again).stop())
		require.Equal(t, 1, rows(t, database, "SELECT count(*) FROM events"))
	}
}

func TestACopyHasTheKeyOfTheOriginalOrFails(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	for _, key := range []string{strings.Repeat("17", 32), ""} {
		to, database := target(t, server)
		err := copyHeld(t, keyed(t, key), to.Config, func() { // a relay was here and has gone
			change(t, database, "INSERT INTO relay_key (secret) VALUES (decode(repeat('23', 32), 'hex'))")
		})
		require.ErrorIs(t, err, relay.ErrOtherKey)
		s, err := relay.OpenStore(t.Context(), to.Config, slog.New(slog.DiscardHandler))
		require.NoError(t, err, "nothing is left of the copy")
		require.NoError(t, s.Close())
	}
}
