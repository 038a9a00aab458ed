package conformance_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// FIELD_REPORTS 15.
func TestLowestIDWinsATieInEveryOrderOfArrival(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	now := nostr.Now()
	for name, address := range map[string]struct {
		kind int
		tags nostr.Tags
	}{
		"metadata":    {0, nil},
		"contacts":    {3, nil},
		"replaceable": {10002, nil},
		"addressable": {30023, nostr.Tags{{"d", "x"}}},
	} {
		for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {2, 0, 1}} {
			author := nostr.GeneratePrivateKey()
			var tied []*wire.Event
			for range order {
				tied = append(tied, signed(author, address.kind, now, random(), address.tags...))
			}
			slices.SortFunc(tied, func(a, b *wire.Event) int { return strings.Compare(a.ID, b.ID) })
			filter := `{"authors":["` + public(author) + `"]}`
			var burst []string
			for _, i := range order {
				burst = append(burst, string(wire.AppendEventMessage(nil, tied[i])))
			}
			p.send(burst...) // together, so that they may share a commit
			for range order {
				f := p.answer("OK", func(f frame) bool { return f.Verb == "OK" })
				require.True(t, f.OK || prefixOf(f) == "duplicate", f.raw)
			}
			require.Equal(t, []string{tied[0].ID}, p.ids(filter), "%s, order %v", name, order)
			older := signed(author, address.kind, now-1, random(), address.tags...)
			require.False(t, p.publish(older).OK, name)
			require.Equal(t, []string{tied[0].ID}, p.ids(filter), "an older one replaces nothing")
			newer := signed(author, address.kind, now+1, random(), address.tags...)
			p.store(newer)
			require.Equal(t, []string{newer.ID}, p.ids(filter))
			require.Equal(t, 1, p.count(filter).Count)
			require.Empty(t, p.ids(`{"ids":["`+tied[0].ID+`"]}`), "what was replaced is gone by id too")
		}
	}
}

// FIELD_REPORTS 15.
func TestOnlyTheFirstDCounts(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	now := nostr.Now()
	tags := map[string][]nostr.Tags{
		"":                        {{}, {{"d"}}, {{"d", ""}}, {{"d", "", "x"}}, {{"D", "x"}}, {{"d", ""}, {"d", "x"}}},
		"x":                       {{{"d", "x"}}, {{"d", "x", "y"}}, {{"d", "x"}, {"d", "y"}}, {{"a", "y"}, {"d", "x"}}},
		"X":                       {{{"d", "X"}}},
		"x ":                      {{{"d", "x "}}},
		"a:b:c":                   {{{"d", "a:b:c"}}},
		"\x00é𝄞":                  {{{"d", "\x00é𝄞"}}},
		strings.Repeat("d", 1000): {{{"d", strings.Repeat("d", 1000)}}},
	}
	author := nostr.GeneratePrivateKey()
	newest := map[string]string{}
	for d, variants := range tags {
		for i, v := range variants {
			e := signed(author, 30078, now+nostr.Timestamp(i), random(), v...)
			p.store(e)
			newest[d] = e.ID
		}
	}
	var want []string
	for _, id := range newest {
		want = append(want, id)
	}
	require.ElementsMatch(t, want, p.ids(`{"kinds":[30078],"authors":["`+public(author)+`"]}`))
	other := signed(author, 30079, now-1, random(), nostr.Tag{"d", "x"})
	p.store(other, signed(nostr.GeneratePrivateKey(), 30078, now+9, random(), nostr.Tag{"d", "x"}))
	require.Len(t, p.ids(`{"authors":["`+public(author)+`"]}`), len(want)+1, "other kinds and authors are other addresses")
	ignored := signed(author, 10078, now, random(), nostr.Tag{"d", "x"})
	p.store(ignored, signed(author, 10078, now+1, random(), nostr.Tag{"d", "y"}))
	require.Empty(t, p.ids(`{"ids":["`+ignored.ID+`"]}`), "d says nothing in a replaceable kind")
}

// FIELD_REPORTS 9: ephemeral events reach who is there, and nobody later.
func TestEphemeralEventIsLiveOnly(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	for _, kind := range []int{20000, 20001, 29999} {
		topic := random()
		e := signed(p.secret, kind, nostr.Now(), random(), nostr.Tag{"t", topic})
		p.req("live", on(topic))
		p.stored("live")
		p.store(e)
		require.Equal(t, []string{e.ID}, idsOf(eventsOf("live", p.passed())))
		p.end("live")
		require.Empty(t, p.ids(on(topic)))
		require.Zero(t, p.count(on(topic)).Count)
	}
}

