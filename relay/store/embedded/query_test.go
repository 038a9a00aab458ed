package embedded_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

const (
	waitAtMost = 20 * time.Second
	waitStep   = 5 * time.Millisecond
)

var background = context.Background()

// storedIDs lists everything that is stored, newest first.
func storedIDs(t testing.TB, s store.Store) (ids []string) {
	t.Helper()
	snap, err := s.Snapshot(background)
	require.NoError(t, err)
	ids, err = query(snap, nostr.Filter{})
	require.NoError(t, err)
	require.NoError(t, snap.Close())
	return ids
}

func ask(t require.TestingT, s store.Store, f nostr.Filter) []string {
	snap, err := s.Snapshot(background)
	require.NoError(t, err)
	ids, err := query(snap, f)
	require.NoError(t, err)
	require.NoError(t, snap.Close())
	return ids
}

func sortNewest(events []*wire.Event) {
	slices.SortFunc(events, func(a, b *wire.Event) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

func query(snap store.Snapshot, filters ...nostr.Filter) (ids []string, err error) {
	var prepared []*wire.Filter
	for _, f := range filters {
		prepared = append(prepared, wire.NewFilter(f))
	}
	rows, err := snap.Query(background, prepared, store.QueryOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var page []store.Record
	for {
		page, err = rows.Next(background, page[:0], 500)
		if errors.Is(err, io.EOF) {
			return ids, nil
		}
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			ids = append(ids, r.Event.ID)
		}
	}
}
