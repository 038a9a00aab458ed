package embedded_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// wordy makes notes of 25 words, of which few are frequent and most are not.
func wordy(from, n int) []store.Write {
	rng := rand.New(rand.NewPCG(4, uint64(from)))
	spread := rand.NewZipf(rng, 1.2, 1, 50_000)
	out := make([]store.Write, n)
	for i := range out {
		var text strings.Builder
		for range 25 {
			fmt.Fprintf(&text, "w%d ", spread.Uint64())
		}
		out[i].Event = storetest.Draft{Key: rng.IntN(1000), Kind: 1, At: int64(from + i), Content: text.String()}.Event()
	}
	return out
}

// BenchmarkWords is what the index of words costs: a commit of 100 notes without and with
// it; the making of it, a note; and a search for the best ten of 50,000 by a frequent
// word, by a rare one, and by both.
func BenchmarkWords(b *testing.B) {
	for name, search := range map[string]bool{"append/without": false, "append/with": true} {
		b.Run(name, func(b *testing.B) {
			s, err := embedded.Open(b.TempDir(), embedded.Options{Search: search})
			require.NoError(b, err)
			made := 0
			for b.Loop() {
				b.StopTimer()
				batch := wordy(made, 100)
				b.StartTimer()
				for _, o := range s.Append(background, batch) {
					require.NoError(b, o.Err)
				}
				made += 100
			}
			require.NoError(b, s.Close())
		})
	}
	const n = 50_000
	dir := b.TempDir()
	s := openDir(b, dir)
	for from := 0; from < n; from += 1000 {
		for _, o := range s.Append(background, wordy(from, 1000)) {
			require.NoError(b, o.Err)
		}
	}
	require.NoError(b, s.Close())
	b.Run("make", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			require.NoError(b, openDir(b, dir).Close()) // takes the index away
			b.StartTimer()
			s, err := embedded.Open(dir, embedded.Options{Search: true})
			require.NoError(b, err)
			require.NoError(b, s.Close())
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "us/event")
	})
	s, err := embedded.Open(dir, embedded.Options{Search: true})
	require.NoError(b, err)
	for _, words := range []string{"w0", "w3000", "w0 w3000"} {
		b.Run("search/"+words, func(b *testing.B) {
			f := wire.NewFilter(nostr.Filter{Search: words, Limit: 10})
			for b.Loop() {
				snap, err := s.Snapshot(background)
				require.NoError(b, err)
				rows, err := snap.Query(background, []*wire.Filter{f}, store.QueryOptions{})
				require.NoError(b, err)
				_, err = rows.Next(background, nil, 10)
				require.NoError(b, err)
				require.NoError(b, snap.Close())
			}
		})
	}
	require.NoError(b, s.Close())
}
