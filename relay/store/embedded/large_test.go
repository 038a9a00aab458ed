package embedded_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// Whoever asks for large events and does not read them must not fill the memory.
func TestPagesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	s := openWords(t, vfs.NewMem(), true)
	large := func(n int) *wire.Event {
		return storetest.Draft{Key: 1, Kind: 1, At: 1, Content: fmt.Sprint("word ", n) + strings.Repeat(" x", 100_000)}.Event()
	}
	for n := range 12 {
		write(t, s, store.Write{Event: large(n)})
	}
	for _, f := range []nostr.Filter{{Authors: []string{large(0).PubKey}}, {Search: "word"}} {
		snap, err := s.Snapshot(t.Context())
		require.NoError(t, err)
		rows, err := snap.Query(t.Context(), []*wire.Filter{wire.NewFilter(f)}, store.QueryOptions{DefaultLimit: 500})
		require.NoError(t, err)
		for range 4 {
			page, err := rows.Next(t.Context(), nil, 100)
			require.NoError(t, err)
			require.Len(t, page, 3)
		}
		_, err = rows.Next(t.Context(), nil, 100)
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, rows.Close())
		require.NoError(t, snap.Close())
	}
	require.NoError(t, s.Close())
}
