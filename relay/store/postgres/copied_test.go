package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
	"fencepost/relay/store/storetest"
)

func TestUnfinishedCopyIsNotServed(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	s := reopen(t, url, postgres.Options{})
	part := store.Copying{Token: "part"}
	e := storetest.Draft{Kind: 1, At: 1}.Event()
	put := func(c store.Copied) {
		require.NoError(t, s.Append(t.Context(), []store.Write{{Copied: &c}})[0].Err)
	}
	put(store.Copied{After: part, Rows: []store.Entry{{Type: store.EntryEvent, Event: e}}})
	require.NoError(t, s.Close())
	_, err := postgres.Open(t.Context(), url, postgres.Options{})
	require.ErrorIs(t, err, store.ErrCopying)

	s = reopen(t, url, postgres.Options{Copying: true})
	put(store.Copied{Before: part, After: store.Copying{Token: "all", Done: true}})
	require.NoError(t, s.Close())
	require.ErrorIs(t, reopen(t, url, postgres.Options{}).Append(t.Context(), []store.Write{{Event: e}})[0].Err, store.ErrDuplicate)
}

func TestReplicasAreSeenAndACopyIsNone(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	copying := reopen(t, url, postgres.Options{Copying: true})
	requireOthers := func(some bool) {
		n, err := copying.Others(t.Context())
		require.NoError(t, err)
		require.Equal(t, some, n > 0, "%d sessions", n)
	}
	requireOthers(false)
	replica := reopen(t, url, postgres.Options{})
	requireOthers(true)
	require.NoError(t, replica.Close())
	require.Eventually(t, func() bool {
		n, err := copying.Others(t.Context())
		return err == nil && n == 0
	}, patience, 20*time.Millisecond)
}
