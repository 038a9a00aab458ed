package wire_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// choices turns fuzz bytes into decisions; it answers 0 when they are used up.
type choices []byte

func (c *choices) below(n int) int {
	if len(*c) == 0 {
		return 0
	}
	b := (*c)[0]
	*c = (*c)[1:]
	return int(b) % n
}

// some returns nil, or a list of up to n of the values that make makes.
func some[T any](c *choices, n int, make func(i int) T) []T {
	size := c.below(n+2) - 1
	if size < 0 {
		return nil
	}
	list := []T{}
	for range size {
		list = append(list, make(c.below(24)))
	}
	return list
}

func hexOf(i int) string {
	return strings.Repeat(string("0123456789abcdef"[i%16]), 63) + string("0123456789"[i/16])
}
func wordOf(i int) string    { return strings.Repeat(string(rune('a'+i)), i%3) }
func kindOf(i int) int       { return i }
func tagNameOf(i int) string { return string("etpETP"[i%6]) }

func filterFrom(c *choices) nostr.Filter {
	f := nostr.Filter{IDs: some(c, 12, hexOf), Authors: some(c, 12, hexOf), Kinds: some(c, 20, kindOf)}
	for range c.below(4) {
		name, values := tagNameOf(c.below(6)), wordOf
		if name == "e" || name == "p" {
			values = hexOf
		}
		if f.Tags == nil {
			f.Tags = nostr.TagMap{}
		}
		f.Tags[name] = some(c, 12, values)
	}
	if c.below(2) == 1 {
		since := nostr.Timestamp(c.below(10))
		f.Since = &since
	}
	if c.below(2) == 1 {
		until := nostr.Timestamp(c.below(10))
		f.Until = &until
	}
	f.Limit = c.below(3)
	f.LimitZero = f.Limit == 0 && c.below(2) == 1
	f.Search = wordOf(c.below(24))
	return f
}

func eventFrom(c *choices) *wire.Event {
	ev := nostr.Event{ID: hexOf(c.below(24)), PubKey: hexOf(c.below(24)), Kind: c.below(24), CreatedAt: nostr.Timestamp(c.below(10)), Sig: sigC}
	for range c.below(5) {
		tag := nostr.Tag{tagNameOf(c.below(6)), wordOf(c.below(24)), hexOf(c.below(24))}
		if c.below(2) == 1 {
			tag[1], tag[2] = tag[2], tag[1]
		}
		ev.Tags = append(ev.Tags, tag[:1+c.below(3)])
	}
	// The rest makes them many, of few or many names and values.
	many, names, values := c.below(60), 1+c.below(7), 1+c.below(24)
	for i := range many {
		tag := nostr.Tag{tagNameOf(i % names), wordOf(i / names % values)}
		if i%names == 6 {
			tag[0] = "word"
		}
		ev.Tags = append(ev.Tags, tag)
	}
	return wire.NewEvent(ev)
}

func FuzzFilterMatches(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("81000000B000001")) // with a search
	f.Add([]byte{0, 0, 0, 0, 0, 0, 1, 0, 1, 2, 3})
	f.Add([]byte{0, 0, 14, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1, 1, 0, 1, 3, 1, 9, 5, 0, 1, 2, 3, 4, 5})
	f.Add([]byte{0, 0, 0, 1, 2, 13, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 50, 2, 3})
	f.Add([]byte{2, 5, 2, 6, 2, 7, 2, 1, 2, 8, 0, 2, 9, 1, 1, 1, 8, 1, 1, 5, 6, 7, 5, 2, 1, 8, 3, 0, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		c := choices(data)
		plain := filterFrom(&c)
		filter, other := wire.NewFilter(plain), wire.NewFilter(filterFrom(&c))
		for range 4 {
			e := eventFrom(&c)
			require.Equal(t, plain.Matches(&e.Event) && hasWords(filter, e), filter.Matches(e), "%s %s", plain, e.Raw())
			require.Equal(t, filter.Matches(e) || other.Matches(e), wire.MatchesAny([]*wire.Filter{filter, other}, e))
		}
		requireReadsBack(t, filter)
	})
}

// hasWords is the search of a filter, as slow and obvious as can be: go-nostr has none.
func hasWords(f *wire.Filter, e *wire.Event) bool {
	words := f.Words()
	if f.Searches() && len(words) == 0 {
		return false // for what is no word
	}
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(e.Words(), w) })
}

