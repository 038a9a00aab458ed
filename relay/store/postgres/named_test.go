package postgres_test

import (
	"strings"
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

// deletes returns the deletion request of an author for events.
func deletes(key int, events ...*wire.Event) *wire.Event {
	d := storetest.Draft{Key: key, Kind: 5, At: 1_700_000_001}
	for _, e := range events {
		d.Tags = append(d.Tags, nostr.Tag{"e", e.ID})
	}
	return d.Event()
}

// A small request can name more than fits into memory; whoever is in the same commit must
// not suffer for it.
func TestADeletionNamesAsMuchAsIsReadAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, server.Start(t), postgres.Options{CommitTimeout: time.Minute}) // each reads 40 MiB
	var large []*wire.Event
	for _, c := range "abcdefghi" {
		e := note(1, strings.Repeat(string(c), 8<<20))
		require.NoError(t, write(t, s, store.Write{Event: e}).Err)
		large = append(large, e)
	}
	other := note(2, "other")
	out := s.Append(t.Context(), []store.Write{{Event: deletes(1, large...)}, {Event: other}})
	var refused wire.Reason
	require.ErrorAs(t, out[0].Err, &refused)
	require.Equal(t, wire.Invalid, refused.Prefix)
	require.NoError(t, out[1].Err)
	require.NoError(t, write(t, s, store.Write{Event: deletes(2, large...)}).Err, "of somebody else's nothing is read")
	for _, part := range [][]*wire.Event{large[:5], large[5:]} {
		require.NoError(t, write(t, s, store.Write{Event: deletes(1, part...)}).Err)
	}
	for _, e := range large {
		require.ErrorIs(t, write(t, s, store.Write{Event: e}).Err, store.ErrDeleted)
	}
}
