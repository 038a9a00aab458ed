package postgres_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// seeded opens a store of n notes of a dozen words: one that all have, one that a tenth
// has, and one that a thousandth has.
func seeded(b *testing.B, n int) *postgres.Store {
	b.Helper()
	url := server.Start(b).Database(b)
	s, err := postgres.Open(b.Context(), url, postgres.Options{Migrate: true})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	for from := 0; from < n; from += 1000 {
		writes := make([]store.Write, 1000)
		for i := range writes {
			id := from + i
			writes[i].Event = storetest.Draft{
				Key: id % 100, Kind: 1, At: int64(1_700_000_000 + id),
				Content: fmt.Sprintf("all some%d rare%d of the words of a note are these %d", id%10, id%1000, id),
			}.Event()
		}
		for _, out := range s.Append(b.Context(), writes) {
			require.NoError(b, out.Err)
		}
	}
	conn, err := pgx.Connect(b.Context(), url)
	require.NoError(b, err)
	_, err = conn.Exec(b.Context(), "ANALYZE") // as autovacuum does in its time
	require.NoError(b, err)
	require.NoError(b, conn.Close(b.Context()))
	return s
}

// BenchmarkSearch asks for the best ten of 100,000 notes, by words of different
// frequency.
func BenchmarkSearch(b *testing.B) {
	s := seeded(b, 100_000)
	for name, f := range map[string]nostr.Filter{
		"rare":   {Search: "rare7"},
		"some":   {Search: "some3"},
		"all":    {Search: "all"},
		"author": {Search: "all", Authors: []string{storetest.Key(7)}},
	} {
		f.Limit = 10
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				snap, err := s.Snapshot(b.Context())
				require.NoError(b, err)
				rows, err := snap.Query(b.Context(), []*wire.Filter{wire.NewFilter(f)}, store.QueryOptions{})
				require.NoError(b, err)
				page, err := rows.Next(b.Context(), nil, 10)
				require.NoError(b, err)
				require.Len(b, page, 10)
				require.NoError(b, snap.Close())
			}
		})
	}
}

// BenchmarkCount counts the 1,000 notes of an author: in the database, and by looking at
// each, as it has to be where something can be hidden.
func BenchmarkCount(b *testing.B) {
	s := seeded(b, 100_000)
	f := []*wire.Filter{wire.NewFilter(nostr.Filter{Authors: []string{storetest.Key(7)}, Kinds: []int{1}})}
	for name, visible := range map[string]func(*wire.Event) bool{
		"database": nil, "each": func(*wire.Event) bool { return true },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				snap, err := s.Snapshot(b.Context())
				require.NoError(b, err)
				n, exact, err := snap.Count(b.Context(), f, 0, visible)
				require.NoError(b, err)
				require.True(b, exact)
				require.Equal(b, 1000, n)
				require.NoError(b, snap.Close())
			}
		})
	}
}
