package storetest

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
)

var replaceCases = map[string]func(t *testing.T, s *subject){
	"the newest version stays": func(t *testing.T, s *subject) {
		older := Draft{Kind: 10002, At: 100}.Event()
		newer := Draft{Kind: 10002, At: 101}.Event()
		s.put(older, newer)
		s.holds(newer)
		s.refuse(store.ErrSuperseded, older)
		s.refuse(store.ErrSuperseded, Draft{Kind: 10002, At: 99}.Event())
		s.holds(newer)
		rows := s.log()
		require.Len(t, rows, 2)
		require.Equal(t, store.Entry{
			Position: 1, Type: store.EntryVoid, Void: store.VoidReplaced, Prefix: store.PrefixOf(older),
		}, rows[0])
		require.Equal(t, newer.ID, rows[1].Event.ID)
	},
	"of equal times the lowest id stays, in both orders": func(t *testing.T, s *subject) {
		low, high := twins(Draft{Kind: 0, At: 100})
		s.put(high, low)
		s.refuse(store.ErrSuperseded, high)
		s.holds(low)
		low2, high2 := twins(Draft{Key: 1, Kind: 0, At: 100})
		s.put(low2)
		s.refuse(store.ErrSuperseded, high2)
		s.answers(nostr.Filter{Authors: []string{Key(1)}}, low2)
	},
	"of equal times the lowest id stays inside one batch": func(t *testing.T, s *subject) {
		low, high := twins(Draft{Kind: 30023, At: 100, Tags: nostr.Tags{{"d", "x"}}})
		out := s.append(low, high)
		require.ErrorIs(t, out[1].Err, store.ErrSuperseded)
		low2, high2 := twins(Draft{Kind: 30023, At: 100, Tags: nostr.Tags{{"d", "y"}}})
		out = s.append(high2, low2, high2)
		require.NoError(t, out[0].Err)
		require.NoError(t, out[1].Err)
		require.ErrorIs(t, out[2].Err, store.ErrSuperseded)
		rows := s.log()
		require.Len(t, rows, 3)
		require.Equal(t, store.EntryVoid, rows[1].Type)
		s.answers(nostr.Filter{Tags: nostr.TagMap{"d": {"y"}}}, low2)
	},
	"only the first d counts": func(t *testing.T, s *subject) {
		first := Draft{Kind: 30000, At: 100, Tags: nostr.Tags{{"d", "a"}, {"d", "b"}}}.Event()
		other := Draft{Kind: 30000, At: 101, Tags: nostr.Tags{{"d", "b"}}}.Event()
		s.put(first, other)
		s.holds(other, first)
		next := Draft{Kind: 30000, At: 102, Tags: nostr.Tags{{"d", "a", "more"}, {"d", "c"}}}.Event()
		s.put(next)
		s.holds(next, other)
	},
	"no d is the empty d": func(t *testing.T, s *subject) {
		versions := []nostr.Tags{nil, {{"d"}}, {{"d", ""}}, {{"d", "", "x"}, {"d", "y"}}}
		for i, tags := range versions {
			e := Draft{Kind: 30000, At: 100 + int64(i), Tags: tags}.Event()
			s.put(e)
			s.holds(e)
		}
	},
	"d means nothing to a replaceable kind": func(_ *testing.T, s *subject) {
		a := Draft{Kind: 10000, At: 100, Tags: nostr.Tags{{"d", "a"}}}.Event()
		b := Draft{Kind: 10000, At: 101, Tags: nostr.Tags{{"d", "b"}}}.Event()
		s.put(a, b)
		s.holds(b)
	},
	"other authors, kinds and d values are untouched": func(_ *testing.T, s *subject) {
		d := nostr.Tags{{"d", "x"}}
		one := Draft{Kind: 30000, At: 100, Tags: d}.Event()
		author := Draft{Key: 1, Kind: 30000, At: 101, Tags: d}.Event()
		kind := Draft{Kind: 30001, At: 102, Tags: d}.Event()
		value := Draft{Kind: 30000, At: 103, Tags: nostr.Tags{{"d", "X"}}}.Event()
		s.put(one, author, kind, value)
		s.holds(value, kind, author, one)
	},
	"a replaced version leaves every index": func(_ *testing.T, s *subject) {
		tags := nostr.Tags{{"d", "x"}, {"t", "topic"}, {"p", Key(5)}}
		older := Draft{Kind: 30000, At: 100, Tags: tags}.Event()
		newer := Draft{Kind: 30000, At: 200, Tags: nostr.Tags{{"d", "x"}}}.Event()
		s.put(older, newer)
		for _, f := range []nostr.Filter{
			{IDs: []string{older.ID}},
			{Tags: nostr.TagMap{"t": {"topic"}}},
			{Tags: nostr.TagMap{"p": {Key(5)}}},
			{Until: ptr(150)},
			{Kinds: []int{30000}, Until: ptr(150)},
			{Authors: []string{Key(0)}, Until: ptr(150)},
			{Authors: []string{Key(0)}, Kinds: []int{30000}, Until: ptr(150)},
		} {
			s.answers(f)
		}
	},
}
