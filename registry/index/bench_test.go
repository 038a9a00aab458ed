package index_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/lifecycle"
	"fencepost/registry/index"
	"fencepost/relay/wire"
)

func BenchmarkAddRemoveInACrowdedBucket(b *testing.B) {
	for _, crowd := range []int{50, 50_000} {
		b.Run(strconv.Itoa(crowd), func(b *testing.B) {
			x := index.New()
			handles := many(b, crowd, func(int) nostr.Filter { return nostr.Filter{Kinds: []int{1}} })
			for _, h := range handles {
				x.Add(h)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				h := handles[i*7919%crowd]
				x.Remove(h)
				x.Add(h)
			}
		})
	}
}

func BenchmarkCandidates(b *testing.B) {
	b.Run("39 of 5000 diverse", func(b *testing.B) {
		handles, ev := diverse(b)
		lookup(b, handles, ev, 39)
	})
	b.Run("39 of 50000 diverse", func(b *testing.B) {
		handles, ev := diverse(b)
		for range 9 {
			handles = append(handles, many(b, 5000, strangers)...)
		}
		lookup(b, handles, ev, 39)
	})
	b.Run("200 of 200", func(b *testing.B) {
		handles := many(b, 200, func(int) nostr.Filter { return nostr.Filter{Kinds: []int{1}} })
		lookup(b, handles, event(key(1), key(2), 1), 200)
	})
	b.Run("200 of 200 by two tags", func(b *testing.B) {
		handles := many(b, 200, func(int) nostr.Filter { return nostr.Filter{Tags: nostr.TagMap{"t": {"x", "y"}}} })
		lookup(b, handles, event(key(1), key(2), 1, nostr.Tag{"t", "x"}, nostr.Tag{"t", "y"}), 200)
	})
	b.Run("2000 tags and 5000 strangers", func(b *testing.B) {
		var tags nostr.Tags
		for i := range 2000 {
			tags = append(tags, nostr.Tag{"p", key(1_000_000 + i)})
		}
		lookup(b, many(b, 5000, strangers), event(key(-1), key(-2), 1, tags...), 0)
	})
}

func lookup(b *testing.B, handles []*lifecycle.Handle, ev *wire.Event, want int) {
	x := index.New()
	for _, h := range handles {
		x.Add(h)
	}
	var dst []*lifecycle.Handle
	b.ReportAllocs()
	for b.Loop() {
		dst = x.Candidates(dst[:0], ev)
	}
	if len(dst) != want {
		b.Fatalf("%d candidates, want %d", len(dst), want)
	}
}

// diverse makes 5,000 handles of which 39 match the event.
func diverse(b *testing.B) ([]*lifecycle.Handle, *wire.Event) {
	ev := event(key(-1), key(-2), 1, nostr.Tag{"p", key(-3)}, nostr.Tag{"e", key(-4)}, nostr.Tag{"t", "nostr"})
	matching := []nostr.Filter{
		{Kinds: []int{1}},
		{Authors: []string{key(-2), key(-5)}, Kinds: []int{1}},
		{Tags: nostr.TagMap{"p": {key(-3)}}},
		{Tags: nostr.TagMap{"t": {"nostr", "bitcoin"}}},
	}
	return many(b, 5000, func(i int) nostr.Filter {
		if i < 39 {
			return matching[i%len(matching)]
		}
		return strangers(i)
	}), ev
}

// strangers match no event of these benchmarks.
func strangers(i int) nostr.Filter {
	switch i % 4 {
	case 0:
		return nostr.Filter{Authors: []string{key(i), key(i + 1), key(i + 2)}, Kinds: []int{1, 6, 7}}
	case 1:
		return nostr.Filter{Tags: nostr.TagMap{"p": {key(i)}}, Kinds: []int{1, 9735}}
	case 2:
		return nostr.Filter{IDs: []string{key(i)}}
	default:
		return nostr.Filter{Kinds: []int{30000 + i%1000}}
	}
}

// key returns 64 hex digits.
func key(i int) string { return fmt.Sprintf("%064x", uint64(i)) }
