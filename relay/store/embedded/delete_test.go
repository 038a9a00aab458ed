package embedded_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// Decoding a large event takes milliseconds, and the writer is one goroutine.
func TestDeletionReadsNoEventThatStays(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	s := openFS(t, disk)
	mention := nostr.Tags{{"p", storetest.Key(1)}}
	kept := []*wire.Event{
		storetest.Draft{Key: 2, Kind: 1, At: 1}.Event(),                // of a stranger
		storetest.Draft{Key: 2, Kind: 1, At: 2, Tags: mention}.Event(), // that mentions who asks
		storetest.Draft{Key: 2, Kind: 1059, At: 3}.Event(),             // a wrap for somebody else
		storetest.Draft{Key: 1, Kind: 5, At: 4}.Event(),                // a deletion request
	}
	gone := []*wire.Event{
		storetest.Draft{Key: 1, Kind: 1, At: 5}.Event(),
		storetest.Draft{Key: 2, Kind: 1059, At: 6, Tags: mention}.Event(),
	}
	put(t, s, append(kept, gone...)...)
	require.NoError(t, s.Close())
	s = openFS(t, disk) // with an empty cache
	var tags nostr.Tags
	for _, e := range append(kept, gone...) {
		tags = append(tags, nostr.Tag{"e", e.ID})
	}
	put(t, s, storetest.Draft{Key: 1, Kind: 5, At: 10, Tags: tags}.Event())
	for i := range kept {
		require.False(t, embedded.Cached(s, store.Position(i+1)), "event %d was read", i)
	}
	ids := storedIDs(t, s)
	for _, e := range kept {
		require.Contains(t, ids, e.ID)
	}
	for _, e := range gone {
		require.ErrorIs(t, appendOne(s, e).Err, store.ErrDeleted)
	}
	require.NoError(t, s.Close())
}
