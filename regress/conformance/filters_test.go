package conformance_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// FIELD_REPORTS 11.
func TestTagFiltersMatchExactlyStoredLiveAndCounted(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	topic := random()
	rows := []struct {
		name, filter string
		tags         nostr.Tags
		match        bool
	}{
		{"one of several values", `"#x":["a","b"]`, nostr.Tags{{"x", "b"}}, true},
		{"one of several tags", `"#x":["b"]`, nostr.Tags{{"x", "a"}, {"x", "b"}}, true},
		{"both names", `"#x":["a"],"#y":["b"]`, nostr.Tags{{"x", "a"}, {"y", "b"}}, true},
		{"one name of two", `"#x":["a"],"#y":["b"]`, nostr.Tags{{"x", "a"}}, false},
		{"values under the other name", `"#x":["a"],"#y":["b"]`, nostr.Tags{{"x", "b"}, {"y", "a"}}, false},
		{"an upper-case name", `"#X":["a"]`, nostr.Tags{{"x", "a"}}, false},
		{"a lower-case name", `"#x":["a"]`, nostr.Tags{{"X", "a"}}, false},
		{"upper and lower case", `"#x":["a"],"#X":["b"]`, nostr.Tags{{"x", "a"}, {"X", "b"}}, true},
		{"the empty value", `"#x":[""]`, nostr.Tags{{"x", ""}}, true},
		{"a tag without value", `"#x":[""]`, nostr.Tags{{"x"}}, false},
		{"the empty value and another", `"#x":[""]`, nostr.Tags{{"x", "a"}}, false},
		{"only the first value", `"#x":["b"]`, nostr.Tags{{"x", "a", "b"}}, false},
		{"case of a value", `"#x":["A"]`, nostr.Tags{{"x", "a"}}, false},
		{"part of a value", `"#x":["a"]`, nostr.Tags{{"x", "ab"}}, false},
		{"a blank at the end", `"#x":["a "]`, nostr.Tags{{"x", "a"}}, false},
		{"what looks like hex", `"#x":["00FF"]`, nostr.Tags{{"x", "00FF"}}, true},
		{"hex in another case", `"#x":["00ff"]`, nostr.Tags{{"x", "00FF"}}, false},
		{"an address", `"#a":["30023:X:d:e"]`, nostr.Tags{{"a", "30023:X:d:e"}}, true},
		{"a URL as it is", `"#r":["https://a.b/"]`, nostr.Tags{{"r", "https://a.b"}}, false},
		{"composed and decomposed", `"#x":["é"]`, nostr.Tags{{"x", "e\u0301"}}, false},
		{"quotes and backslashes", `"#x":["\"\\"]`, nostr.Tags{{"x", `"\`}}, true},
		{"an escape in the filter", `"#x":["\u0061"]`, nostr.Tags{{"x", "a"}}, true},
		{"a separator inside", `"#x":["a\u0000b"]`, nostr.Tags{{"x", "a\x00b"}}, true},
		{"a long value", `"#x":["` + strings.Repeat("v", 4000) + `"]`, nostr.Tags{{"x", strings.Repeat("v", 4000)}}, true},
		{"a prefix of a long value", `"#x":["` + strings.Repeat("v", 3999) + `"]`, nostr.Tags{{"x", strings.Repeat("v", 4000)}}, false},
		{"an empty list", `"#x":[]`, nostr.Tags{{"x", "a"}}, false},
		{"a letter of a longer name", `"#x":["a"]`, nostr.Tags{{"xx", "a"}}, false},
	}
	for _, row := range rows {
		filter := `{"#t":["` + topic + `"],` + row.filter + `}`
		topic2 := append(slices.Clone(row.tags), nostr.Tag{"t", topic})
		e := signed(p.secret, 1, nostr.Now(), random(), topic2...)
		p.req("live", filter)
		p.stored("live")
		p.store(e)
		live := idsOf(eventsOf("live", p.passed()))
		p.end("live")
		require.Equal(t, row.match, slices.Contains(live, e.ID), "live: %s", row.name)
		require.Equal(t, row.match, slices.Contains(p.ids(filter), e.ID), "stored: %s", row.name)
		require.Equal(t, row.match, p.count(`{"ids":["`+e.ID+`"],`+row.filter+`}`).Count == 1, "count: %s", row.name)
	}
}

// FIELD_REPORTS 12.
func TestTagsComeBackAsTheyCame(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	topic := random()
	for name, tags := range map[string]nostr.Tags{
		"none":        {},
		"single":      {{"-x"}},
		"empty parts": {{""}, {"", ""}, {"x", "", "y", ""}},
		"order":       {{"b", "2"}, {"a", "1"}, {"b", "2"}, {"a", "0"}},
		"characters":  {{"x", "\"\\/\b\f\n\r\t\x00\x01\x1f\x7f", "é𝄞\u2028\u2029\ufeff", "</script>&<>"}},
		"many":        slices.Repeat(nostr.Tags{{"x", "y"}}, 1000),
		"long":        {{"x", strings.Repeat("é", 4000)}},
		"wide":        {slices.Repeat(nostr.Tag{"x"}, 1000)},
	} {
		e := signed(p.secret, 1, nostr.Now(), topic, tags...)
		p.req("live", `{"ids":["`+e.ID+`"]}`)
		p.stored("live")
		p.store(e)
		frames := append(p.passed(), storedFrame(p, e.ID))
		p.end("live")
		require.Len(t, frames, 2, name)
		for _, f := range frames {
			require.Contains(t, f.raw, string(e.Raw()), name)
			require.NoError(t, f.Event.Verify(), name)
			var elements []json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(f.raw), &elements))
			var event struct{ Tags nostr.Tags }
			require.NoError(t, json.Unmarshal(elements[2], &event))
			require.Equal(t, tags, event.Tags, name)
		}
		if name == "none" {
			require.Contains(t, frames[0].raw, `"tags":[]`)
		}
	}
}

func storedFrame(p *peer, id string) frame {
	p.t.Helper()
	p.req("stored", `{"ids":["`+id+`"]}`)
	frames := p.until("EOSE", func(f frame) bool { return f.Sub == "stored" && f.Verb != "EVENT" })
	p.end("stored")
	require.Len(p.t, frames, 2)
	return frames[0]
}

// FIELD_REPORTS 13.
func TestFilterOfManyValuesIsServedWholeOrRefused(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	topic := random()
	var authors, ids []string
	var kinds []int
	for i := range 1000 {
		authors, ids, kinds = append(authors, random()+random()+random()+random()), append(ids, random()+random()+random()+random()), append(kinds, i+2)
	}
	e := p.note(topic, nostr.Now())
	p.store(e)
	for name, filter := range map[string]string{
		"authors":    on(topic, `"authors":`+list(append(authors, public(p.secret)))),
		"ids":        `{"ids":` + list(append(ids, e.ID)) + `}`,
		"kinds":      on(topic, `"kinds":`+list(append(kinds, 1))),
		"tag values": `{"#t":` + list(append(ids, topic)) + `}`,
	} {
		events, end := p.query(filter)
		if end.Verb == "CLOSED" {
			requirePrefix(t, end)
			continue
		}
		require.Equal(t, []string{e.ID}, idsOf(events), "the last of 1,001 %s", name)
	}
}

func list(values any) string {
	b, err := json.Marshal(values)
	if err != nil {
		panic(err) // lists of strings and numbers always marshal
	}
	return string(b)
}

// FIELD_REPORTS 13.
func TestEmptyListsMatchNothingAndNoFieldsMatchAll(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	e := p.note(random(), nostr.Now())
	p.store(e)
	for _, filter := range []string{
		`{"ids":[]}`, `{"authors":[]}`, `{"kinds":[]}`, `{"#t":[]}`, `{"ids":["` + e.ID + `"],"kinds":[]}`,
	} {
		require.Empty(t, p.ids(filter), filter)
		require.Zero(t, p.count(filter).Count, filter)
		p.req("live", filter)
		p.stored("live")
		p.publish(p.note(random(), nostr.Now()))
		require.Empty(t, p.passed(), filter)
		p.end("live")
	}
	events, end := p.query(`{}`, `{"ids":[]}`)
	require.Equal(t, "EOSE", end.Verb)
	require.NotEmpty(t, events)
	require.NotZero(t, p.count(`{}`).Count)
	p.req("live", `{}`)
	p.stored("live")
	live := p.note(random(), nostr.Now())
	p.publish(live)
	require.Contains(t, idsOf(eventsOf("live", p.passed())), live.ID)
}

// FIELD_REPORTS 13, NIP-67. The relay serves 5 a filter, 3 by default, 8 a REQ.
func TestLimitIsClampedAndEOSESaysMore(t *testing.T) {
	t.Parallel()
	p := target(t, "SUBSCRIPTIONS_MAX_LIMIT=5", "SUBSCRIPTIONS_DEFAULT_LIMIT=3", "SUBSCRIPTIONS_MAX_TOTAL=8", "SUBSCRIPTIONS_MAX_COUNT=6").dial(t)
	a, b, few := random(), random(), random()
	p.store(append(p.notes(a, 7), p.notes(b, 7)...)...)
	p.store(p.notes(few, 2)...)
	rows := []struct {
		filters []string
		n       int
		hint    string
	}{
		{[]string{on(a)}, 3, "more"},
		{[]string{on(a, `"limit":2`)}, 2, "more"},
		{[]string{on(a, `"limit":0`)}, 0, ""},
		{[]string{on(a, `"limit":6`)}, 5, "more"},
		{[]string{on(a, `"limit":9223372036854775807`)}, 5, "more"},
		{[]string{on(few)}, 2, "finish"},
		{[]string{on(few, `"limit":2`)}, 2, "finish"},
		{[]string{on(few, `"limit":1`)}, 1, "more"},
		{[]string{on(random())}, 0, "finish"},
		{[]string{on(a, `"limit":5`), on(b, `"limit":5`)}, 8, "more"},
		{[]string{on(few), on(random())}, 2, "finish"},
		{[]string{on(few), on(a, `"limit":1`)}, 3, "more"},
	}
	for _, row := range rows {
		events, end := p.query(row.filters...)
		require.Len(t, events, row.n, "%v", row.filters)
		require.Equal(t, row.hint, strings.Join(end.Hints, " "), "%v: %s", row.filters, end.raw)
	}
	require.Equal(t, 2, p.count(on(few)).Count)
	require.NotContains(t, p.count(on(few)).raw, "approximate")
	f := p.count(on(a, `"limit":1`))
	require.True(t, f.Approximate && f.Count == 6, "a lower bound is marked as one, and limit does not count: %s", f.raw)
}

// FIELD_REPORTS 14.
func TestStoredEventsComeNewestFirstAndTiesByID(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	topic, now := random(), nostr.Now()
	var all []*wire.Event
	for i := range 30 {
		all = append(all, p.note(topic, now-nostr.Timestamp(i/10)))
	}
	p.store(all...)
	slices.SortFunc(all, func(a, b *wire.Event) int {
		if a.CreatedAt != b.CreatedAt {
			return int(b.CreatedAt - a.CreatedAt)
		}
		return strings.Compare(a.ID, b.ID)
	})
	require.Equal(t, idsOf(all), p.ids(on(topic)))
	for _, limit := range []int{1, 5, 10, 13, 29} {
		require.Equal(t, idsOf(all[:limit]), p.ids(on(topic, `"limit":`+strconv.Itoa(limit))), "limit %d", limit)
	}
	at := func(n int) nostr.Timestamp { return now - nostr.Timestamp(n) }
	for bounds, want := range map[string][]*wire.Event{
		fmt.Sprintf(`"since":%d`, at(1)):                    all[:20],
		fmt.Sprintf(`"until":%d`, at(1)):                    all[10:],
		fmt.Sprintf(`"since":%d,"until":%d`, at(1), at(1)):  all[10:20],
		fmt.Sprintf(`"since":%d,"until":%d`, at(1), at(2)):  nil,
		fmt.Sprintf(`"since":%d`, now+1):                    nil,
		`"since":0`:                                         all,
		`"until":9223372036854775807`:                       all,
		fmt.Sprintf(`"until":%d,"limit":5`, at(2)):          all[20:25],
		fmt.Sprintf(`"kinds":[1],"since":%d`, at(0)):        all[:10],
		`"authors":["` + public(p.secret) + `"],"limit":12`: all[:12],
	} {
		require.Equal(t, idsOf(want), p.ids(on(topic, bounds)), bounds)
	}
	require.Equal(t, 20, p.count(on(topic, fmt.Sprintf(`"since":%d`, at(1)))).Count)
}

// FIELD_REPORTS 14: pages that overlap in one second lose nothing.
func TestPagesLoseNothing(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	topic, now := random(), nostr.Now()
	seen, want := map[string]bool{}, 0
	for i := range 60 {
		p.store(p.note(topic, now-nostr.Timestamp(i/4)))
		want++
	}
	until := now
	for range want {
		events, _ := p.query(on(topic, fmt.Sprintf(`"until":%d,"limit":10`, until)))
		fresh := 0
		for _, e := range events {
			if !seen[e.ID] {
				seen[e.ID] = true
				fresh++
			}
			until = e.CreatedAt
		}
		if fresh == 0 {
			break
		}
	}
	require.Len(t, seen, want)
}

// FIELD_REPORTS 14: since and until hold live too.
func TestTimeBoundsHoldLive(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	topic, now := random(), nostr.Now()
	p.req("live", on(topic, fmt.Sprintf(`"since":%d,"until":%d`, now-5, now)))
	p.stored("live")
	var want []string
	for _, at := range []nostr.Timestamp{now - 6, now - 5, now - 1, now, now + 1} {
		e := p.note(topic, at)
		p.store(e)
		if at >= now-5 && at <= now {
			want = append(want, e.ID)
		}
	}
	require.Equal(t, want, idsOf(eventsOf("live", p.passed())))
}
