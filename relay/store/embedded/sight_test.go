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

// What a sight keeps waiting does not keep tables open.
func TestNoTableIsOpenWhileASightIsAsked(t *testing.T) {
	t.Parallel()
	s := openFS(t, vfs.NewMem())
	fill(t, s, manyNotes(600))
	require.NoError(t, embedded.Flush(s))
	snap, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	asked := 0
	visible := func(*wire.Event) bool {
		asked++
		require.Zero(t, embedded.OpenTables(s))
		return true
	}
	filters := []*wire.Filter{wire.NewFilter(nostr.Filter{Kinds: []int{1}}), wire.NewFilter(nostr.Filter{Authors: []string{storetest.Key(0)}})}
	rows, err := snap.Query(t.Context(), filters, store.QueryOptions{Visible: visible})
	require.NoError(t, err)
	page, err := rows.Next(t.Context(), nil, 1000)
	require.NoError(t, err)
	require.Len(t, page, 600)
	n, _, err := snap.Count(t.Context(), filters, 0, visible)
	require.NoError(t, err)
	require.Equal(t, 600, n)
	require.Equal(t, 1200, asked)
	require.NoError(t, snap.Close())
	require.NoError(t, s.Close())
}

// A sight that panics leaves the snapshot as it was.
func TestSightThatPanics(t *testing.T) {
	t.Parallel()
	s := openFS(t, vfs.NewMem())
	put(t, s, note(1))
	snap, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	require.PanicsWithValue(t, "sight", func() {
		_, _, _ = snap.Count(t.Context(), []*wire.Filter{wire.NewFilter(nostr.Filter{})}, 0, func(*wire.Event) bool { panic("sight") })
	})
	got, err := query(snap, nostr.Filter{})
	require.NoError(t, err)
	require.Equal(t, []string{note(1).ID}, got)
	require.NoError(t, snap.Close())
	require.NoError(t, s.Close())
}

// No lock is held while a sight is asked: the store can be closed meanwhile.
func TestSnapshotEndsWhileASightIsAsked(t *testing.T) {
	t.Parallel()
	s := openFS(t, vfs.NewMem())
	put(t, s, note(1), note(2))
	snap, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	_, _, err = snap.Count(t.Context(), []*wire.Filter{wire.NewFilter(nostr.Filter{})}, 0, func(*wire.Event) bool {
		require.NoError(t, s.Close())
		return true
	})
	require.ErrorIs(t, err, store.ErrClosed)
	require.NoError(t, snap.Close())
}
