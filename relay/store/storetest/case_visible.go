package storetest

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

var visibleCases = map[string]func(t *testing.T, s *subject){
	"what is not visible counts towards no limit": func(t *testing.T, s *subject) {
		n := s.mixture()
		for _, c := range []struct {
			opt     store.QueryOptions
			filters []nostr.Filter
			want    []int // indexes into n; only even ones are visible
			hint    wire.Hint
		}{
			{store.QueryOptions{}, []nostr.Filter{{}}, []int{8, 6, 4, 2, 0}, wire.HintFinish},
			{store.QueryOptions{}, []nostr.Filter{{Limit: 5}}, []int{8, 6, 4, 2, 0}, wire.HintFinish},
			{store.QueryOptions{}, []nostr.Filter{{Limit: 4}}, []int{8, 6, 4, 2}, wire.HintMore},
			{store.QueryOptions{MaxTotal: 5}, []nostr.Filter{{}}, []int{8, 6, 4, 2, 0}, wire.HintFinish},
			{store.QueryOptions{MaxTotal: 2}, []nostr.Filter{{}}, []int{8, 6}, wire.HintMore},
			{store.QueryOptions{}, []nostr.Filter{{Kinds: []int{1}, Limit: 3}}, []int{8, 6, 4}, wire.HintMore},
			{store.QueryOptions{}, []nostr.Filter{{Kinds: []int{1}, Until: ptr(start + 1)}}, []int{0}, wire.HintFinish},
			{store.QueryOptions{}, []nostr.Filter{{Authors: []string{Key(0)}, Since: ptr(start + 7), Limit: 1}}, []int{8}, wire.HintFinish},
			{store.QueryOptions{}, []nostr.Filter{{Authors: []string{Key(0)}, Kinds: []int{1}, Limit: 2}}, []int{8, 6}, wire.HintMore},
			{store.QueryOptions{}, []nostr.Filter{{Tags: nostr.TagMap{"t": {"all"}}, Limit: 2}}, []int{8, 6}, wire.HintMore},
			{store.QueryOptions{}, []nostr.Filter{{IDs: ids(n), Limit: 2}}, []int{8, 6}, wire.HintMore},
			{store.QueryOptions{}, []nostr.Filter{{IDs: ids(n[7:9])}}, []int{8}, wire.HintFinish},
			{store.QueryOptions{}, []nostr.Filter{{Limit: 1}, {Kinds: []int{1}, Limit: 3}}, []int{8, 6, 4}, wire.HintMore},
			{store.QueryOptions{}, []nostr.Filter{{Since: ptr(start + 7), Limit: 1}, {Until: ptr(start + 2), Limit: 2}}, []int{8, 2, 0}, wire.HintFinish},
		} {
			var want []string
			for _, i := range c.want {
				want = append(want, n[i].ID)
			}
			c.opt.Visible = even
			got, hint := s.query(c.opt, c.filters...)
			require.Equal(t, want, ids(got), "%v", c.filters)
			require.Equal(t, c.hint, hint, "%v", c.filters)
		}
	},
	"count counts what is visible": func(t *testing.T, s *subject) {
		n := s.mixture()
		snap := s.snapshot()
		for _, filters := range [][]nostr.Filter{
			{{}},
			{{Kinds: []int{1}}},
			{{Authors: []string{Key(0)}}},
			{{Authors: []string{Key(0)}, Kinds: []int{1, 2}}},
			{{Tags: nostr.TagMap{"t": {"all"}}}},
			{{IDs: ids(n)}},
			{{Kinds: []int{1}}, {Tags: nostr.TagMap{"t": {"all"}}}},
		} {
			for limit, want := range map[int]int{0: 5, 4: 4, 5: 5, 6: 5} {
				got, exact, err := snap.Count(t.Context(), prepare(filters), limit, even)
				require.NoError(t, err)
				require.Equal(t, want, got, "%v", filters)
				require.Equal(t, limit != 4, exact, "%v", filters)
			}
			got, exact, err := snap.Count(t.Context(), prepare(filters), 1, func(*wire.Event) bool { return false })
			require.NoError(t, err)
			require.Zero(t, got)
			require.True(t, exact)
		}
		require.NoError(t, snap.Close())
	},
	"only what matches is asked about": func(t *testing.T, s *subject) {
		n := s.mixture()
		expired := expiring(1, "1700000010")
		s.put(expired, Draft{Key: 1, Kind: 1, At: start, Tags: nostr.Tags{{"t", "all"}}}.Event())
		s.pass(20)
		asked := make(map[string]bool)
		got, _ := s.query(store.QueryOptions{Visible: func(e *wire.Event) bool {
			asked[e.ID] = true
			return true
		}}, nostr.Filter{Authors: []string{Key(0)}, Tags: nostr.TagMap{"t": {"all", "brief"}}})
		require.Len(t, got, len(n))
		require.Len(t, asked, len(n))
	},
	"a sight that takes long holds up nobody": func(t *testing.T, s *subject) {
		s.mixture()
		for _, count := range []bool{false, true} {
			snap := s.snapshot()
			err := askSlowly(t, snap, count, func() {
				s.put(Draft{Kind: 1, At: start, Content: strconv.FormatBool(count)}.Event())
				s.query(store.QueryOptions{}, nostr.Filter{})
				s.sweep()
			})
			require.NoError(t, err)
			require.NoError(t, snap.Close())
		}
	},
	"a snapshot can end while a sight takes long": func(t *testing.T, s *subject) {
		s.mixture()
		for _, count := range []bool{false, true} {
			snap := s.snapshot()
			if err := askSlowly(t, snap, count, func() { require.NoError(t, snap.Close()) }); err != nil {
				require.ErrorIs(t, err, store.ErrClosed)
			}
		}
		snap := s.snapshot()
		if err := askSlowly(t, snap, true, func() { require.NoError(t, s.Close()) }); err != nil {
			require.ErrorIs(t, err, store.ErrClosed)
		}
		require.NoError(t, snap.Close())
	},
	"ids by their beginning": func(t *testing.T, s *subject) {
		const begin = "abcdef01"
		low := named(begin+strings.Repeat("0", 56), 1)
		middle := named(begin+"02"+strings.Repeat("f", 54), 3)
		high := named(begin+strings.Repeat("f", 56), 2)
		last := named(strings.Repeat("f", 64), 4)
		gone := named(begin+"03"+strings.Repeat("0", 54), 5)
		s.put(high, low, middle, last, gone, named("abcdef02"+strings.Repeat("0", 56), 6))
		s.put(named("abcdef00"+strings.Repeat("f", 56), 7))
		s.ban(gone)
		s.write(store.Write{Ban: []string{begin + strings.Repeat("1", 56)}})
		for _, c := range []struct {
			prefix string
			limit  int
			want   []*wire.Event
		}{
			{begin, 9, []*wire.Event{low, middle, high}},
			{begin, 2, []*wire.Event{low, middle}},
			{begin, 0, nil},
			{begin + "02", 9, []*wire.Event{middle}},
			{begin + "0", 9, nil},
			{low.ID, 9, []*wire.Event{low}},
			{low.ID + "00", 9, nil},
			{"ffffffff", 9, []*wire.Event{last}},
			{"ABCDEF01", 9, nil},
			{"abcdef0g", 9, nil},
			{"abcdef", 9, nil},
			{"", 9, nil},
		} {
			require.Equal(t, ids(c.want), s.prefixed(c.prefix, c.limit), c.prefix)
		}
	},
	"ids by their beginning, of the snapshot's moment": func(t *testing.T, s *subject) {
		early, late := expiring(1, "1700000010"), notes(0, 1)[0]
		s.put(early)
		snap := s.snapshot()
		s.put(late)
		s.pass(20)
		require.Equal(t, []string{early.ID}, s.prefixed(early.ID[:8], 9), "the sweep has not come")
		s.sweep()
		records, err := snap.Prefixed(t.Context(), early.ID[:8], 9)
		require.NoError(t, err)
		require.Equal(t, store.Position(1), records[0].Position)
		require.Equal(t, string(early.Raw()), string(records[0].Event.Raw()))
		records, err = snap.Prefixed(t.Context(), late.ID[:8], 9)
		require.NoError(t, err)
		require.Empty(t, records)
		require.NoError(t, snap.Close())
		require.Empty(t, s.prefixed(early.ID[:8], 9))
		_, err = snap.Prefixed(t.Context(), late.ID[:8], 9)
		require.ErrorIs(t, err, store.ErrClosed)
	},
}

