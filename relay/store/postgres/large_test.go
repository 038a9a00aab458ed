package postgres_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
	"fencepost/relay/wire"
)

// pages returns how many records each page of an answer has, 100 at most.
func pages(t *testing.T, s store.Store, f nostr.Filter) (sizes []int) {
	t.Helper()
	snap, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	rows, err := snap.Query(t.Context(), []*wire.Filter{wire.NewFilter(f)}, store.QueryOptions{DefaultLimit: 500})
	require.NoError(t, err)
	for {
		page, err := rows.Next(context.WithoutCancel(t.Context()), nil, 100)
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			require.NoError(t, rows.Close())
			require.NoError(t, snap.Close())
			return sizes
		}
		sizes = append(sizes, len(page))
	}
}

// Whoever asks for large events and does not read them must not fill the memory.
func TestPagesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	s := open(t, server.Start(t), postgres.Options{})
	for n := range 12 {
		require.NoError(t, write(t, s, store.Write{Event: note(1, fmt.Sprint("word ", n)+strings.Repeat(" x", 100_000))}).Err)
		require.NoError(t, write(t, s, store.Write{Event: note(2, fmt.Sprint("small ", n))}).Err)
	}
	require.Equal(t, []int{3, 3, 3, 3}, pages(t, s, nostr.Filter{Authors: []string{note(1, "").PubKey}}))
	require.Equal(t, []int{3, 3, 3, 3}, pages(t, s, nostr.Filter{Search: "word"}))
	require.Equal(t, []int{12}, pages(t, s, nostr.Filter{Authors: []string{note(2, "").PubKey}}))
}
