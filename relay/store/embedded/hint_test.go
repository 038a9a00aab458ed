package embedded_test

import (
	"io"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// A reader must not learn from the hint (NIP-67) how much there is that it may not
// see, although the look for more is short.
func TestHintDoesNotTellOfWhatIsHidden(t *testing.T) {
	t.Parallel()
	s := openFS(t, vfs.NewMem())
	for i := range 700 {
		put(t, s, storetest.Draft{Key: 1, Kind: 9, At: int64(i + 1)}.Event())
	}
	seen := storetest.Draft{Key: 1, Kind: 9, At: 1000}.Event()
	put(t, s, seen)
	snap, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	rows, err := snap.Query(t.Context(), []*wire.Filter{wire.NewFilter(nostr.Filter{Kinds: []int{9}, Limit: 1})}, store.QueryOptions{
		Visible: func(ev *wire.Event) bool { return ev.ID == seen.ID },
	})
	require.NoError(t, err)
	got, err := rows.Next(t.Context(), nil, 10)
	require.NoError(t, err)
	require.Len(t, got, 1)
	_, err = rows.Next(t.Context(), nil, 10)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, wire.HintFinish, rows.Hint())
	require.NoError(t, rows.Close())
	require.NoError(t, snap.Close())
	require.NoError(t, s.Close())
}
