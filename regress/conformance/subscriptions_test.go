package conformance_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// on returns the filter of a topic, with further fields.
func on(topic string, more ...string) string {
	return `{"#t":["` + topic + `"]` + strings.Join(append([]string{""}, more...), ",") + `}`
}

// notes returns n notes on a topic, a second apart, the newest first.
func (p *peer) notes(topic string, n int) []*wire.Event {
	now := nostr.Now()
	events := make([]*wire.Event, n)
	for i := range events {
		events[i] = p.note(topic, now-nostr.Timestamp(i))
	}
	return events
}

func (p *peer) note(topic string, at nostr.Timestamp) *wire.Event {
	return signed(p.secret, 1, at, random(), nostr.Tag{"t", topic})
}

// about returns the frames that concern a subscription.
func about(id string, frames []frame) []frame {
	return without(frames, func(f frame) bool { return f.Sub != id || f.Verb == "COUNT" })
}

// FIELD_REPORTS 1.
func TestNewerREQOfAnIDEndsTheOlder(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	broad, narrow := random(), random()
	p.store(p.notes(broad, 300)...)
	p.store(p.notes(narrow, 1)...)
	rows := map[string][]string{
		"twice":              {on(broad), on(narrow)},
		"three times":        {on(broad), on(broad, `"limit":10`), on(narrow)},
		"to and fro":         {on(broad), on(random()), on(broad), on(narrow)},
		"after a closed one": {on(broad), "", on(narrow)},
		"after a refused":    {on(broad), `{"unknown":1}`, on(narrow)},
	}
	for name, filters := range rows {
		id := p.fresh("x")
		for _, f := range filters {
			if f == "" {
				p.end(id)
				continue
			}
			p.req(id, f)
		}
		newest := p.note(narrow, nostr.Now()+60)
		p.publish(newest)
		frames := p.until("the newest event", func(f frame) bool {
			return f.Sub == id && f.Verb == "EVENT" && f.Event.ID == newest.ID
		})
		p.publish(p.note(broad, nostr.Now()))
		frames = about(id, append(frames, p.passed()...))
		p.end(id)

		begun, ends := false, 0
		for _, f := range frames {
			if f.Verb == "EVENT" {
				topic, _ := f.Event.Tag("t")
				begun = begun || topic == narrow
				require.False(t, begun && topic == broad, "%s: a frame of the older one after one of the newer:\n%s", name, raws(frames))
			} else if begun {
				ends++
				require.Equal(t, "EOSE", f.Verb, name)
			}
		}
		require.Equal(t, 1, ends, "%s:\n%s", name, raws(frames))
		require.Len(t, without(frames, func(f frame) bool { return f.Event == nil || f.Event.ID != newest.ID }), 1, name)
	}
}

// FIELD_REPORTS 1, promise G5.
func TestRefusedREQEndsTheOlderOfItsID(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	topic := random()
	p.store(p.notes(topic, 100)...)
	for name, refused := range map[string]string{
		"unknown field": `{"unknown":1}`,
		"null":          `null`,
		"wrong type":    `{"kinds":"1"}`,
		"no filter":     "",
	} {
		id := p.fresh("x")
		p.req(id, on(topic))
		if refused == "" {
			p.send(message("REQ", id))
		} else {
			p.req(id, refused)
		}
		frames := about(id, p.until("CLOSED", func(f frame) bool { return f.Sub == id && f.Verb == "CLOSED" }))
		requirePrefix(t, frames[len(frames)-1])
		p.publish(p.note(topic, nostr.Now()))
		require.Empty(t, about(id, p.passed()), name)
	}
}

// FIELD_REPORTS 2.
func TestCLOSEOvertakesNothingAndIsNotAnswered(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	topic, other := random(), random()
	p.store(p.notes(topic, 200)...)
	open, shut := func(id string) string { return message("REQ", id, on(topic)) }, func(id string) string { return message("CLOSE", id) }
	rows := map[string]func(id string) []string{
		"REQ and CLOSE":       func(id string) []string { return []string{open(id), shut(id)} },
		"CLOSE twice":         func(id string) []string { return []string{open(id), shut(id), shut(id)} },
		"CLOSE of no one":     func(id string) []string { return []string{shut(id)} },
		"REQ, CLOSE, again":   func(id string) []string { return []string{open(id), shut(id), open(id), shut(id)} },
		"two REQs and CLOSE":  func(id string) []string { return []string{open(id), open(id), shut(id)} },
		"among other ids":     func(id string) []string { return []string{open(id), open(id + "b"), shut(id), shut(id + "b")} },
		"a REQ of another id": func(id string) []string { return []string{open(id), shut(id), message("REQ", other, on(other))} },
	}
	for name, burst := range rows {
		id := p.fresh("x")
		p.send(burst(id)...)
		before := p.settle()
		p.publish(p.note(topic, nostr.Now()))
		after := p.passed()
		require.Empty(t, without(after, func(f frame) bool { return !strings.HasPrefix(f.Sub, id) }), "%s: %s", name, raws(after))
		for _, f := range append(before, after...) {
			require.NotEqual(t, "CLOSED", f.Verb, "%s: %s", name, f.raw)
			require.NotEqual(t, "NOTICE", f.Verb, "%s: %s", name, f.raw)
		}
		p.end(other)
	}
}

