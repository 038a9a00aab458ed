package postgres_test

import (
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

func TestMigrations(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	all, version, err := postgres.Status(t.Context(), url)
	require.NoError(t, err)
	require.Zero(t, version)
	require.NotEmpty(t, all)
	require.False(t, all[0].Applied)
	_, err = postgres.Open(t.Context(), url, postgres.Options{})
	require.ErrorIs(t, err, store.ErrSchema)
	require.ErrorContains(t, err, "migrate up")

	var g errgroup.Group
	counts := make([]int, 4)
	for i := range counts {
		g.Go(func() error {
			applied, err := postgres.Up(t.Context(), url)
			counts[i] = len(applied)
			return err
		})
	}
	require.NoError(t, g.Wait())
	total := 0
	for _, n := range counts {
		total += n
	}
	require.Equal(t, len(all), total, "each migration is applied once")
	_, version, err = postgres.Status(t.Context(), url)
	require.NoError(t, err)
	require.Equal(t, len(all), version)
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	require.NoError(t, err)
	require.NoError(t, s.Close())

	run(t, url, "INSERT INTO schema_version (version) VALUES ("+strconv.Itoa(version+1)+")")
	_, err = postgres.Open(t.Context(), url, postgres.Options{})
	require.ErrorIs(t, err, store.ErrSchema)
	require.ErrorContains(t, err, "newer")
	_, err = postgres.Up(t.Context(), url)
	require.ErrorIs(t, err, store.ErrSchema)
}

// A new replica adds what does no harm to those that run. With the rest it waits until
// they have ended, or somebody decides.
func TestARollingDeployDoesNotStopOlderReplicas(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	require.NoError(t, postgres.UpTo(t.Context(), url, 1))
	older, err := pgx.Connect(t.Context(), url+"&application_name=fencepost")
	require.NoError(t, err)
	_, err = postgres.Open(t.Context(), url, postgres.Options{Migrate: true, Patience: time.Minute})
	require.ErrorIs(t, err, store.ErrSchema)
	require.ErrorContains(t, err, "migration 3 (search_retention)")
	require.ErrorContains(t, err, "fencepost migrate up")
	_, version, err := postgres.Status(t.Context(), url)
	require.NoError(t, err)
	require.Equal(t, 2, version, "the second only adds")

	require.NoError(t, older.Close(t.Context()))
	var s *postgres.Store
	require.Eventually(t, func() bool { // its session ends a moment later
		s, err = postgres.Open(t.Context(), url, postgres.Options{Migrate: true})
		return err == nil
	}, patience, 20*time.Millisecond)
	require.NoError(t, s.Close())
}

func TestOneWhoDecidesMigratesBesideReplicas(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	require.NoError(t, postgres.UpTo(t.Context(), url, 2))
	older, err := pgx.Connect(t.Context(), url+"&application_name=fencepost")
	require.NoError(t, err)
	applied, err := postgres.Up(t.Context(), url)
	require.NoError(t, err)
	require.NotEmpty(t, applied)
	require.NoError(t, older.Close(t.Context()))
}

func TestADatabaseThatLosesCommitsIsRefused(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	_, err := postgres.Open(t.Context(), url+"&synchronous_commit=off", postgres.Options{Migrate: true})
	require.ErrorContains(t, err, "synchronous_commit")
	latin, found := strings.CutSuffix(url, "?"+strings.SplitN(url, "?", 2)[1])
	require.True(t, found)
	run(t, url, "CREATE DATABASE "+path.Base(latin)+"_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
	_, err = postgres.Open(t.Context(), strings.Replace(url, path.Base(latin), path.Base(latin)+"_latin", 1), postgres.Options{Migrate: true})
	require.ErrorContains(t, err, "UTF8")
	run(t, url, "DROP DATABASE "+path.Base(latin)+"_latin")
	_, err = postgres.Open(t.Context(), "postgres://127.0.0.1:1/none", postgres.Options{})
	require.Error(t, err)
	_, err = postgres.Open(t.Context(), "nonsense://", postgres.Options{})
	require.Error(t, err)
}

// The sweep deletes what was removed long ago, and then older snapshots fail rather than
// answer with less.
func TestRemovedEventsAreTrimmed(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	s := reopen(t, url, postgres.Options{SnapshotAge: time.Millisecond})
	var events []*wire.Event
	for i := range 600 {
		tags := nostr.Tags{{"t", "x"}, {"t", "x"}, {"d", strconv.Itoa(i)}, {"title", "gone"}}
		events = append(events, storetest.Draft{Kind: 30000, At: 100, Tags: tags}.Event())
	}
	last := note(1, "stays")
	for _, e := range append(events, last) {
		require.NoError(t, write(t, s, store.Write{Event: e}).Err)
	}
	snap, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	n, err := s.Erase(t.Context(), store.Erasure{Author: storetest.Key(0), Until: 100}, 1000)
	require.NoError(t, err)
	require.Len(t, events, n)
	_, err = s.Sweep(t.Context(), time.Now())
	require.NoError(t, err)
	require.Equal(t, 1, count(t, url, "events"))
	require.Zero(t, count(t, url, "tags"))
	require.Equal(t, 1, count(t, url, "search"))
	require.Equal(t, 1201, count(t, url, "log"))
	_, _, err = snap.Count(t.Context(), []*wire.Filter{wire.NewFilter(nostr.Filter{})}, 0, nil)
	require.ErrorContains(t, err, "too old")
	snap, err = s.Snapshot(t.Context())
	require.NoError(t, err)
	n, _, err = snap.Count(t.Context(), []*wire.Filter{wire.NewFilter(nostr.Filter{})}, 0, nil)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func run(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), statement)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
}

func count(t *testing.T, url, table string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
	require.NoError(t, conn.Close(t.Context()))
	return n
}
