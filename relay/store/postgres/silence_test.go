package postgres_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
	"fencepost/relay/wire"
)

// Connections whose bytes are all acknowledged, and never answered, are replaced: TCP
// notices nothing there. One that was not used for a second has to prove that it is alive.
func TestConnectionsThatFallSilentAreReplaced(t *testing.T) {
	t.Parallel()
	for name, idle := range map[string]time.Duration{"while they are used": 0, "while they are idle": 1100 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := server.NewProxy(t, server.Start(t).Database(t))
			s := reopen(t, p.URL(), postgres.Options{})
			require.NoError(t, write(t, s, store.Write{Event: note(1, "before")}).Err)
			require.NoError(t, use(t.Context(), s)) // each pool has a connection, which has just proved to be alive
			<-time.After(idle)
			p.Silence()

			ctx := within(t, 5*time.Second)
			rows, err := s.Followed().ReadLog(ctx, 0, 1)
			if err != nil {
				require.NoError(t, ctx.Err())
				rows, err = s.Followed().ReadLog(ctx, 0, 1)
			}
			require.NoError(t, err, "O3: within 5 s nothing is left of the silent one, that has not to be waited for again")
			require.Len(t, rows, 1)
			require.NoError(t, use(within(t, 8*time.Second), s), "none that was idle for longer than a second is used again")
			require.NoError(t, write(t, s, store.Write{Event: note(1, "after")}).Err)
		})
	}
}

// use has each pool of s make a connection, or prove that it has one.
func use(ctx context.Context, s *postgres.Store) error {
	if _, err := s.Followed().ReadLog(ctx, 0, 1); err != nil {
		return err
	}
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	all := []*wire.Filter{wire.NewFilter(nostr.Filter{})}
	_, _, err = snap.Count(ctx, all, 0, func(*wire.Event) bool { return true })
	return err
}

// counting holds as many connections for queries as s may have, and gives them back. What it
// returns counts by one of them.
func counting(t *testing.T, s *postgres.Store) func(ctx context.Context) error {
	t.Helper()
	release, err := s.HoldQueries(t.Context())
	require.NoError(t, err)
	snap, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	release()
	all := []*wire.Filter{wire.NewFilter(nostr.Filter{})}
	return func(ctx context.Context) error {
		_, _, err := snap.Count(ctx, all, 0, nil)
		return err
	}
}

// What was asked before a connection fell silent ends, once that is known of another one, and
// does not keep its place from who asks next.
func TestSilentConnectionsInUseAreGivenUp(t *testing.T) {
	t.Parallel()
	p := server.NewProxy(t, server.Start(t).Database(t))
	s := reopen(t, p.URL(), postgres.Options{MaxConns: 2})
	require.NoError(t, use(t.Context(), s))
	count := counting(t, s)
	p.Silence()
	ctx := within(t, 15*time.Second)
	var asking errgroup.Group
	for range 2 {
		asking.Go(func() error { return count(ctx) })
	}
	for range 2 { // it may have been told at once
		_, err := s.Followed().ReadLog(ctx, 0, 1)
		require.NoError(t, ctx.Err(), err)
	}
	_ = asking.Wait() // answered by a new connection where that took so long that they had to prove to be alive
	require.NoError(t, count(ctx))
}

// That one has ended so is no reason to give the next ones less time.
func TestAQueryThatIsGivenUpDoesNotDoubtOthers(t *testing.T) {
	t.Parallel()
	p := server.NewProxy(t, server.Start(t).Database(t))
	s := reopen(t, p.URL(), postgres.Options{MaxConns: 2})
	count := counting(t, s)
	p.Silence()
	var asking errgroup.Group
	asking.Go(func() error { return count(t.Context()) })
	for range 2 {
		_, _ = s.Followed().ReadLog(t.Context(), 0, 1) // the first one finds out
	}
	held := p.Hold("count(*)")
	var busy errgroup.Group
	busy.Go(func() error { return count(t.Context()) })
	<-held.Reached()
	_ = asking.Wait()              // the same
	<-time.After(11 * time.Second) // longer than a query has that is doubted
	held.Release()
	require.NoError(t, busy.Wait())
}

// The first one that does not prove to be alive is enough for all of them.
func TestIdleConnectionsThatFellSilentAreGivenUpTogether(t *testing.T) {
	t.Parallel()
	p := server.NewProxy(t, server.Start(t).Database(t))
	s := reopen(t, p.URL(), postgres.Options{MaxConns: 8})
	count := counting(t, s)
	<-time.After(1100 * time.Millisecond)
	p.Silence()
	require.NoError(t, count(within(t, 6*time.Second)))
}