// FIELD_REPORTS 3.
func TestEveryFilterOfAREQCountsStoredAndLive(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	var topics, filters []string
	var want []string
	now := nostr.Now()
	for i, more := range []string{`"kinds":[1]`, `"authors":["` + public(p.secret) + `"]`, `"since":1`, `"limit":3`} {
		topic := random()
		topics, filters = append(topics, topic), append(filters, on(topic, more))
		e := p.note(topic, now-nostr.Timestamp(i))
		p.store(e)
		want = append(want, e.ID)
	}
	p.req("x", filters...)
	events, end := p.stored("x")
	require.Equal(t, "EOSE", end.Verb)
	require.Equal(t, want, idsOf(events))
	for _, topic := range topics {
		e := p.note(topic, nostr.Now())
		p.publish(e)
		got := p.passed()
		require.Equal(t, []string{e.ID}, idsOf(eventsOf("x", got)), raws(got))
	}
}

// FIELD_REPORTS 4.
func TestEventThatMatchesTwiceIsSentOnce(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	a, b := random(), random()
	make1 := func() *wire.Event {
		return signed(p.secret, 1, nostr.Now(), random(), nostr.Tag{"t", a}, nostr.Tag{"t", b}, nostr.Tag{"t", a}, nostr.Tag{"r", a})
	}
	rows := map[string][]string{
		"two filters":             {on(a), on(b)},
		"the same filter twice":   {on(a), on(a)},
		"two values of a tag":     {`{"#t":["` + a + `","` + b + `"]}`},
		"the same value twice":    {`{"#t":["` + a + `","` + a + `"]}`},
		"two tags":                {`{"#t":["` + a + `"],"#r":["` + a + `"]}`},
		"filters of unlike shape": {on(a), `{"authors":["` + public(p.secret) + `"]}`, on(b, `"kinds":[1]`)},
	}
	stored := make1()
	p.store(stored)
	want := []string{stored.ID}
	for name, filters := range rows {
		id := p.fresh("x")
		p.req(id, filters...)
		events, end := p.stored(id)
		require.Equal(t, "EOSE", end.Verb, name)
		require.ElementsMatch(t, want, idsOf(events), name)
		live := make1()
		p.publish(live)
		want = append(want, live.ID)
		require.Equal(t, []string{live.ID}, idsOf(eventsOf(id, p.passed())), name)
		require.Equal(t, len(want), p.count(filters...).Count, name)
		p.end(id)
	}
}

// FIELD_REPORTS 5.
func TestBadSubscriptionIDIsRefusedUnderItsName(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	topic, neighbour := random(), strings.Repeat("x", 64)
	p.req(neighbour, on(topic))
	p.stored(neighbour)
	for _, id := range []string{"", strings.Repeat("x", 65), strings.Repeat("é", 65), strings.Repeat("x", 2000), strings.Repeat(`"`, 65)} {
		for _, verb := range []string{"REQ", "COUNT"} {
			p.send(message(verb, id, `{"limit":1}`))
			frames := p.settle()
			require.Len(t, frames, 1, "%s %.70q: %s", verb, id, raws(frames))
			require.Equal(t, "CLOSED", frames[0].Verb)
			require.True(t, strings.HasPrefix(id, strings.TrimSuffix(frames[0].Sub, "…")), frames[0].raw)
			require.NotEqual(t, neighbour, frames[0].Sub, "an id that is cut names another subscription")
			requirePrefix(t, frames[0])
		}
	}
	p.publish(p.note(topic, nostr.Now()))
	require.Len(t, eventsOf(neighbour, p.passed()), 1)
	for _, id := range []string{"x", strings.Repeat("x", 64), strings.Repeat("é", 64), strings.Repeat("𝄞", 64)} {
		p.req(id, on(random()))
		_, end := p.stored(id)
		require.Equal(t, "EOSE", end.Verb, end.raw)
	}
	for _, id := range []string{`1`, `null`, `["x"]`, `{"x":1}`, `true`} {
		p.send(`["REQ",` + id + `,{}]`)
		frames := p.settle()
		require.Len(t, frames, 1, id)
		require.Equal(t, "NOTICE", frames[0].Verb, "%s: there is no id to answer to", id)
	}
}

