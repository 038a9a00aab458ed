package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

func said(kind int, content string, tags ...nostr.Tag) *wire.Event {
	return wire.NewEvent(nostr.Event{Kind: kind, Content: content, Tags: tags})
}

func TestWordsOfAnEvent(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 40)
	for name, c := range map[string]struct {
		event *wire.Event
		want  []string
	}{
		"nothing":                        {said(1, " \t.,-!"), nil},
		"runs in lower case":             {said(1, "The QUICK fox, the fox_2 (3.5%)"), []string{"2", "3", "5", "fox", "quick", "the"}},
		"letters of every script":        {said(1, "Äpfel ΣΊΣΥΦΟΣ ЁЖ"), []string{"äpfel", "σίσυφοσ", "ёж"}},
		"marks stay with what is before": {said(1, "e\u0301a \u0301"), []string{"e\u0301a"}},
		"scripts without spaces":         {said(1, "東京tower"), []string{"tower", "京", "東"}},
		"symbols":                        {said(1, "go🚀❤\ufe0f+"), []string{"go", "❤", "🚀"}},
		"nothing that is not text":       {said(1, "a\x00b\u2028c"), []string{"a", "b", "c"}},
		"a long word is cut":             {said(1, long), []string{long[:64]}},
		"tags that are text":             {said(30023, "x", nostr.Tag{"title", "On fences"}, nostr.Tag{"t", "tag"}, nostr.Tag{"summary"}), []string{"fences", "on", "x"}},
		"what is encrypted has none":     {said(4, "secret?iv=abc"), nil},
		"gift wraps have none either":    {said(1059, "secret"), nil},
	} {
		require.Equal(t, c.want, slices.Clip(c.event.Words()), name)
	}
}

func TestWordsAreBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range wire.MaxWords + 10 {
		fmt.Fprintf(&text, "w%06d w%06d ", i, i)
	}
	e := said(1, text.String(), nostr.Tag{"title", "last"})
	require.Len(t, e.Words(), wire.MaxWords)
	first, beyond := searching("w000000"), searching(fmt.Sprintf("w%06d", wire.MaxWords))
	require.True(t, first.Matches(e))
	require.False(t, beyond.Matches(e), "live is what is stored")
	require.False(t, searching("last").Matches(e))
}

func TestSearchesAskForWords(t *testing.T) {
	t.Parallel()
	for search, want := range map[string][]string{
		"":                          nil,
		"   ":                       nil,
		"language:en include:spam":  nil,
		"Best NOSTR apps best":      {"apps", "best", "nostr"},
		"apps domain:example.com":   {"apps"},
		"https://example.com":       {"com", "example", "https"},
		"12:30":                     {"12", "30"},
		"c++":                       {"c"},
		"a: :b":                     {"a", "b"},
		"nsfw:false 東京":             {"京", "東"},
		"sentiment:\U0001f600 word": {"word"},
	} {
		f := searching(search)
		require.Equal(t, want, f.Words(), "%q", search)
		require.Equal(t, want != nil, f.Searches(), "%q", search)
	}
	nothing := searching("?!")
	require.True(t, nothing.Searches())
	require.Empty(t, nothing.Words())
	require.False(t, nothing.Matches(said(1, "?!")), "what is no word is nowhere")
	require.Zero(t, nothing.Score(said(1, "?!")))
	require.True(t, searching("language:en").Matches(said(1, "")), "extensions are ignored")
}

func TestSearchesMatchAllTheirWords(t *testing.T) {
	t.Parallel()
	e := said(1, "Good fences make good neighbours")
	for search, want := range map[string]bool{
		"good": true, "FENCES, neighbours": true, "fence": false, "good walls": false, "good good": true,
	} {
		f := searching(search)
		require.Equal(t, want, f.Matches(e), search)
		require.Equal(t, want, f.Matches(e), "the second time from memory")
	}
	require.False(t, wire.NewFilter(nostr.Filter{Kinds: []int{7}, Search: "good"}).Matches(e))
}

func TestScoresRiseWithOccurrencesAndFallWithLength(t *testing.T) {
	t.Parallel()
	f := searching("fence post")
	falling := []string{
		"fence fence post",
		"fence post",
		"fence post and nothing else",
		"fence post" + strings.Repeat(" and much else", 20),
	}
	last := 1.0
	for _, content := range falling {
		score := f.Score(said(1, content))
		require.Less(t, score, last, content)
		require.Positive(t, score)
		last = score
	}
	require.InDelta(t, 4.0/(21+16), f.Score(said(1, "post"+strings.Repeat(" fence", 20))), 1e-9, "three count")
	require.Zero(t, wire.NewFilter(nostr.Filter{}).Score(said(1, "x")))
}

func searching(search string) *wire.Filter { return wire.NewFilter(nostr.Filter{Search: search}) }

// A filter matches exactly the events whose words, which a store keeps, hold its own.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"", "a b", "ÄÖ-ü 東京", "\ufe0f❤\ufe0f", "K\u212a İI", "key:value x", strings.Repeat("ẞ", 100)} {
		f.Add(s, "b")
		f.Add("a b c", s)
	}
	f.Fuzz(func(t *testing.T, text, search string) {
		if !utf8.ValidString(text) || !utf8.ValidString(search) {
			return
		}
		e, filter := said(1, text), searching(search)
		words := e.Words()
		require.True(t, slices.IsSorted(words))
		for i, w := range words {
			require.LessOrEqual(t, len(w), 64)
			require.NotEmpty(t, w)
			require.True(t, utf8.ValidString(w))
			require.NotContains(t, w, "'")
			require.Len(t, strings.Fields(w), 1)
			require.True(t, i == 0 || words[i-1] != w)
		}
		want := filter.Searches() && len(filter.Words()) > 0
		for _, w := range filter.Words() {
			want = want && slices.Contains(words, w)
		}
		if filter.Searches() {
			require.Equal(t, want, filter.Matches(e))
			require.Equal(t, want, filter.Matches(e) && filter.Score(e) > 0)
		}
	})
}
