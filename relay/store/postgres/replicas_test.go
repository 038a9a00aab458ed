package postgres_test

import (
	"context"
	"errors"
	"strconv"
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

func TestReplicasShareOneLog(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	replicas := []*postgres.Store{reopen(t, url, postgres.Options{}), reopen(t, url, postgres.Options{}), reopen(t, url, postgres.Options{})}
	perCaller := 30
	if full {
		perCaller = 300
	}
	positions := make([]map[store.Position]string, 12)
	var g errgroup.Group
	for caller := range positions {
		positions[caller] = make(map[store.Position]string)
		g.Go(func() error {
			for i := range perCaller {
				e := note(caller, strconv.Itoa(i))
				out := replicas[caller%len(replicas)].Append(t.Context(), []store.Write{{Event: e}})[0]
				if out.Err != nil {
					return out.Err
				}
				positions[caller][out.Position] = e.ID
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	want := make(map[store.Position]string)
	for _, of := range positions {
		for position, id := range of {
			require.Empty(t, want[position], "two events at one position")
			want[position] = id
		}
	}
	for _, r := range replicas {
		require.Equal(t, want, log(t, r))
	}
}

// A replica that cannot read the log because clients ask for much would show nothing
// private and be taken out of its balancer.
func TestTheLogDoesNotWaitForQueries(t *testing.T) {
	t.Parallel()
	s := open(t, server.Start(t), postgres.Options{MaxConns: 2})
	release, err := s.HoldQueries(t.Context())
	require.NoError(t, err)
	t.Cleanup(release) // again, if the test has failed before
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, s.Append(ctx, []store.Write{{Event: note(1, "one")}})[0].Err)
	entries, err := s.ReadLog(ctx, 0, 10)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	_, err = s.ReadControl(ctx, 0, 10)
	require.NoError(t, err)
	info, err := s.Log(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, info.Head)
	snap, err := s.Snapshot(ctx)
	require.NoError(t, err)
	counting, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	all := []*wire.Filter{wire.NewFilter(nostr.Filter{})}
	_, _, err = snap.Count(counting, all, 0, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	release()
	n, _, err := snap.Count(ctx, all, 0, nil)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, snap.Close())
}

func TestReplicasDecideAboutEachOthersWrites(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	a, b := reopen(t, url, postgres.Options{}), reopen(t, url, postgres.Options{})
	one, two := note(1, "one"), note(1, "two")
	require.Equal(t, store.Outcome{Position: 1, Last: 1}, write(t, a, store.Write{Event: one}))
	require.Equal(t, store.Outcome{Position: 1, Err: store.ErrDuplicate}, write(t, b, store.Write{Event: one}))
	moves := store.Write{Controls: []store.Control{{Scopes: []string{"relay"}}}, Ban: []string{two.ID}}
	require.Equal(t, store.Outcome{Position: 2, Last: 2}, write(t, b, moves))
	moved := store.Outcome{Position: 2, Err: store.ErrMoved}
	require.Equal(t, moved, write(t, a, store.Write{Event: note(2, ""), Terms: []store.Term{{Scope: "relay"}}}))
	require.ErrorIs(t, write(t, a, store.Write{Event: two}).Err, store.ErrBanned)
	info, err := a.Log(t.Context())
	require.NoError(t, err)
	other, err := b.Log(t.Context())
	require.NoError(t, err)
	require.Equal(t, info, other)
	require.Equal(t, store.Position(2), info.Control)
}

// Of many replicas that race for one version of an address, one epoch and one id, every
// decision must be right as if they had come one by one.
func TestReplicasRaceForTheSame(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	replicas := []*postgres.Store{reopen(t, url, postgres.Options{}), reopen(t, url, postgres.Options{})}
	for round := range 20 {
		var g errgroup.Group
		outcomes := make([]store.Outcome, len(replicas))
		e := note(3, strconv.Itoa(round))
		for i, r := range replicas {
			g.Go(func() error {
				outcomes[i] = r.Append(t.Context(), []store.Write{{Event: e}})[0]
				return nil
			})
		}
		require.NoError(t, g.Wait())
		require.Equal(t, outcomes[0].Position, outcomes[1].Position)
		require.NotEqual(t, errors.Is(outcomes[0].Err, store.ErrDuplicate), errors.Is(outcomes[1].Err, store.ErrDuplicate))
	}
}

func TestACommitWakesTheOthersOnceAndItselfAtOnce(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	a, b := reopen(t, url, postgres.Options{}), reopen(t, url, postgres.Options{})
	write(t, a, store.Write{Event: note(1, "")})
	select {
	case <-a.Changed():
	default:
		require.Fail(t, "its own commit wakes before it answers")
	}
	woken(t, b)
}

func TestTheListenerComesBack(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	a, b := reopen(t, url, postgres.Options{}), reopen(t, url, postgres.Options{})
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	_, err = conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND (query LIKE 'LISTEN%' OR query = '-- ping')`)
	require.NoError(t, err)
	woken(t, a) // by the look at the log after the reconnect
	woken(t, b)
	require.True(t, a.Listening() && b.Listening())
	write(t, a, store.Write{Event: note(1, "")})
	woken(t, b)
}

// A process that stops while it holds the lock of the head loses it.
func TestAStoppedHolderHoldsUpNobodyForLong(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	s := reopen(t, url, postgres.Options{})
	holder, err := pgx.Connect(t.Context(), url+"&idle_in_transaction_session_timeout=2000")
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), "BEGIN")
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), "UPDATE log_head SET version = version + 1, head = head + 1")
	require.NoError(t, err)
	took := awake(t)
	require.Equal(t, store.Outcome{Position: 1, Last: 1}, write(t, s, store.Write{Event: note(1, "")}))
	require.Less(t, took(), 3*time.Second)
	require.Error(t, holder.Ping(t.Context()))
	_ = holder.Close(t.Context()) // the server has ended it
}

func woken(t *testing.T, s *postgres.Store) {
	t.Helper()
	select {
	case <-s.Changed():
	case <-time.After(patience):
		require.Fail(t, "no wake-up")
	}
}

func note(key int, content string) *wire.Event {
	return storetest.Draft{Key: key, Kind: 1, At: 1_700_000_000, Content: content}.Event()
}

func write(t *testing.T, s *postgres.Store, w store.Write) store.Outcome {
	t.Helper()
	return s.Append(t.Context(), []store.Write{w})[0]
}

// log reads the whole log, which must be dense, and returns the ids of its events.
func log(t *testing.T, s *postgres.Store) map[store.Position]string {
	t.Helper()
	all := make(map[store.Position]string)
	for after := store.Position(0); ; {
		rows, err := s.ReadLog(t.Context(), after, 500)
		require.NoError(t, err)
		if len(rows) == 0 {
			return all
		}
		for _, r := range rows {
			require.Equal(t, after+1, r.Position, "the log is dense")
			after = r.Position
			if r.Event != nil {
				all[r.Position] = r.Event.ID
			}
		}
	}
}
