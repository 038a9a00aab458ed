package postgres_test

import (
	"context"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
)

// Nobody answers at the port; somebody counts who asks.
func TestADatabaseThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	var asked atomic.Int64
	var g errgroup.Group
	g.Go(func() error {
		for {
			c, err := l.Accept()
			if err != nil {
				return nil
			}
			if asked.Add(1) == 4 {
				enough()
			}
			_ = c.Close() // whoever asks may be gone
		}
	})
	url := "postgres://nobody@" + l.Addr().String() + "/none?sslmode=disable"
	_, err = postgres.Open(t.Context(), url, postgres.Options{})
	require.Error(t, err)
	require.EqualValues(t, 1, asked.Load(), "without patience once")
	_, err = postgres.Open(ctx, url, postgres.Options{Migrate: true, Patience: time.Hour})
	require.Error(t, err)
	require.Error(t, ctx.Err(), "it is asked again and again")
	took := awake(t)
	_, err = postgres.Open(t.Context(), url, postgres.Options{Migrate: true, Patience: 500 * time.Millisecond})
	require.Error(t, err)
	require.Less(t, took(), 20*time.Second)
	require.NoError(t, l.Close())
	require.NoError(t, g.Wait())
}

func TestWhatDoesNotPassIsToldAtOnce(t *testing.T) {
	t.Parallel()
	database := server.Start(t).Database(t)
	took := awake(t)
	for _, url := range []string{database, database + "&user=stranger", "nonsense://"} {
		_, err := postgres.Open(t.Context(), url, postgres.Options{Patience: time.Minute})
		require.Error(t, err, url)
	}
	require.Less(t, took(), 30*time.Second)
}

// A connection that falls silent while a store opens is nothing to wait for longer.
func TestADatabaseThatFallsSilentAtTheStartIsAskedAgain(t *testing.T) {
	t.Parallel()
	from := server.Start(t)
	for what, text := range map[string]string{"before the migrations": "coalesce(max(version)", "after them": "current_setting('fsync')"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := server.NewProxy(t, from.Database(t))
			defer p.Hold(text).Release()
			s, err := postgres.Open(within(t, 30*time.Second), p.URL(), postgres.Options{Migrate: true, Patience: time.Minute})
			require.NoError(t, err)
			require.NoError(t, s.Close())
		})
	}
}

// Time limits that a role has for what people ask would make a commit of many events fail again
// and again, end idle connections, and stop migrations in the middle.
func TestTimeLimitsOfTheRoleDoNotApply(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	for _, limit := range []string{"statement_timeout = 1", "lock_timeout = 1", "idle_session_timeout = 1"} {
		run(t, url+"&statement_timeout=0&idle_session_timeout=0", `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET `+limit+`', current_database()); END $$`)
	}
	s := reopen(t, url, postgres.Options{})
	writes := make([]store.Write, 500)
	for i := range writes {
		writes[i].Event = note(1, strconv.Itoa(i))
	}
	for _, out := range s.Append(t.Context(), writes) {
		require.NoError(t, out.Err)
	}
	require.NoError(t, use(t.Context(), s))
	require.Zero(t, s.Losses())
}

func TestTheRelaysKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	replicas := []*postgres.Store{reopen(t, url, postgres.Options{}), reopen(t, url, postgres.Options{})}
	secret, err := replicas[0].RelayKey(t.Context(), nil)
	require.NoError(t, err)
	require.Nil(t, secret, "looking makes none")
	keys := make([][]byte, 16)
	var g errgroup.Group
	for i := range keys {
		g.Go(func() (err error) {
			draft := make([]byte, 32)
			draft[0] = byte(i)
			keys[i], err = replicas[i%2].RelayKey(t.Context(), draft)
			return err
		})
	}
	require.NoError(t, g.Wait())
	for _, key := range keys {
		require.Equal(t, keys[0], key)
	}
	_, err = replicas[0].RelayKey(t.Context(), []byte("short"))
	require.Error(t, err)
	kept, err := reopen(t, url, postgres.Options{}).RelayKey(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, keys[0], kept)
	require.NoError(t, replicas[0].Close())
	_, err = replicas[0].RelayKey(t.Context(), nil)
	require.Error(t, err)

	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "INSERT INTO relay_key (one, secret) VALUES (false, $1)", kept)
	require.Error(t, err, "there is no second one")
	require.NoError(t, conn.Close(t.Context()))
}

// As behind a pooler that is told to ignore them.
func TestAConnectionThatLostItsParametersIsRefused(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	require.NoError(t, postgres.CheckParameters(t.Context(), url, false))
	require.ErrorContains(t, postgres.CheckParameters(t.Context(), url, true), "not to a pooler")
}