// FIELD_REPORTS 6.
func TestEventPublishedDuringTheStoredOnesArrivesOnce(t *testing.T) {
	t.Parallel()
	r := target(t)
	p, writer := r.dial(t), r.dial(t)
	topic := random()
	want := p.notes(topic, 200)
	p.store(want...)
	const subs, each = 8, 10
	for i := range subs {
		for range each {
			e := signed(writer.secret, 1, nostr.Now(), random(), nostr.Tag{"t", topic})
			writer.send(string(wire.AppendEventMessage(nil, e)))
			want = append(want, e)
		}
		p.req("s"+strconv.Itoa(i), on(topic))
	}
	for i := range subs * each {
		require.True(t, writer.answer("OK", func(f frame) bool { return f.Verb == "OK" }).OK, i)
	}
	eoses := 0
	frames := p.until("every EOSE", func(f frame) bool {
		if f.Verb == "EOSE" {
			eoses++
		}
		return eoses == subs
	})
	frames = append(frames, p.passed()...)
	for i := range subs {
		require.ElementsMatch(t, idsOf(want), idsOf(eventsOf("s"+strconv.Itoa(i), frames)))
	}
}

// FIELD_REPORTS 7.
func TestSubscriptionIDComesBackExactly(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	topic := random()
	p.store(p.notes(topic, 1)...)
	for _, id := range []string{
		`"`, `\`, `\"`, `","x`, `]`, "a\nb", "\t\r\b\f", "\x00", "\x01\x1f", "\x7f", "é", "日本", "𝄞", "\u2028\u2029", "\ufeff", "</script>",
		" ", "%00", `\u0041`, "a/b", "e\u0301", "\U0010ffff",
	} {
		p.req(id, on(topic))
		events, end := p.stored(id)
		require.Equal(t, "EOSE", end.Verb, end.raw)
		require.Len(t, events, 1, "%q", id)
		p.publish(p.note(topic, nostr.Now()))
		require.Len(t, eventsOf(id, p.passed()), 1, "%q live", id)
		p.send(message("COUNT", id, on(topic)))
		require.Equal(t, "COUNT", p.answer("COUNT", func(f frame) bool { return f.Sub == id && f.Verb != "EVENT" }).Verb)
		p.req(id, `{"unknown":1}`)
		closed := p.answer("CLOSED", func(f frame) bool { return f.Verb == "CLOSED" })
		require.Equal(t, id, closed.Sub)
		var elements []any
		require.NoError(t, json.Unmarshal([]byte(closed.raw), &elements))
		require.Equal(t, id, elements[1], "as another decoder reads it")
		topic = random()
		p.store(p.notes(topic, 1)...)
	}
}

// FIELD_REPORTS 8.
func TestCOUNTAndREQOfOneIDDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	topic := random()
	req, count := message("REQ", "x", on(topic)), message("COUNT", "x", on(topic))
	rows := []struct {
		name   string
		burst  []string
		counts int
	}{
		{"COUNT behind REQ", []string{req, count}, 1},
		{"COUNT before REQ", []string{count, req}, 1},
		{"COUNT around REQ", []string{count, req, count, count}, 3},
		{"COUNT of something else", []string{message("COUNT", "x", on(random())), req}, 1},
		{"a refused COUNT", []string{req, message("COUNT", "x", `{"unknown":1}`), count}, 1},
		{"CLOSE between", []string{count, message("CLOSE", "x"), req}, 1},
	}
	for i, row := range rows {
		p.store(p.note(topic, nostr.Now()))
		p.send(row.burst...)
		eoses, counts := 0, 0
		frames := p.until("EOSE and COUNT", func(f frame) bool {
			switch f.Verb {
			case "EOSE":
				eoses++
			case "COUNT":
				counts++
			}
			return eoses == 1 && counts == row.counts
		})
		require.Len(t, eventsOf("x", frames), 2*i+1, "%s: %s", row.name, raws(frames))
		p.publish(p.note(topic, nostr.Now()))
		got := about("x", p.passed())
		require.Len(t, got, 1, "%s: %s", row.name, raws(got))
		require.Equal(t, "EVENT", got[0].Verb, row.name)
		p.end("x")
	}
}
