package wire_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// costly returns an event of many tags, those that filters ask for last, and
// filters of 50 conditions each of which all but one match.
func costly(tb testing.TB) (*wire.Event, []*wire.Filter) {
	tb.Helper()
	tags := make(nostr.Tags, 0, 4000)
	for i := range cap(tags) - 50 {
		tags = append(tags, nostr.Tag{letters[i%50:][:1], fmt.Sprint(i)})
	}
	asked := nostr.TagMap{}
	for i := range 50 {
		asked[letters[i:][:1]] = []string{"v"}
		tags = append(tags, nostr.Tag{letters[i:][:1], "v"})
	}
	filters := make([]*wire.Filter, 32)
	for i := range filters {
		asked["x"] = []string{"no", fmt.Sprint("no", i)}
		filters[i] = wire.NewFilter(nostr.Filter{Tags: asked})
	}
	return signed(tb, "", tags...), filters
}

// One event met by many conditions must not hold up the fan-out: to ask them all
// takes less than to have read the event. Not parallel: it compares times.
func TestManyConditionsOnManyTagsCostLessThanTheEvent(t *testing.T) {
	e, filters := costly(t)
	require.Less(t,
		fastest(func() { require.False(t, wire.MatchesAny(filters, e)) }),
		fastest(func() { _, _ = wire.DecodeEvent(e.Raw()) }),
	)
}

// A long value costs nothing where only short ones are asked for. Not parallel:
// it compares times.
func TestLongValueIsNotHashedForShortOnes(t *testing.T) {
	long := signed(t, "", nostr.Tag{"t", string(make([]byte, 1<<20))})
	short := signed(t, "", nostr.Tag{"t", "0"})
	f := wire.NewFilter(nostr.Filter{Tags: nostr.TagMap{"t": manyHex(20)}})
	match := func(e *wire.Event) time.Duration {
		return fastest(func() {
			for range 1000 {
				require.False(t, f.Matches(e))
			}
		})
	}
	require.Less(t, match(long), 10*match(short))
}

func fastest(fn func()) time.Duration {
	best := time.Duration(1 << 62)
	for range 5 {
		begin := time.Now()
		fn()
		best = min(best, time.Since(begin))
	}
	return best
}

func BenchmarkMatchesManyConditions(b *testing.B) {
	e, filters := costly(b)
	b.ReportAllocs()
	for b.Loop() {
		if wire.MatchesAny(filters, e) {
			b.Fatal("a match")
		}
	}
}

// BenchmarkDecodeEventOf shows what the tags of an event cost when it is read.
func BenchmarkDecodeEventOf(b *testing.B) {
	for _, n := range []int{0, 4, 16, 17, 100, 1000} {
		var tags nostr.Tags
		for i := range n {
			tags = append(tags, nostr.Tag{"p", fmt.Sprintf("%064x", i)})
		}
		raw := signed(b, "A note of usual length.", tags...).Raw()
		b.Run(fmt.Sprintf("tags=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := wire.DecodeEvent(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