// mixture stores nine notes, of which even says that every other one is visible.
func (s *subject) mixture() []*wire.Event {
	var n []*wire.Event
	for i := range 9 {
		tags := nostr.Tags{{"t", "all"}}
		n = append(n, Draft{Kind: 1, At: start + int64(i), Tags: tags, Content: strconv.Itoa(i)}.Event())
	}
	s.put(n...)
	return n
}

// askSlowly asks for everything, and runs during while the sight is asked about the
// first event.
func askSlowly(t *testing.T, snap store.Snapshot, count bool, during func()) (err error) {
	t.Helper()
	reached, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	visible := func(*wire.Event) bool {
		once.Do(func() { close(reached); <-release })
		return true
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if count {
			_, _, err = snap.Count(t.Context(), prepare([]nostr.Filter{{}}), 0, visible)
			return
		}
		var rows store.Rows
		if rows, err = snap.Query(t.Context(), prepare([]nostr.Filter{{}}), store.QueryOptions{Visible: visible}); err == nil {
			_, err = rows.Next(t.Context(), nil, 5)
		}
	}()
	select {
	case <-reached:
	case <-ended:
		require.Fail(t, "the sight was not asked")
	}
	during()
	close(release)
	<-ended
	return err
}

func even(e *wire.Event) bool { return e.CreatedAt%2 == 0 }

// named makes an event with an id that it does not have by right.
func named(id string, at int64) *wire.Event {
	e := Draft{Kind: 1, At: at}.Event().Event
	e.ID = id
	return wire.NewEvent(e)
}

func (s *subject) prefixed(prefix string, limit int) []string {
	s.t.Helper()
	snap := s.snapshot()
	records, err := snap.Prefixed(s.t.Context(), prefix, limit)
	require.NoError(s.t, err)
	require.NoError(s.t, snap.Close())
	events := make([]*wire.Event, len(records))
	for i, r := range records {
		require.NotZero(s.t, r.Position)
		events[i] = r.Event
	}
	return ids(events)
}
