package storetest

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/store"
)

// longValues are tag values at the edges of what an index entry holds, each
// pair equal in all but its last byte.
var longValues = []string{
	"", "\x00", "\x00\x00", "a\x00b", "\xf4\x8f\xbf\xbf", "é",
	strings.Repeat("m", 63), strings.Repeat("m", 64), strings.Repeat("m", 65),
	strings.Repeat("x", 3999) + "a", strings.Repeat("x", 3999) + "b",
	strings.Repeat("y", 1<<16-1) + "a", strings.Repeat("y", 1<<16-1) + "b",
}

var valueCases = map[string]func(t *testing.T, s *subject){
	"tag values of any length and byte": func(_ *testing.T, s *subject) {
		for i, v := range longValues {
			s.put(Draft{Kind: 1, At: 100 + int64(i), Tags: nostr.Tags{{"t", v}, {"x", "all"}}}.Event())
		}
		for i, v := range longValues {
			want := Draft{Kind: 1, At: 100 + int64(i), Tags: nostr.Tags{{"t", v}, {"x", "all"}}}.Event()
			s.answers(nostr.Filter{Tags: nostr.TagMap{"t": {v}}}, want)
			s.answers(nostr.Filter{Tags: nostr.TagMap{"t": {v}, "x": {"all"}}, Kinds: []int{1}}, want)
		}
	},
	"d values of any length and byte": func(_ *testing.T, s *subject) {
		at := func(i int, at int64) Draft {
			return Draft{Kind: 30000, At: at, Tags: nostr.Tags{{"d", longValues[i]}}}
		}
		for i := range longValues {
			s.put(at(i, 100).Event())
		}
		for i, v := range longValues {
			s.refuse(store.ErrSuperseded, at(i, 99).Event())
			next := at(i, 101).Event()
			s.put(next)
			s.answers(nostr.Filter{Tags: nostr.TagMap{"d": {v}}}, next)
			del := Draft{Kind: 5, At: 101, Tags: nostr.Tags{{"a", "30000:" + Key(0) + ":" + v}}}.Event()
			s.put(del)
			s.refuse(store.ErrDeleted, next)
			s.answers(nostr.Filter{Tags: nostr.TagMap{"d": {v}}})
		}
		s.answers(nostr.Filter{Kinds: []int{30000}})
	},
	"tag names that no index holds": func(_ *testing.T, s *subject) {
		e := Draft{Kind: 1, At: 100, Tags: nostr.Tags{{"title", "x"}, {"é", "x"}, {"1", "x"}, {"", "x"}, {"-", "x"}}}.Event()
		other := Draft{Kind: 1, At: 101}.Event()
		s.put(e, other)
		for _, name := range []string{"title", "é", "1", "", "-"} {
			s.answers(nostr.Filter{Tags: nostr.TagMap{name: {"x"}}}, e)
			s.answers(nostr.Filter{Tags: nostr.TagMap{name: {"y"}}})
		}
	},
	"ids and authors that no event can have match nothing": func(_ *testing.T, s *subject) {
		e := Draft{Kind: 1, At: 100}.Event()
		s.put(e)
		for _, v := range []string{"", "00", "zz", strings.ToUpper(e.ID), e.ID + "00", e.ID[:62] + "zz"} {
			s.answers(nostr.Filter{IDs: []string{v}})
			s.answers(nostr.Filter{Authors: []string{v}})
			s.answers(nostr.Filter{Authors: []string{v}, Kinds: []int{1}})
			s.answers(nostr.Filter{IDs: []string{v, e.ID}}, e)
		}
		s.answers(nostr.Filter{Kinds: []int{-1, 1 << 16, 1<<16 + 1}})
	},
	"kinds at the ends": func(_ *testing.T, s *subject) {
		low, high := Draft{Kind: 0, At: 100}.Event(), Draft{Kind: 65535, At: 101}.Event()
		s.put(low, high)
		s.answers(nostr.Filter{Kinds: []int{0}}, low)
		s.answers(nostr.Filter{Kinds: []int{65535}, Authors: []string{Key(0)}}, high)
		s.answers(nostr.Filter{Kinds: []int{65535, 0}}, high, low)
	},
}
