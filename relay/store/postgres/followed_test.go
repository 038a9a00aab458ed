package postgres_test

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
	"fencepost/relay/wire"
)

// The follower waits neither for what clients ask nor for the short statements that every
// query makes.
func TestTheFollowerHasAConnectionOfItsOwn(t *testing.T) {
	t.Parallel()
	s := open(t, server.Start(t), postgres.Options{MaxConns: 2})
	require.NoError(t, write(t, s, store.Write{Event: note(1, "one")}).Err)
	for _, hold := range []func(context.Context) (func(), error){s.HoldQueries, s.HoldShort} {
		release, err := hold(t.Context())
		require.NoError(t, err)
		t.Cleanup(release)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	entries, err := s.Followed().ReadLog(ctx, 0, 10)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// Where the database has no connection left for the log, queries give theirs back: without
// them clients wait, without the log the replica is of no use.
func TestQueriesGiveWayToTheLog(t *testing.T) {
	t.Parallel()
	owner := server.Start(t).Database(t)
	role, limited := poor(t, owner)
	s := reopen(t, limited, postgres.Options{MaxConns: 2})
	log := s.Followed()
	_, err := log.ReadLog(t.Context(), 0, 10)
	require.NoError(t, err)
	snap, err := s.Snapshot(t.Context()) // a connection for short statements stands
	require.NoError(t, err)
	defer func() { require.NoError(t, snap.Close()) }()
	all := []*wire.Filter{wire.NewFilter(nostr.Filter{})}
	release, err := s.HoldQueries(t.Context())
	require.NoError(t, err)

	pid, err := log.Backend(t.Context())
	require.NoError(t, err)
	run(t, owner, `ALTER ROLE `+role+` CONNECTION LIMIT 1`) // those that stand, stand
	run(t, owner, `SELECT pg_terminate_backend(`+strconv.Itoa(pid)+`)`)
	until(t, func() bool {
		_, err = log.ReadLog(t.Context(), 0, 10)
		return err != nil && strings.Contains(err.Error(), "too many connections")
	})
	release()
	_, _, err = snap.Count(t.Context(), all, 0, nil)
	require.ErrorContains(t, err, "what is left is for the log", "no query takes what becomes free")
	run(t, owner, `ALTER ROLE `+role+` CONNECTION LIMIT 3`) // writer and listener, and one that the queries gave back
	until(t, func() bool { _, err = log.ReadLog(t.Context(), 0, 10); return err == nil })
	run(t, owner, `ALTER ROLE `+role+` CONNECTION LIMIT 20`)
	_, _, err = snap.Count(t.Context(), all, 0, nil)
	require.NoError(t, err)
}

// poor makes a role without privileges of a superuser, on which a limit of connections
// works, and returns its name and the URL with which it connects.
func poor(t *testing.T, owner string) (role, limited string) {
	t.Helper()
	u, err := url.Parse(owner)
	require.NoError(t, err)
	role = "poor_" + u.Path[1:]
	for _, statement := range []string{
		`CREATE ROLE ` + role + ` LOGIN PASSWORD 'x'`, `GRANT ALL ON DATABASE ` + u.Path[1:] + ` TO ` + role, `GRANT ALL ON SCHEMA public TO ` + role,
	} {
		run(t, owner, statement)
	}
	t.Cleanup(func() { // after the store is closed
		ctx := context.WithoutCancel(t.Context())
		conn, err := pgx.Connect(ctx, owner)
		require.NoError(t, err)
		_, err = conn.Exec(ctx, `DROP OWNED BY `+role+` CASCADE; DROP ROLE `+role)
		require.NoError(t, err)
		require.NoError(t, conn.Close(ctx))
	})
	u.User = url.UserPassword(role, "x")
	return role, u.String()
}

// until waits for something that takes a moment.
func until(t *testing.T, done func() bool) {
	t.Helper()
	require.Eventually(t, done, patience, 20*time.Millisecond)
}
