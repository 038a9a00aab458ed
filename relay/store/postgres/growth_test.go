package postgres_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// A session keeps the plans of its statements from when the tables were empty, until somebody
// analyses them, a minute later as a rule. Commits must not get slower with what there is.
func TestCommitsStayAsFastAsThoseOfANewSession(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	old := reopen(t, url, postgres.Options{})
	n := 0
	commit := func(s *postgres.Store, events int) time.Duration {
		writes := make([]store.Write, events)
		for i := range writes {
			writes[i].Event = article(n)
			n++
		}
		took := awake(t)
		for _, out := range s.Append(t.Context(), writes) {
			require.NoError(t, out.Err)
		}
		return took()
	}
	for range 10 { // a session chooses its plans after five
		commit(old, 1)
	}
	young := reopen(t, url, postgres.Options{})
	for range 10 {
		commit(old, 1000)
	}
	var took [2]time.Duration
	for range 5 {
		took[0] += commit(old, 1000)
		took[1] += commit(young, 1000)
	}
	require.Less(t, took[0], 10*took[1], "of the old and of the young session: without the cure it is eighty times")
}

// The same for who reads, over tables that were analysed when they were small.
func TestReadingStaysAsFastAsInANewSession(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	s := reopen(t, url, postgres.Options{MaxConns: 1})
	const most = 10_000
	n := 0
	put := func(events int) {
		writes := make([]store.Write, events)
		for i := range writes {
			writes[i].Event = article(n)
			n++
		}
		for _, out := range s.Append(t.Context(), writes) {
			require.NoError(t, out.Err)
		}
	}
	read := func(s *postgres.Store) time.Duration {
		ids := make([]string, min(n, 500))
		for i := range ids {
			ids[i] = article(n - 1 - i).ID
		}
		took := awake(t)
		_, err := s.Followed().ReadLog(t.Context(), store.Position(max(n-1000, 0)), 1000)
		require.NoError(t, err)
		snap, err := s.Snapshot(t.Context())
		require.NoError(t, err)
		_, _, err = snap.Count(t.Context(), []*wire.Filter{wire.NewFilter(nostr.Filter{IDs: ids})}, 0, nil)
		require.NoError(t, err)
		return took()
	}
	put(10)
	run(t, url, "VACUUM ANALYZE")
	for range 10 {
		read(s)
	}
	for n < most {
		put(1000)
	}
	young := reopen(t, url, postgres.Options{MaxConns: 1})
	var took [2]time.Duration
	for range 5 {
		took[0] += read(s)
		took[1] += read(young)
	}
	require.Less(t, took[0], 4*took[1], "in the old and in the young session")
}

func article(n int) *wire.Event {
	return storetest.Draft{Key: n % 50, Kind: 30023, At: int64(n), Tags: nostr.Tags{{"d", strconv.Itoa(n)}}}.Event()
}