// FIELD_REPORTS 16. In a request ID, SELF and D stand for what is to be deleted.
func TestDeletionHoldsByIDAndByAddress(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	rows := []struct {
		name     string
		kind     int
		d        string // of an addressable event
		tags     nostr.Tags
		later    nostr.Timestamp // of the request
		stranger bool            // asks
		gone     bool
	}{
		{name: "by id", kind: 1, tags: nostr.Tags{{"e", "ID"}}, gone: true},
		{name: "by id of an older request", kind: 1, tags: nostr.Tags{{"e", "ID"}}, later: -9, gone: true},
		{name: "by id among others", kind: 1, tags: nostr.Tags{{"e"}, {"e", "x"}, {"k", "1"}, {"e", "ID", "wss://x"}}, gone: true},
		{name: "by id of a stranger", kind: 1, tags: nostr.Tags{{"e", "ID"}}, stranger: true},
		{name: "by id in an E tag", kind: 1, tags: nostr.Tags{{"E", "ID"}}},
		{name: "by id of an addressable", kind: 30023, d: "x", tags: nostr.Tags{{"e", "ID"}}, gone: true},
		{name: "by address", kind: 30023, d: "x", tags: nostr.Tags{{"a", "30023:SELF:D"}}, gone: true},
		{name: "by address of a later request", kind: 30023, d: "x", tags: nostr.Tags{{"a", "30023:SELF:D"}}, later: 5, gone: true},
		{name: "by address with colons", kind: 30023, d: "a:b::c", tags: nostr.Tags{{"a", "30023:SELF:D"}}, gone: true},
		{name: "by address with an empty d", kind: 30023, tags: nostr.Tags{{"a", "30023:SELF:"}}, gone: true},
		{name: "by address of a replaceable kind", kind: 10002, tags: nostr.Tags{{"a", "10002:SELF:"}}, gone: true},
		{name: "by address of metadata", kind: 0, tags: nostr.Tags{{"a", "0:SELF:"}}, gone: true},
		{name: "by address of another d", kind: 30023, d: "x", tags: nostr.Tags{{"a", "30023:SELF:y"}}},
		{name: "by address of another kind", kind: 30023, d: "x", tags: nostr.Tags{{"a", "30024:SELF:D"}}},
		{name: "by a prefix of the address", kind: 30023, d: "x:y", tags: nostr.Tags{{"a", "30023:SELF:x"}}},
		{name: "by address of an older request", kind: 30023, d: "x", tags: nostr.Tags{{"a", "30023:SELF:D"}}, later: -1},
		{name: "by address of a stranger", kind: 30023, d: "x", tags: nostr.Tags{{"a", "30023:SELF:D"}}, stranger: true},
	}
	for _, early := range []bool{false, true} {
		for _, row := range rows {
			name := fmt.Sprintf("%s, request first: %v", row.name, early)
			author, now := nostr.GeneratePrivateKey(), nostr.Now()
			e := signed(author, row.kind, now, random(), nostr.Tag{"d", row.d})
			asks := author
			if row.stranger {
				asks = nostr.GeneratePrivateKey()
			}
			named := strings.NewReplacer("ID", e.ID, "SELF", public(author), "D", row.d)
			var tags nostr.Tags
			for _, tag := range row.tags {
				tag = slices.Clone(tag)
				for i := range tag {
					tag[i] = named.Replace(tag[i])
				}
				tags = append(tags, tag)
			}
			request := signed(asks, 5, now+row.later, "", tags...)
			byID := `{"ids":["` + e.ID + `"]}`
			if early {
				p.store(request)
				require.Equal(t, !row.gone, p.publish(e).OK, name)
			} else {
				p.store(e, request)
			}
			require.Equal(t, row.gone, len(p.ids(byID)) == 0, name)
			require.Equal(t, row.gone, p.count(byID).Count == 0, name)
			if row.gone {
				requireOK(t, p.publish(e), e.ID, false, "blocked", name+", sent again")
			}
			require.Len(t, p.ids(`{"ids":["`+request.ID+`"]}`), 1, "the request is served: %s", name)
		}
	}
}

