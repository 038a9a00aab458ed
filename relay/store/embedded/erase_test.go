package embedded_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

var everything = store.Erasure{Author: storetest.Key(0), Until: 1 << 40, Cause: store.CauseVanished}

func TestErasureGoesOnAfterAReopenAndAFullDisk(t *testing.T) {
	t.Parallel()
	d := newDisk()
	s := openFS(t, d)
	fill(t, s, manyNotes(1700))
	require.Equal(t, 600, erase(t, s, everything, 600))
	require.NoError(t, s.Close())
	s = openFS(t, d)
	d.full.Store(true)
	n, err := s.Erase(t.Context(), everything, 600)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Zero(t, n)
	require.Len(t, storedIDs(t, s), 1100)
	d.full.Store(false)
	put(t, s, storetest.Draft{Key: 1, Kind: 1, At: 1}.Event()) // opens the database anew
	require.Equal(t, 1100, erase(t, s, everything, 5000))
	require.Len(t, storedIDs(t, s), 1)
	require.Len(t, readLog(t, s), 1700+1+1700)
	require.NoError(t, s.Close())
}

// Each event is removed once, whoever comes first.
func TestErasureBesideDeletionsAndAppends(t *testing.T) {
	t.Parallel()
	s := openFS(t, vfs.NewMem())
	events := manyNotes(1200)
	fill(t, s, events)
	write(t, s, store.Write{Erase: &everything})
	var rivals sync.WaitGroup
	var erased atomic.Int64
	for range 2 {
		rivals.Go(func() {
			n, err := s.Erase(background, everything, 5000)
			if err == nil {
				erased.Add(int64(n))
			}
		})
	}
	var banned []string
	for _, e := range events[:300] {
		banned = append(banned, e.ID)
	}
	rivals.Go(func() { appendWrite(s, store.Write{Ban: banned}) })
	var others []*wire.Event
	for i := range 100 {
		others = append(others, storetest.Draft{Key: 1, Kind: 1, At: int64(i)}.Event())
	}
	rivals.Go(func() { put(t, s, others...) })
	rivals.Wait()
	require.Len(t, storedIDs(t, s), len(others))
	removals := make(map[store.RemovalCause]int)
	targets := make(map[store.Position]bool)
	for _, r := range readLog(t, s) {
		if r.Type == store.EntryRemoval {
			require.False(t, targets[r.Removal.Target])
			targets[r.Removal.Target] = true
			removals[r.Removal.Cause]++
		}
	}
	require.Len(t, targets, len(events))
	require.EqualValues(t, erased.Load(), removals[store.CauseVanished])
	require.NoError(t, s.Close())
}

// A key that many mention is erased without a look at the mentions.
func TestErasureReadsNoEventThatStays(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	s := openFS(t, fs)
	mention := nostr.Tags{{"p", storetest.Key(0)}}
	kept := []*wire.Event{
		storetest.Draft{Key: 1, Kind: 1, At: 1, Tags: mention}.Event(),
		storetest.Draft{Key: 0, Kind: 62, At: 2}.Event(),
		storetest.Draft{Key: 1, Kind: 1059, At: 9, Tags: mention}.Event(), // made later
	}
	put(t, s, kept...)
	put(t, s, storetest.Draft{Key: 1, Kind: 1059, At: 3, Tags: mention}.Event(), storetest.Draft{Key: 0, Kind: 1, At: 4}.Event())
	require.NoError(t, s.Close())
	s = openFS(t, fs) // with an empty cache
	require.Equal(t, 2, erase(t, s, store.Erasure{Author: storetest.Key(0), Until: 5}, 9))
	for i := range kept {
		require.False(t, embedded.Cached(s, store.Position(i+1)), "event %d was read", i)
	}
	require.Len(t, storedIDs(t, s), len(kept))
	require.NoError(t, s.Close())
}

func manyNotes(n int) (events []*wire.Event) {
	for i := range n {
		events = append(events, storetest.Draft{Kind: 1, At: int64(i), Content: fmt.Sprint(i)}.Event())
	}
	return events
}

func erase(t testing.TB, s store.Store, x store.Erasure, limit int) int {
	t.Helper()
	n, err := s.Erase(background, x, limit)
	require.NoError(t, err)
	return n
}
