package index_test

import (
	"strconv"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"fencepost/lifecycle"
	"fencepost/registry/index"
	"fencepost/relay/wire"
)

// The slow obvious way: ask every handle. Everyone that matches must be a
// candidate, and everyone that is one must share its chosen key with the event.
func TestCandidatesAgreeWithALinearMatcher(t *testing.T) {
	t.Parallel()
	rapid.Check(t, checkAgainstLinear)
}

func FuzzCandidatesAgreeWithALinearMatcher(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(checkAgainstLinear))
}

func checkAgainstLinear(rt *rapid.T) {
	x := index.New()
	c := newConn(rt)
	var handles []*lifecycle.Handle
	for i := range rapid.IntRange(0, 30).Draw(rt, "handles") {
		h := reserve(rt, c, strconv.Itoa(i), rapid.SliceOfN(filters(), 1, 4).Draw(rt, "filters")...)
		x.Add(h)
		handles = append(handles, h)
	}
	for range rapid.IntRange(0, len(handles)).Draw(rt, "removed") {
		i := rapid.IntRange(0, len(handles)-1).Draw(rt, "victim")
		require.True(rt, x.Remove(handles[i]))
		handles = append(handles[:i], handles[i+1:]...)
	}
	require.Equal(rt, len(handles), x.Len())
	for range 5 {
		compare(rt, x, handles, events().Draw(rt, "event"))
	}
	for _, h := range handles {
		x.Remove(h)
	}
	require.Zero(rt, x.Buckets())
}

func compare(rt *rapid.T, x *index.Index, handles []*lifecycle.Handle, ev *wire.Event) {
	candidates := map[*lifecycle.Handle]bool{}
	for _, h := range x.Candidates(nil, ev) {
		require.False(rt, candidates[h], "candidate twice")
		candidates[h] = true
	}
	for _, h := range handles {
		if wire.MatchesAny(h.Filters(), ev) {
			require.True(rt, candidates[h], "%v matches %s", h.Filters(), ev.Raw())
		}
		require.Equal(rt, sharesChosenKey(h, ev), candidates[h], "%v, %s", h.Filters(), ev.Raw())
		delete(candidates, h)
	}
	require.Empty(rt, candidates, "a removed handle is a candidate")
}

// sharesChosenKey says the same as the index in other words: the condition on a
// filter's chosen field, alone, must match.
func sharesChosenKey(h *lifecycle.Handle, ev *wire.Event) bool {
	for _, f := range h.Filters() {
		if !hasEmptyList(f) && wire.NewFilter(chosen(f)).Matches(ev) {
			return true
		}
	}
	return false
}

func hasEmptyList(f *wire.Filter) bool {
	none := f.IDs != nil && len(f.IDs) == 0 || f.Authors != nil && len(f.Authors) == 0 || f.Kinds != nil && len(f.Kinds) == 0
	for _, values := range f.Tags {
		none = none || len(values) == 0
	}
	return none
}

func chosen(f *wire.Filter) nostr.Filter {
	if f.IDs != nil {
		return nostr.Filter{IDs: f.IDs}
	}
	for n := range 4 { // the generator makes lists of at most 3
		for _, name := range []string{"E", "d", "e"} { // in the order of bytes
			if values, ok := f.Tags[name]; ok && len(values) == n {
				return nostr.Filter{Tags: nostr.TagMap{name: values}}
			}
		}
	}
	if f.Authors != nil {
		return nostr.Filter{Authors: f.Authors}
	}
	return nostr.Filter{Kinds: f.Kinds}
}

func values() *rapid.Generator[string] { return rapid.SampledFrom([]string{"", "a", "b", "c", "d"}) }

func list[T any](of *rapid.Generator[T]) *rapid.Generator[[]T] {
	none := rapid.Just[[]T](nil)
	return rapid.OneOf(none, none, rapid.SliceOfN(of, 1, 3), rapid.SliceOfN(of, 0, 3))
}

func filters() *rapid.Generator[nostr.Filter] {
	return rapid.Custom(func(rt *rapid.T) nostr.Filter {
		f := nostr.Filter{
			IDs:     list(values()).Draw(rt, "ids"),
			Authors: list(values()).Draw(rt, "authors"),
			Kinds:   list(rapid.IntRange(0, 4)).Draw(rt, "kinds"),
		}
		for _, name := range []string{"e", "E", "d"} {
			if v := list(values()).Draw(rt, name); v != nil {
				if f.Tags == nil {
					f.Tags = nostr.TagMap{}
				}
				f.Tags[name] = v
			}
		}
		if rapid.Bool().Draw(rt, "timed") {
			since := nostr.Timestamp(rapid.Int64Range(0, 3).Draw(rt, "since"))
			f.Since = &since
		}
		return f
	})
}

func events() *rapid.Generator[*wire.Event] {
	return rapid.Custom(func(rt *rapid.T) *wire.Event {
		ev := nostr.Event{
			ID:        values().Draw(rt, "id"),
			PubKey:    values().Draw(rt, "author"),
			Kind:      rapid.IntRange(0, 4).Draw(rt, "kind"),
			CreatedAt: nostr.Timestamp(rapid.Int64Range(0, 3).Draw(rt, "created_at")),
		}
		for range rapid.IntRange(0, 6).Draw(rt, "tags") {
			tag := nostr.Tag{rapid.SampledFrom([]string{"e", "E", "d", "x"}).Draw(rt, "name")}
			ev.Tags = append(ev.Tags, append(tag, rapid.SliceOfN(values(), 0, 2).Draw(rt, "values")...))
		}
		return wire.NewEvent(ev)
	})
}