// FIELD_REPORTS 16.
func TestDeletionOfADeletionAndOfGiftWraps(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	author, recipient, now := nostr.GeneratePrivateKey(), nostr.GeneratePrivateKey(), nostr.Now()
	e := signed(author, 1, now, random())
	request := signed(author, 5, now, "", nostr.Tag{"e", e.ID})
	undo := signed(author, 5, now+1, "", nostr.Tag{"e", request.ID})
	p.store(e, request, undo)
	require.Empty(t, p.ids(`{"ids":["`+e.ID+`"]}`))
	require.Len(t, p.ids(`{"ids":["`+request.ID+`"]}`), 1)
	require.False(t, p.publish(e).OK, "it stays deleted")

	wrap := signed(nostr.GeneratePrivateKey(), 1059, now, random(), nostr.Tag{"p", public(recipient)})
	note := signed(author, 1, now, random(), nostr.Tag{"p", public(recipient)})
	p.store(wrap, note)
	require.True(t, p.authenticate(recipient).OK)
	p.store(signed(nostr.GeneratePrivateKey(), 5, now, "", nostr.Tag{"e", wrap.ID}))
	require.Len(t, p.ids(`{"ids":["`+wrap.ID+`"]}`), 1, "a stranger deletes no gift wrap")
	p.store(signed(recipient, 5, now, "", nostr.Tag{"e", wrap.ID}, nostr.Tag{"e", note.ID}))
	require.Empty(t, p.ids(`{"ids":["`+wrap.ID+`"]}`), "a recipient deletes its gift wrap")
	require.Len(t, p.ids(`{"ids":["`+note.ID+`"]}`), 1, "and nothing else")
}

// FIELD_REPORTS 17.
func TestEveryExpirationHasADefinedAnswer(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	now := time.Now().Unix()
	rows := map[string]bool{ // is the event accepted, and then served
		"0": false, "1": false, strconv.FormatInt(now-1, 10): false, strconv.FormatInt(now-1e6, 10): false, "0000000001": false,
		strconv.FormatInt(now+1000, 10):  true,
		strconv.FormatInt(now*1000, 10):  true, // milliseconds: the far future
		"4294967296":                     true,
		"253402300800":                   true,
		"9223372036854775807":            true,
		"9223372036854775808":            true,
		"99999999999999999999999999":     true,
		"":                               false,
		"soon":                           false,
		"-1":                             false,
		"+1":                             false,
		"1.5":                            false,
		"1e12":                           false,
		" 99999999999":                   false,
		"٣":                              false,
		"0x7fffffffffff":                 false,
		strconv.FormatInt(now, 10) + "s": false,
	}
	for value, accepted := range rows {
		e := signed(p.secret, 1, nostr.Now(), random(), nostr.Tag{"expiration", value})
		f := p.publish(e)
		require.Equal(t, accepted, f.OK, "%q: %s", value, f.raw)
		require.Equal(t, accepted, f.Text == "", "%q: %s", value, f.raw)
		if !accepted {
			require.Equal(t, "invalid", prefixOf(f), "%q: %s", value, f.raw)
		}
		require.Equal(t, accepted, len(p.ids(`{"ids":["`+e.ID+`"]}`)) == 1, "%q", value)
	}
	for name, tags := range map[string]nostr.Tags{
		"another name":  {{"Expiration", "1"}},
		"second counts": {{"expiration", strconv.FormatInt(now+1000, 10)}, {"expiration", "1"}},
	} {
		require.True(t, p.publish(signed(p.secret, 1, nostr.Now(), random(), tags...)).OK, name)
	}
}

// FIELD_REPORTS 17: in every mode, and long before a sweep, which is every 10 s.
func TestExpiredEventIsNotServed(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	topic, author := random(), nostr.GeneratePrivateKey()
	var at int64
	var e *wire.Event
	var filters []string
	for lead := int64(2); time.Now().Unix() >= at; lead *= 2 { // it must be served before it expires
		at = time.Now().Unix() + lead
		e = signed(author, 30078, nostr.Now(), random(), nostr.Tag{"t", topic}, nostr.Tag{"d", topic}, nostr.Tag{"expiration", strconv.FormatInt(at, 10)})
		stored := p.publish(e).OK
		filters = []string{
			`{"ids":["` + e.ID + `"]}`, on(topic), `{"#d":["` + topic + `"]}`, `{"authors":["` + public(author) + `"]}`,
			`{"authors":["` + public(author) + `"],"kinds":[30078]}`, fmt.Sprintf(`{"kinds":[30078],"since":%d,"limit":500}`, e.CreatedAt),
		}
		for _, f := range filters {
			served := slices.Contains(p.ids(f), e.ID)
			require.True(t, stored && served || time.Now().Unix() >= at, f)
		}
	}
	eventually(t, "the event has expired", func() bool { return time.Now().Unix() >= at })
	for _, f := range filters {
		require.NotContains(t, p.ids(f), e.ID, f)
	}
	require.Zero(t, p.count(on(topic)).Count)
	f := p.publish(e)
	require.Contains(t, []string{"invalid", "duplicate"}, prefixOf(f), f.raw)
	require.Empty(t, p.ids(on(topic)))
}
