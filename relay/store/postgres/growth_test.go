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
			n++
			writes[i].Event = storetest.Draft{Key: n % 50, Kind: 30023, At: int64(n), Tags: nostr.Tags{{"d", strconv.Itoa(n)}}}.Event()
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
	require.Less(t, took[0], 4*took[1], "of the old and of the young session")
}
