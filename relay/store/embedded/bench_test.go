package embedded_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// timeline makes notes of about 500 bytes by 1,000 authors, with a topic and a
// mention each: six index entries an event.
func timeline(from, n int) []store.Write {
	rng := rand.New(rand.NewPCG(3, uint64(from)))
	text := strings.Repeat("text ", 20)
	out := make([]store.Write, n)
	for i := range out {
		out[i].Event = storetest.Draft{
			Key: rng.IntN(1000), Kind: []int{1, 1, 1, 7, 6}[rng.IntN(5)], At: int64(from + i), Content: text + fmt.Sprint(from+i),
			Tags: nostr.Tags{{"t", fmt.Sprint("topic", rng.IntN(200))}, {"p", storetest.Key(rng.IntN(1000))}},
		}.Event()
	}
	return out
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("commit=%d", size), func(b *testing.B) {
			s := openDir(b, b.TempDir())
			made := 0
			var batch []store.Write
			for b.Loop() {
				b.StopTimer()
				batch = timeline(made, size)
				b.StartTimer()
				for _, o := range s.Append(background, batch) {
					require.NoError(b, o.Err)
				}
				made += size
			}
			b.ReportMetric(float64(made)/b.Elapsed().Seconds(), "events/s")
			require.NoError(b, s.Close())
		})
	}
}

// With permissions there are 10,000 scopes that have moved, 10,000 keys that
// have vanished and 1,000 groups that were erased.
func BenchmarkAppendUnderTerms(b *testing.B) {
	for _, c := range []struct {
		name        string
		permissions bool
		terms       int
	}{{"nothing", false, 0}, {"permissions", true, 0}, {"permissions and 2 terms", true, 2}} {
		b.Run(c.name, func(b *testing.B) {
			s := openDir(b, b.TempDir())
			moved := 0
			if c.permissions {
				moved = fillPermissions(b, s)
			}
			const size = 100
			made := 0
			for b.Loop() {
				b.StopTimer()
				batch := timeline(made, size)
				for i := range batch {
					for n := range c.terms {
						batch[i].Terms = append(batch[i].Terms, store.Term{Scope: storetest.Key(i + n*size), Epoch: store.Position(i + n*size + 1)})
					}
				}
				b.StartTimer()
				for _, o := range s.Append(background, batch) {
					require.NoError(b, o.Err)
				}
				made += size
			}
			b.ReportMetric(float64(made)/b.Elapsed().Seconds(), "events/s")
			require.EqualValues(b, moved, logInfo(b, s).Control)
			require.NoError(b, s.Close())
		})
	}
}

// fillPermissions moves the scope of 10,000 keys, by row i+1 that of key i.
func fillPermissions(b *testing.B, s store.Store) (moved int) {
	var writes []store.Write
	for i := range 10_000 {
		w := store.Write{
			Controls: []store.Control{{Scopes: []string{storetest.Key(i)}}},
			Erase:    &store.Erasure{Author: storetest.Key(100_000 + i), Until: 1 << 40},
		}
		writes = append(writes, w)
	}
	for i := range 1000 {
		writes = append(writes, store.Write{Erase: &store.Erasure{Group: fmt.Sprint("group", i)}})
	}
	for _, o := range s.Append(background, writes) {
		require.NoError(b, o.Err)
	}
	return 10_000
}

func BenchmarkQuery(b *testing.B) {
	const stored = 100_000
	s := openDir(b, b.TempDir())
	var ids []string
	for from := 0; from < stored; from += 1000 {
		batch := timeline(from, 1000)
		s.Append(background, batch)
		for i := range 10 {
			ids = append(ids, batch[100*i].Event.ID)
		}
	}
	authors := func(n int) (keys []string) {
		for i := range n {
			keys = append(keys, storetest.Key(i))
		}
		return keys
	}
	for _, c := range []struct {
		name string
		make func(i int) nostr.Filter
	}{
		{"id", func(i int) nostr.Filter { return nostr.Filter{IDs: []string{ids[i%len(ids)]}} }},
		{"20 ids", func(i int) nostr.Filter {
			f := nostr.Filter{}
			for n := range 20 {
				f.IDs = append(f.IDs, ids[(i+n*7)%len(ids)])
			}
			return f
		}},
		{"kind newest 100", func(int) nostr.Filter { return nostr.Filter{Kinds: []int{1}, Limit: 100} }},
		{"kind newest 500", func(int) nostr.Filter { return nostr.Filter{Kinds: []int{1}, Limit: 500} }},
		{"kind older 500", func(i int) nostr.Filter {
			until := nostr.Timestamp(1000 + i*7919%(stored-1000))
			return nostr.Filter{Kinds: []int{1}, Until: &until, Limit: 500}
		}},
		{"10 authors newest 100", func(i int) nostr.Filter {
			return nostr.Filter{Authors: []string{
				storetest.Key(i % 991), storetest.Key((i + 1) % 991), storetest.Key((i + 2) % 991), storetest.Key((i + 3) % 991),
				storetest.Key((i + 4) % 991), storetest.Key((i + 5) % 991), storetest.Key((i + 6) % 991), storetest.Key((i + 7) % 991),
				storetest.Key((i + 8) % 991), storetest.Key((i + 9) % 991),
			}, Limit: 100}
		}},
		{"10 authors of a kind newest 100", func(i int) nostr.Filter {
			f := nostr.Filter{Kinds: []int{1}, Limit: 100}
			for n := range 10 {
				f.Authors = append(f.Authors, storetest.Key((i*7+n*97)%991))
			}
			return f
		}},
		{"300 authors 2 kinds newest 100", func(int) nostr.Filter {
			return nostr.Filter{Authors: authors(300), Kinds: []int{1, 6}, Limit: 100}
		}},
		{"tag and kind newest 100", func(i int) nostr.Filter {
			return nostr.Filter{Kinds: []int{1}, Tags: nostr.TagMap{"t": {fmt.Sprint("topic", i%200)}}, Limit: 100}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			i, events := 0, 0
			for b.Loop() {
				events += drain(b, s, wire.NewFilter(c.make(i)))
				i++
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
		})
	}
	b.Run("count a kind", func(b *testing.B) {
		snap, err := s.Snapshot(background)
		require.NoError(b, err)
		for b.Loop() {
			n, _, err := snap.Count(background, []*wire.Filter{wire.NewFilter(nostr.Filter{Kinds: []int{7}})}, 0, nil)
			require.NoError(b, err)
			b.ReportMetric(float64(n), "counted")
		}
		require.NoError(b, snap.Close())
	})
	require.NoError(b, s.Close())
}

func drain(b *testing.B, s store.Store, f *wire.Filter) (n int) {
	snap, err := s.Snapshot(background)
	require.NoError(b, err)
	rows, err := snap.Query(background, []*wire.Filter{f}, store.QueryOptions{MaxLimit: 500})
	require.NoError(b, err)
	var page []store.Record
	for {
		if page, err = rows.Next(background, page[:0], 100); err != nil {
			break
		}
		n += len(page)
	}
	require.NoError(b, rows.Close())
	require.NoError(b, snap.Close())
	return n
}