// Who goes away in the middle leaves a connection behind that may be silent.
func TestASilentQueryKeepsItsPlaceNoLongerThanWhoAsks(t *testing.T) {
	t.Parallel()
	p := server.NewProxy(t, server.Start(t).Database(t))
	s := reopen(t, p.URL(), postgres.Options{MaxConns: 1})
	count := counting(t, s)
	p.Silence()
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.Error(t, count(short))
	require.NoError(t, count(within(t, 8*time.Second)))
}

// holding opens a store through a proxy that holds back the statement of its snapshots
// until the test ends.
func holding(t *testing.T) (*postgres.Store, *server.Proxy, *server.Trap) {
	t.Helper()
	p := server.NewProxy(t, server.Start(t).Database(t))
	s := reopen(t, p.URL(), postgres.Options{})
	held := p.Hold("SELECT head, control FROM log_head")
	t.Cleanup(held.Release)
	return s, p, held
}

// A statement that hangs in a backend has its end.
func TestAShortStatementThatHangsEnds(t *testing.T) {
	t.Parallel()
	s, _, _ := holding(t)
	ctx := within(t, 15*time.Second)
	_, err := s.Snapshot(ctx)
	require.Error(t, err)
	require.NoError(t, ctx.Err())
	_, err = s.Snapshot(t.Context())
	require.NoError(t, err)
}

func TestAStoreClosesAlthoughTheDatabaseIsSilent(t *testing.T) {
	t.Parallel()
	s, p, held := holding(t)
	var asking errgroup.Group
	asking.Go(func() error {
		_, err := s.Snapshot(context.WithoutCancel(t.Context()))
		return err
	})
	<-held.Reached()
	p.Set(server.BlackHole)
	defer p.Set(server.None)
	took := awake(t)
	require.NoError(t, s.Close())
	require.Less(t, took(), 9*time.Second)
	require.ErrorIs(t, asking.Wait(), store.ErrClosed)
}

// Sessions that began while the database was read-only stay so.
func TestSessionsFromAReadOnlyTimeAreReplaced(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	s := reopen(t, url, postgres.Options{})
	admin, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, admin.Close(context.WithoutCancel(t.Context()))) }()
	say := func(sql string) {
		_, err := admin.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	say(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`)
	say(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	id := note(1, "").ID
	seen := func() error {
		_, err := s.Seen(t.Context(), id, time.Now().Add(time.Hour))
		return err
	}
	require.Eventually(t, func() bool {
		var refused *pgconn.PgError
		return errors.As(seen(), &refused) && refused.Code == "25006"
	}, patience, 10*time.Millisecond)
	say(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET default_transaction_read_only', current_database()); END $$`)
	_ = seen() // the connection of the time before may be left
	require.NoError(t, seen())
}

// Whatever waits behind a commit that the database did not take in time has waited for it too.
func TestNobodyWaitsForTheDatabaseAgainAndAgain(t *testing.T) {
	t.Parallel()
	p := server.NewProxy(t, server.Start(t).Database(t))
	const timeout = time.Second
	s := reopen(t, p.URL(), postgres.Options{CommitTimeout: timeout})
	p.Set(server.Reset)
	queue := make([][]store.Write, 20)
	for caller := range queue {
		queue[caller] = make([]store.Write, 501) // two of them are more than one commit takes
		for i := range queue[caller] {
			queue[caller][i].Event = note(caller, strconv.Itoa(i))
		}
	}
	took := awake(t)
	var callers errgroup.Group
	for caller := range queue {
		callers.Go(func() error {
			for _, out := range s.Append(context.WithoutCancel(t.Context()), queue[caller]) {
				if out.Err == nil {
					return errors.New("acknowledged without a database")
				}
			}
			return nil
		})
	}
	require.NoError(t, callers.Wait())
	require.Less(t, took(), 10*timeout)
	p.Set(server.None)
	require.NoError(t, write(t, s, store.Write{Event: note(1, "after")}).Err)
}

// A session that begins later may be given a setting with which acknowledged events are lost.
func TestCommitsStayDurable(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	s := reopen(t, url, postgres.Options{})
	admin, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, admin.Close(context.WithoutCancel(t.Context()))) }()
	_, err = admin.Exec(t.Context(), `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$`)
	require.NoError(t, err)
	value, err := s.WriterSetting(t.Context(), "synchronous_commit")
	require.NoError(t, err)
	require.Equal(t, "on", value)
}