// requireReadsBack makes sure that f survives being written and read.
func requireReadsBack(t *testing.T, f *wire.Filter) {
	t.Helper()
	want := f.Clone()
	for name, values := range want.Tags {
		if values == nil {
			delete(want.Tags, name) // nil is absent
		}
	}
	if len(want.Tags) == 0 {
		want.Tags = nil
	}
	got, err := wire.DecodeFilter(wire.AppendFilter(nil, f))
	require.NoError(t, err)
	require.Equal(t, want, got.Filter)
}

func TestMatchingTags(t *testing.T) {
	t.Parallel()
	tags := nostr.Tags{{"t", "x", "second"}, {"t", ""}, {"T", "up"}, {"lonely"}, {"p", hexA}, {"q"}}
	few := signed(t, "", tags...)
	for i := range 50 { // which nobody asks for
		tags = append(tags, nostr.Tag{"z", strconv.Itoa(i)}, nostr.Tag{"word", "second"}, nostr.Tag{"-", "-"})
	}
	many := signed(t, "", tags...)
	for text, want := range map[string]bool{
		`{"#t":["x"]}`:                    true,
		`{"#t":["second"]}`:               false, // only the first value counts
		`{"#t":[""]}`:                     true,
		`{"#t":["up"]}`:                   false, // case of the name matters
		`{"#T":["up"]}`:                   true,
		`{"#t":["no","x"]}`:               true, // or within a name
		`{"#t":["x"],"#T":["no"]}`:        false,
		`{"#t":["x"],"#T":["up"]}`:        true, // and across names
		`{"#p":["` + hexA + `"]}`:         true,
		`{"#l":[""]}`:                     false,
		`{"#q":[""]}`:                     false, // a tag without a value has none
		`{"#t":` + longList("x") + `}`:    true,  // from whichever list is the shorter
		`{"#t":` + longList("y") + `}`:    false,
		`{"since":1700000000}`:            true, // inclusive
		`{"until":1700000000}`:            true,
		`{"since":1700000001}`:            false,
		`{"until":1699999999}`:            false,
		`{"kinds":[1],"limit":0}`:         true,
		`{"kinds":[0,2,3,4,5,6,7,8,9]}`:   false,
		`{"kinds":[0,2,3,4,5,6,7,8,9,1]}`: true,
		`{"search":"nothing of this"}`:    false,
		`{"search":"of:nothing"}`:         true,
	} {
		f, err := wire.DecodeFilter([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, f.Matches(few), text)
		require.Equal(t, want, f.Matches(many), text)
	}
}

func longList(last string) string {
	return `["` + strings.Join(manyHex(30), `","`) + `","` + last + `"]`
}

// No client can ask for such names; the relay's own code may.
func TestOtherTagNamesMatchToo(t *testing.T) {
	t.Parallel()
	tags := nostr.Tags{{"word", "x"}, {"-"}, {"1", "x"}, {"é", "x"}, {"w", "other"}}
	few := signed(t, "", tags...)
	for i := range 50 {
		tags = append(tags, nostr.Tag{"z", strconv.Itoa(i)})
	}
	many := signed(t, "", tags...)
	for name, want := range map[string]bool{"word": true, "-": false, "1": true, "é": true, "w": false, "": false} {
		f := wire.NewFilter(nostr.Filter{Tags: nostr.TagMap{name: {"x"}}})
		require.Equal(t, want, f.Matches(few), name)
		require.Equal(t, want, f.Matches(many), name)
	}
}

func TestFiltersSayWhatTagsTheyAskFor(t *testing.T) {
	t.Parallel()
	many := make([]string, 100)
	for i := range many {
		many[i] = strings.Repeat("x", i)
	}
	f := wire.NewFilter(nostr.Filter{Tags: nostr.TagMap{"h": {"pizza", "pasta"}, "d": many, "e": {}}})
	for _, name := range []string{"h", "d", "e"} {
		require.True(t, f.Asks(name), name)
	}
	require.False(t, f.Asks("p"))
	require.True(t, f.AsksFor("h", "pasta"))
	require.True(t, f.AsksFor("d", "xxx"))
	for _, no := range [][2]string{{"h", "xxx"}, {"d", "pasta"}, {"d", strings.Repeat("x", 100)}, {"e", ""}, {"p", "pizza"}, {"title", "x"}} {
		require.False(t, f.AsksFor(no[0], no[1]), no)
	}
	require.False(t, wire.NewFilter(nostr.Filter{}).AsksFor("h", "pizza"))
}
