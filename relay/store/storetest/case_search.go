package storetest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// searchCases are for stores that search.
var searchCases = map[string]func(t *testing.T, s *subject){
	"all words must be there, in any case and order": searched(func(_ *testing.T, s *subject) {
		a, b := says(1, "Good fences make good neighbours"), says(2, "A good neighbour")
		title := Draft{Kind: 30023, At: 3, Tags: nostr.Tags{{"title", "On FENCES"}, {"d", "x"}}}.Event()
		s.put(a, b, title)
		s.answers(nostr.Filter{Search: "GOOD"}, a, b)
		s.answers(nostr.Filter{Search: "neighbours good"}, a)
		s.answers(nostr.Filter{Search: "fences"}, title, a)
		s.answers(nostr.Filter{Search: "fences nostr:none"}, title, a)
		s.answers(nostr.Filter{Search: "fence"})
		s.answers(nostr.Filter{Search: "?!"})
		s.answers(nostr.Filter{Search: "language:en"}, title, b, a)
	}),
	"the best come first, then the newest": searched(func(t *testing.T, s *subject) {
		long := says(9, "post and much else that is said about anything but fences or posts in the whole of this note")
		twice, once, newer := says(1, "post post"), says(2, "post it"), says(3, "post that")
		s.put(long, once, twice, newer)
		s.answers(nostr.Filter{Search: "post"}, twice, newer, once, long)
		got, hint := s.query(store.QueryOptions{}, nostr.Filter{Search: "post", Limit: 2})
		require.Equal(t, ids([]*wire.Event{twice, newer}), ids(got), "the limit comes after the order")
		require.Equal(t, wire.HintMore, hint)
		got, hint = s.query(store.QueryOptions{}, nostr.Filter{Search: "post", Limit: 4})
		require.Len(t, got, 4)
		require.Equal(t, wire.HintFinish, hint)
	}),
	"other conditions hold as well": searched(func(_ *testing.T, s *subject) {
		tagged := Draft{Key: 1, Kind: 7, At: 100, Content: "word", Tags: nostr.Tags{{"t", "a"}, {"t", "b"}, {"p", "x"}}}.Event()
		plain := Draft{Kind: 1, At: 200, Content: "word"}.Event()
		s.put(tagged, plain)
		for _, f := range []nostr.Filter{
			{Kinds: []int{7}},
			{Authors: []string{Key(1)}},
			{Until: ptr(150)},
			{IDs: []string{tagged.ID}},
			{Tags: nostr.TagMap{"t": {"b", "a"}}},
			{Tags: nostr.TagMap{"t": {"b"}, "p": {"x"}}},
			{Kinds: []int{7, 8}, Authors: []string{Key(1)}, Since: ptr(100), Tags: nostr.TagMap{"p": {"x", "y"}}},
		} {
			f.Search = "word"
			s.answers(f, tagged)
			f.Search = "other"
			s.answers(f)
		}
		s.answers(nostr.Filter{Search: "word", Since: ptr(150)}, plain)
		s.answers(nostr.Filter{Search: "word", Tags: nostr.TagMap{"t": {"c"}}})
		s.answers(nostr.Filter{Search: "word", Since: ptr(201)})
	}),
	"beside filters without a search": searched(func(t *testing.T, s *subject) {
		best, other, plain := says(1, "post"), says(2, "a post that says more"), says(3, "nothing")
		s.put(best, other, plain)
		filters := []nostr.Filter{{Search: "post"}, {Kinds: []int{1}}}
		got, hint := s.query(store.QueryOptions{}, filters...)
		require.Equal(t, ids([]*wire.Event{best, other, plain}), ids(got), "each once")
		require.Equal(t, wire.HintFinish, hint)
		got, hint = s.query(store.QueryOptions{MaxTotal: 2}, filters...)
		require.Equal(t, ids([]*wire.Event{best, other}), ids(got))
		require.Equal(t, wire.HintMore, hint)
		got, hint = s.query(store.QueryOptions{MaxTotal: 3}, filters...)
		require.Len(t, got, 3)
		require.Equal(t, wire.HintFinish, hint)
		got, hint = s.query(store.QueryOptions{}, nostr.Filter{Search: "post", Limit: 1}, nostr.Filter{Kinds: []int{1}, Limit: 2})
		require.Equal(t, ids([]*wire.Event{best, plain, other}), ids(got))
		require.Equal(t, wire.HintMore, hint)
		n, exact := s.count(0, nostr.Filter{Search: "post"}, nostr.Filter{Search: "nothing"}, nostr.Filter{Search: "post says"})
		require.Equal(t, 3, n)
		require.True(t, exact)
		got, _ = s.query(store.QueryOptions{}, nostr.Filter{Search: "post"}, nostr.Filter{Search: "says more"})
		require.Equal(t, ids([]*wire.Event{other, best}), ids(got), "the better score counts")
	}),
	"what is not visible is not found and tells nothing": searched(func(t *testing.T, s *subject) {
		hidden, shown := says(1, "post post"), says(2, "a post")
		s.put(hidden, shown)
		opt := store.QueryOptions{Visible: func(e *wire.Event) bool { return e.ID != hidden.ID }}
		got, hint := s.query(opt, nostr.Filter{Search: "post", Limit: 1})
		require.Equal(t, []string{shown.ID}, ids(got))
		require.Equal(t, wire.HintFinish, hint)
		snap := s.snapshot()
		n, exact, err := snap.Count(t.Context(), prepare([]nostr.Filter{{Search: "post"}}), 0, opt.Visible)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.True(t, exact)
		require.NoError(t, snap.Close())
	}),
	"what is gone is not found": searched(func(t *testing.T, s *subject) {
		deleted, brief := says(1, "word"), Draft{Kind: 1, At: 2, Content: "word", Tags: nostr.Tags{{"expiration", "1700000010"}}}.Event()
		older, newer := Draft{Kind: 0, At: 3, Content: "word"}.Event(), Draft{Kind: 0, At: 4, Content: "other"}.Event()
		s.put(deleted, brief, older)
		s.answers(nostr.Filter{Search: "word"}, older, brief, deleted)
		snap := s.snapshot()
		s.put(newer, Draft{Kind: 5, At: 5, Tags: nostr.Tags{{"e", deleted.ID}}}.Event())
		s.answers(nostr.Filter{Search: "word"}, brief)
		got, _ := ask(t, snap, store.QueryOptions{}, nostr.Filter{Search: "word"})
		require.Equal(t, ids([]*wire.Event{older, brief, deleted}), ids(got), "an older snapshot has them")
		require.NoError(t, snap.Close())
		s.pass(10)
		s.answers(nostr.Filter{Search: "word"})
		require.Equal(t, 1, s.sweep())
		s.answers(nostr.Filter{Search: "word"})
	}),
	"of very many matches the newest are looked at": searched(func(t *testing.T, s *subject) {
		var batch []*wire.Event
		for i := range 3000 {
			batch = append(batch, says(int64(10+i), "many "+strconv.Itoa(i)))
		}
		s.append(batch...)
		good := says(2900, "many many")
		s.put(good)
		got, hint := s.query(store.QueryOptions{}, nostr.Filter{Search: "many", Limit: 3})
		require.Equal(t, ids([]*wire.Event{good, batch[2999], batch[2998]}), ids(got))
		require.Equal(t, wire.HintMore, hint)
		got, hint = s.query(store.QueryOptions{}, nostr.Filter{Search: "many", Limit: 5000})
		require.Len(t, got, 3001)
		require.Equal(t, wire.HintFinish, hint)
		n, exact := s.count(0, nostr.Filter{Search: "many"})
		require.Equal(t, 3001, n)
		require.True(t, exact)
		n, exact = s.count(100, nostr.Filter{Search: "many"})
		require.Equal(t, 100, n)
		require.False(t, exact)
	}),
	"words of every length and script": searched(func(_ *testing.T, s *subject) {
		long := strings.Repeat("ü", 300)
		var text strings.Builder
		for i := range wire.MaxWords + 5 {
			text.WriteString(" w" + strconv.Itoa(i))
		}
		odd, large := says(1, "it's \x00 'quoted' \\ 東京 "+long+" 🚀"), says(2, text.String())
		s.put(odd, large)
		for _, search := range []string{"'", "quoted", "京", long, "🚀", "s", "東京 🚀 it"} {
			if search == "'" {
				s.answers(nostr.Filter{Search: search})
				continue
			}
			s.answers(nostr.Filter{Search: search}, odd)
		}
		s.answers(nostr.Filter{Search: "w" + strconv.Itoa(wire.MaxWords-1)}, large)
		s.answers(nostr.Filter{Search: "w" + strconv.Itoa(wire.MaxWords)})
	}),
}

// searched leaves out a store that does not search, as it says.
func searched(run func(t *testing.T, s *subject)) func(t *testing.T, s *subject) {
	return func(t *testing.T, s *subject) {
		if !s.Searches() {
			s.put(says(1, "one"), says(2, "two"))
			s.answers(nostr.Filter{Search: "two"}, says(2, "two"))
			return
		}
		run(t, s)
	}
}

func says(at int64, content string) *wire.Event {
	return Draft{Kind: 1, At: at, Content: content}.Event()
}
