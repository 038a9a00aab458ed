package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

func TestEachGivesAllAndEndsWithTheFirstError(t *testing.T) {
	t.Parallel()
	const all = 600 // some pages
	s := storetest.NewFake(time.Now)
	for i := range all {
		e := nostr.Event{Kind: 1, CreatedAt: nostr.Timestamp(1_700_000_000 + i)}
		require.NoError(t, e.Sign("0000000000000000000000000000000000000000000000000000000000000001"))
		require.NoError(t, s.Append(t.Context(), []store.Write{{Event: wire.NewEvent(e)}})[0].Err)
	}
	snap, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	filters := []*wire.Filter{wire.NewFilter(nostr.Filter{Kinds: []int{1}})}
	enough := errors.New("enough")
	for _, row := range []struct {
		opt  store.QueryOptions
		stop int
		want int
		err  error
	}{
		{store.QueryOptions{}, all + 1, all, nil},
		{store.QueryOptions{MaxTotal: 300}, all + 1, 300, nil},
		{store.QueryOptions{}, 299, 299, enough},
	} {
		n, last := 0, nostr.Timestamp(1<<40)
		err := store.Each(t.Context(), snap, filters, row.opt, func(ev *wire.Event) error {
			require.Less(t, ev.CreatedAt, last, "newest first")
			last = ev.CreatedAt
			if n++; n == row.stop {
				return enough
			}
			return nil
		})
		require.ErrorIs(t, err, row.err)
		require.Equal(t, row.want, n)
	}
	require.NoError(t, snap.Close())
	require.ErrorIs(t, store.Each(t.Context(), snap, filters, store.QueryOptions{}, nil), store.ErrClosed)
}
