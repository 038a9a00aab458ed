package storetest

import (
	"context"
	"errors"
	"io"
	"strconv"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

var queryCases = map[string]func(t *testing.T, s *subject){
	"newest first, ties by lowest id": func(t *testing.T, s *subject) {
		low, high := twins(Draft{Kind: 1, At: 100})
		newer := Draft{Kind: 7, At: 101, Key: 1}.Event()
		s.put(high, newer, low)
		s.holds(newer, low, high)
		for limit, want := range [][]string{1: ids([]*wire.Event{newer}), 2: ids([]*wire.Event{newer, low})} {
			if limit == 0 {
				continue
			}
			got, hint := s.query(store.QueryOptions{}, nostr.Filter{Limit: limit})
			require.Equal(t, want, ids(got))
			require.Equal(t, wire.HintMore, hint)
		}
	},
	"since and until are inclusive": func(_ *testing.T, s *subject) {
		n := notes(0, 5)
		s.put(n...)
		s.answers(nostr.Filter{Since: ptr(start + 1), Until: ptr(start + 3)}, n[3], n[2], n[1])
		s.answers(nostr.Filter{Kinds: []int{1}, Since: ptr(start + 2), Until: ptr(start + 2)}, n[2])
		s.answers(nostr.Filter{Since: ptr(start + 3), Until: ptr(start + 1)})
		s.answers(nostr.Filter{Until: ptr(0)})
		s.answers(nostr.Filter{Since: ptr(1<<63 - 1)})
		s.answers(nostr.Filter{Until: ptr(1<<63 - 1), Since: ptr(0)}, n[4], n[3], n[2], n[1], n[0])
	},
	"the ends of time": func(_ *testing.T, s *subject) {
		zero := Draft{Kind: 1, At: 0}.Event()
		last := Draft{Kind: 1, At: 1<<63 - 1}.Event()
		s.put(zero, last)
		s.holds(last, zero)
		s.answers(nostr.Filter{Kinds: []int{1}, Until: ptr(0)}, zero)
		s.answers(nostr.Filter{Authors: []string{Key(0)}, Since: ptr(1<<63 - 1)}, last)
	},
	"empty lists match nothing and {} matches all": func(_ *testing.T, s *subject) {
		n := notes(0, 1)[0]
		s.put(n)
		s.answers(nostr.Filter{}, n)
		s.answers(nostr.Filter{IDs: []string{}})
		s.answers(nostr.Filter{Authors: []string{}})
		s.answers(nostr.Filter{Kinds: []int{}})
		s.answers(nostr.Filter{Tags: nostr.TagMap{"t": {}}})
		s.answers(nostr.Filter{Kinds: []int{1}, Authors: []string{}})
	},
	"tags: AND across names, OR within one, case counts": func(_ *testing.T, s *subject) {
		tagged := func(at int64, tags ...nostr.Tag) *wire.Event {
			return Draft{Kind: 1, At: at, Tags: tags}.Event()
		}
		a := tagged(100, nostr.Tag{"t", "x"}, nostr.Tag{"p", "1"})
		b := tagged(101, nostr.Tag{"t", "y"}, nostr.Tag{"t", "x"})
		upper := tagged(102, nostr.Tag{"T", "x"})
		empty := tagged(103, nostr.Tag{"t", ""}, nostr.Tag{"t"})
		second := tagged(104, nostr.Tag{"t", "z", "x"})
		bare := tagged(105, nostr.Tag{"t"})
		s.put(a, b, upper, empty, second, bare)
		s.answers(nostr.Filter{Tags: nostr.TagMap{"t": {"x", "y"}}}, b, a)
		s.answers(nostr.Filter{Tags: nostr.TagMap{"t": {"x"}, "p": {"1", "2"}}}, a)
		s.answers(nostr.Filter{Tags: nostr.TagMap{"T": {"x"}}}, upper)
		s.answers(nostr.Filter{Tags: nostr.TagMap{"t": {""}}}, empty)
		s.answers(nostr.Filter{Tags: nostr.TagMap{"t": {"X"}}})
	},
	"an event that matches several filters and values comes once": func(t *testing.T, s *subject) {
		e := Draft{Kind: 1, At: 100, Tags: nostr.Tags{{"t", "a"}, {"t", "b"}, {"t", "a"}, {"p", "q"}}}.Event()
		s.put(e)
		filters := []nostr.Filter{
			{Tags: nostr.TagMap{"t": {"a", "b", "a"}}},
			{Tags: nostr.TagMap{"p": {"q"}}},
			{Kinds: []int{1, 1}},
			{Authors: []string{Key(0), Key(0)}},
			{IDs: []string{e.ID, e.ID}},
			{},
		}
		got, hint := s.query(store.QueryOptions{}, filters...)
		require.Equal(t, []string{e.ID}, ids(got))
		require.Equal(t, wire.HintFinish, hint)
		n, exact := s.count(0, filters...)
		require.Equal(t, 1, n)
		require.True(t, exact)
	},
	"each filter has its own limit": func(t *testing.T, s *subject) {
		n := notes(0, 6)
		s.put(n...)
		got, hint := s.query(store.QueryOptions{},
			nostr.Filter{Until: ptr(start + 2), Limit: 2}, nostr.Filter{Since: ptr(start + 4)})
		require.Equal(t, ids([]*wire.Event{n[5], n[4], n[2], n[1]}), ids(got))
		require.Equal(t, wire.HintMore, hint)
		got, hint = s.query(store.QueryOptions{}, nostr.Filter{Limit: 6}, nostr.Filter{Limit: 9})
		require.Len(t, got, 6)
		require.Equal(t, wire.HintFinish, hint, "six of six hide nothing")
	},
	"limits are clamped and defaulted": func(t *testing.T, s *subject) {
		s.put(notes(0, 6)...)
		for _, c := range []struct {
			opt  store.QueryOptions
			f    nostr.Filter
			want int
			hint wire.Hint
		}{
			{store.QueryOptions{MaxLimit: 4}, nostr.Filter{Limit: 500}, 4, wire.HintMore},
			{store.QueryOptions{MaxLimit: 4}, nostr.Filter{}, 4, wire.HintMore},
			{store.QueryOptions{MaxLimit: 4, DefaultLimit: 2}, nostr.Filter{}, 2, wire.HintMore},
			{store.QueryOptions{MaxLimit: 4, DefaultLimit: 9}, nostr.Filter{}, 4, wire.HintMore},
			{store.QueryOptions{DefaultLimit: 2}, nostr.Filter{Limit: 5}, 5, wire.HintMore},
			{store.QueryOptions{DefaultLimit: 2}, nostr.Filter{LimitZero: true}, 0, wire.HintUnknown},
			{store.QueryOptions{MaxTotal: 3}, nostr.Filter{}, 3, wire.HintMore},
			{store.QueryOptions{MaxTotal: 6}, nostr.Filter{}, 6, wire.HintFinish},
			{store.QueryOptions{MaxLimit: 6, MaxTotal: 6}, nostr.Filter{}, 6, wire.HintFinish},
		} {
			got, hint := s.query(c.opt, c.f)
			require.Len(t, got, c.want, "%+v %+v", c.opt, c.f)
			require.Equal(t, c.hint, hint, "%+v %+v", c.opt, c.f)
		}
	},
	"a limit of 0 adds nothing to other filters": func(t *testing.T, s *subject) {
		n := notes(0, 2)
		s.put(n...)
		for _, c := range []struct {
			f    nostr.Filter
			want string
			hint wire.Hint
		}{
			{nostr.Filter{IDs: []string{n[0].ID}}, n[0].ID, wire.HintUnknown},
			{nostr.Filter{Limit: 1}, n[1].ID, wire.HintMore},
		} {
			got, hint := s.query(store.QueryOptions{}, nostr.Filter{LimitZero: true}, c.f)
			require.Equal(t, []string{c.want}, ids(got))
			require.Equal(t, c.hint, hint)
		}
	},
	"the total is cut over all filters": func(t *testing.T, s *subject) {
		n := notes(0, 6)
		s.put(n...)
		opt := store.QueryOptions{MaxTotal: 3}
		got, hint := s.query(opt, nostr.Filter{Until: ptr(start + 2)}, nostr.Filter{Since: ptr(start + 3), Limit: 2})
		require.Equal(t, ids([]*wire.Event{n[5], n[4], n[2]}), ids(got))
		require.Equal(t, wire.HintMore, hint)
	},
	"pages by until lose no tie": func(t *testing.T, s *subject) {
		want := make(map[string]bool)
		for i := range 40 {
			e := Draft{Kind: 1, At: 100 + int64(i/7), Content: strconv.Itoa(i)}.Event()
			want[e.ID] = true
			s.put(e)
		}
		until := int64(1000)
		for range 100 {
			page, hint := s.query(store.QueryOptions{}, nostr.Filter{Until: ptr(until), Limit: 9})
			for _, e := range page {
				delete(want, e.ID)
			}
			if hint != wire.HintMore {
				break
			}
			until = int64(page[len(page)-1].CreatedAt)
		}
		require.Empty(t, want)
	},
	"count stops at its bound": func(t *testing.T, s *subject) {
		s.put(notes(0, 5)...)
		for _, c := range []struct {
			limit, want int
			exact       bool
		}{{0, 5, true}, {4, 4, false}, {5, 5, true}, {6, 5, true}} {
			n, exact := s.count(c.limit, nostr.Filter{Kinds: []int{1}, Limit: 1}, nostr.Filter{Authors: []string{Key(0)}})
			require.Equal(t, c.want, n)
			require.Equal(t, c.exact, exact)
		}
	},
	"a thousand authors are served whole": func(t *testing.T, s *subject) {
		f := nostr.Filter{Kinds: []int{0, 1, 3, 6, 7, 9, 16, 1111, 10002, 30023}}
		var batch []*wire.Event
		for i := range 1000 {
			f.Authors = append(f.Authors, Key(i))
			batch = append(batch, Draft{Key: i, Kind: 1, At: start + int64(i)}.Event())
		}
		for i := 1000; i < 1100; i++ {
			batch = append(batch, Draft{Key: i, Kind: 1, At: start + int64(i)}.Event())
		}
		s.append(batch...)
		got, hint := s.query(store.QueryOptions{}, f)
		require.Len(t, got, 1000)
		require.Equal(t, wire.HintFinish, hint)
		require.Equal(t, Key(999), got[0].PubKey)
		f.Limit = 10
		got, hint = s.query(store.QueryOptions{}, f)
		require.Equal(t, Key(990), got[9].PubKey)
		require.Equal(t, wire.HintMore, hint)
		n, _ := s.count(0, f)
		require.Equal(t, 1000, n)
	},
	"a snapshot is stable": func(t *testing.T, s *subject) {
		n := notes(0, 3)
		old := Draft{Kind: 0, At: 100}.Event()
		s.put(n[0], old)
		snap := s.snapshot()
		require.Equal(t, store.Position(2), snap.Applied())
		rows, err := snap.Query(t.Context(), prepare([]nostr.Filter{{}}), store.QueryOptions{})
		require.NoError(t, err)
		s.put(n[1], Draft{Kind: 0, At: 200}.Event(), Draft{Kind: 5, At: start, Tags: nostr.Tags{{"e", n[0].ID}}}.Event())
		require.Equal(t, store.Position(2), snap.Applied())
		records, err := rows.Next(t.Context(), nil, 10)
		require.NoError(t, err)
		require.Equal(t, []string{n[0].ID, old.ID}, []string{records[0].Event.ID, records[1].Event.ID})
		require.Equal(t, store.Position(1), records[0].Position)
		require.Equal(t, store.Position(2), records[1].Position)
		require.Equal(t, wire.HintUnknown, rows.Hint())
		_, err = rows.Next(t.Context(), nil, 10)
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, rows.Close())
		got, _ := ask(t, snap, store.QueryOptions{}, nostr.Filter{Authors: []string{Key(0)}})
		require.Equal(t, []string{n[0].ID, old.ID}, ids(got))
		require.NoError(t, snap.Close())
		require.Equal(t, store.Position(6), s.snapshot().Applied())
	},
	"an ended context ends a query": func(t *testing.T, s *subject) {
		s.put(notes(0, 3)...)
		snap := s.snapshot()
		rows, err := snap.Query(t.Context(), prepare([]nostr.Filter{{}}), store.QueryOptions{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = rows.Next(ctx, nil, 1)
		require.True(t, errors.Is(err, context.Canceled))
		_, _, err = snap.Count(ctx, prepare([]nostr.Filter{{}}), 0, nil)
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, rows.Close())
		require.NoError(t, snap.Close())
	},
}
