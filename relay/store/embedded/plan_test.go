package embedded_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// crowd is events with prolific and rare authors, kinds and tags.
func crowd(n int) (events []*wire.Event) {
	rng := rand.New(rand.NewPCG(7, 7))
	skewed := func(n int) int { return min(rng.IntN(n), rng.IntN(n), rng.IntN(n)) }
	kinds := []int{1, 7, 6, 1111, 4, 9735, 42, 1984}
	for range n {
		d := storetest.Draft{
			Key: skewed(40), Kind: kinds[skewed(len(kinds))], At: 1_000_000 + int64(rng.IntN(n)),
			Content: fmt.Sprint(rng.Uint64()),
		}
		for range rng.IntN(4) {
			name := []string{"t", "p", "e", "T"}[skewed(4)]
			d.Tags = append(d.Tags, nostr.Tag{name, fmt.Sprint("v", skewed(30))})
		}
		events = append(events, d.Event())
	}
	return events
}

// fill appends events, a few hundred a commit.
func fill(t testing.TB, s store.Store, events []*wire.Event) {
	t.Helper()
	for len(events) > 0 {
		n := min(len(events), 500)
		writes := make([]store.Write, n)
		for i, e := range events[:n] {
			writes[i].Event = e
		}
		for _, o := range s.Append(background, writes) {
			require.NoError(t, o.Err)
		}
		events = events[n:]
	}
}

func TestEveryPlanAnswersLikeAFullScan(t *testing.T) {
	t.Parallel()
	s := openFS(t, vfs.NewMem())
	events := crowd(3000)
	fill(t, s, events)
	sortNewest(events)
	rapid.Check(t, func(t *rapid.T) {
		f := wire.NewFilter(crowdFilter(t))
		limit := rapid.SampledFrom([]int{1, 5, 100, 5000}).Draw(t, "limit")
		var want []string
		for _, e := range events {
			if f.Matches(e) && len(want) < limit {
				want = append(want, e.ID)
			}
		}
		answers, err := embedded.AskEveryPlan(background, s, f, limit)
		require.NoError(t, err)
		for _, got := range answers {
			require.Equal(t, want, got)
		}
		f.Limit = limit
		require.Equal(t, want, ask(t, s, f.Filter))
	})
	require.NoError(t, s.Close())
}

func crowdFilter(t *rapid.T) (f nostr.Filter) {
	has := func(label string) bool { return rapid.Bool().Draw(t, label) }
	values := func(label string) (out []string) {
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 32), 1, 6).Draw(t, label) {
			out = append(out, fmt.Sprint("v", n))
		}
		return out
	}
	if has("authors") {
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 42), 1, 20).Draw(t, "wanted authors") {
			f.Authors = append(f.Authors, storetest.Key(n))
		}
	}
	if has("kinds") {
		f.Kinds = rapid.SliceOfN(rapid.SampledFrom([]int{1, 7, 6, 1111, 4, 9735, 42, 1984, 5}), 1, 6).Draw(t, "wanted kinds")
	}
	f.Tags = nostr.TagMap{}
	for _, name := range []string{"t", "p", "T", "title"} {
		if rapid.IntRange(0, 3).Draw(t, name) == 0 {
			f.Tags[name] = values(name + " values")
		}
	}
	at := func(label string) *nostr.Timestamp {
		v := nostr.Timestamp(1_000_000 + rapid.Int64Range(0, 3000).Draw(t, label))
		return &v
	}
	if has("since") {
		f.Since = at("since at")
	}
	if has("until") {
		f.Until = at("until at")
	}
	return f
}

func TestPlansReadLittle(t *testing.T) {
	t.Parallel()
	s := openFS(t, vfs.NewMem())
	var events []*wire.Event
	for i := range 20_000 {
		d := storetest.Draft{Key: i % 10, Kind: 1, At: int64(i), Tags: nostr.Tags{{"t", "popular"}}}
		switch {
		case i%2000 == 0:
			d.Key, d.Kind = 99, 30 // a rare author of a rare kind
		case i%1000 == 0:
			d.Kind = 40 // a rare kind of a prolific author
		}
		events = append(events, d.Event())
	}
	fill(t, s, events)
	prolific, rare := []string{storetest.Key(0)}, []string{storetest.Key(99)}
	popular := nostr.TagMap{"t": {"popular"}}
	many := func(n int) (keys []string) {
		for i := range n {
			keys = append(keys, storetest.Key(i))
		}
		return keys
	}
	for name, c := range map[string]struct {
		f     nostr.Filter
		limit int
		most  int
	}{
		"rare kind of a prolific author":    {nostr.Filter{Authors: prolific, Kinds: []int{40}}, 100, 25},
		"rare author under a popular tag":   {nostr.Filter{Authors: rare, Tags: popular}, 100, 100},
		"rare kind under a popular tag":     {nostr.Filter{Kinds: []int{40}, Tags: popular}, 100, 100},
		"prolific author, popular tag":      {nostr.Filter{Authors: prolific, Tags: popular}, 100, 400},
		"newest of all":                     {nostr.Filter{}, 100, 220},
		"newest of a kind":                  {nostr.Filter{Kinds: []int{1}}, 100, 220},
		"ten authors":                       {nostr.Filter{Authors: many(10)}, 100, 320},
		"ten authors of a kind":             {nostr.Filter{Authors: many(10), Kinds: []int{1}}, 100, 280},
		"a thousand authors of ten kinds":   {nostr.Filter{Authors: many(1000), Kinds: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}, 100, 600},
		"a thousand authors of a rare kind": {nostr.Filter{Authors: many(1000), Kinds: []int{40}}, 100, 200},
	} {
		n, err := embedded.WorkFor(background, s, wire.NewFilter(c.f), c.limit)
		require.NoError(t, err)
		require.LessOrEqual(t, n, c.most, name)
	}
	require.NoError(t, s.Close())
}
