package conformance_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/client"
	"fencepost/relay/wire"
)

// changed returns the JSON of an event with one field set to raw JSON.
func changed(e *wire.Event, field, raw string) string {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(e.Raw(), &fields); err != nil {
		panic(err) // only for what is no event
	}
	fields[field] = json.RawMessage(raw)
	out, err := json.Marshal(fields)
	if err != nil {
		panic(err) // see above
	}
	return string(out)
}

// FIELD_REPORTS 9.
func TestEveryEVENTIsAnsweredUnderItsID(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	topic, now := random(), nostr.Now()
	fresh := func() *wire.Event { return p.note(topic, now) }
	known, newest := fresh(), signed(p.secret, 10002, now, random())
	older := signed(p.secret, 10002, now-1, random())
	deleted := fresh()
	p.store(known, newest, deleted, signed(p.secret, 5, now, "", nostr.Tag{"e", deleted.ID}))
	expired := signed(p.secret, 1, now, random(), nostr.Tag{"expiration", "1600000000"})
	other := fresh()
	rows := []struct {
		name, event, id string
		ok              bool
		prefix          string // "" is none; "*" is any
	}{
		{"a new one", string(fresh().Raw()), "", true, ""},
		{"a known one", string(known.Raw()), known.ID, true, "duplicate"},
		{"the newest of its address again", string(newest.Raw()), newest.ID, true, "duplicate"},
		{"an older replaceable", string(older.Raw()), older.ID, false, "duplicate"},
		{"an ephemeral one", string(signed(p.secret, 20001, now, random()).Raw()), "", true, ""},
		{"a deleted one", string(deleted.Raw()), deleted.ID, false, "blocked"},
		{"an expired one", string(expired.Raw()), expired.ID, false, "invalid"},
		{"a wrong id", changed(other, "id", quote(strings.Repeat("ab", 32))), strings.Repeat("ab", 32), false, "invalid"},
		{"a wrong signature", changed(other, "sig", quote(strings.Repeat("ab", 64))), other.ID, false, "invalid"},
		{"a zero signature", changed(other, "sig", quote(strings.Repeat("0", 128))), other.ID, false, "invalid"},
		{"a signature of another event", changed(other, "sig", quote(known.Sig)), other.ID, false, "invalid"},
		{"a short signature", changed(other, "sig", quote("ab")), other.ID, false, "invalid"},
		{"a signature of no string", changed(other, "sig", `5`), other.ID, false, "invalid"},
		{"a changed content", changed(other, "content", quote("x")), other.ID, false, "invalid"},
		{"a changed kind", changed(other, "kind", `2`), other.ID, false, "invalid"},
		{"a kind too large", changed(other, "kind", `65536`), other.ID, false, "invalid"},
		{"a negative kind", changed(other, "kind", `-1`), other.ID, false, "invalid"},
		{"a kind with a fraction", changed(other, "kind", `1.5`), other.ID, false, "invalid"},
		{"a created_at with an exponent", changed(other, "created_at", `1e9`), other.ID, false, "invalid"},
		{"a created_at of no number", changed(other, "created_at", `"1"`), other.ID, false, "invalid"},
		{"tags of null", changed(other, "tags", `null`), other.ID, false, "invalid"},
		{"a tag of numbers", changed(other, "tags", `[[1]]`), other.ID, false, "invalid"},
		{"an empty tag", changed(other, "tags", `[[]]`), other.ID, false, "invalid"},
		{"a key in upper case", changed(other, "pubkey", quote(strings.ToUpper(other.PubKey))), other.ID, false, "invalid"},
		{"a key off the curve", changed(other, "pubkey", quote(strings.Repeat("f", 64))), other.ID, false, "invalid"},
		{"no content", strings.Replace(string(other.Raw()), `"content"`, `"contents"`, 1), other.ID, false, "invalid"},
		{"an AUTH event", string(signed(p.secret, 22242, now, "").Raw()), "", false, "invalid"},
		{"a created_at far ahead", string(p.note(topic, now+7*24*3600).Raw()), "", false, "invalid"},
	}
	for _, row := range rows {
		if row.id == "" {
			row.id = gotID(t, row.event)
		}
		p.send(`["EVENT",` + row.event + `]`)
		f := p.next()
		require.Equal(t, "OK", f.Verb, "%s: %s", row.name, f.raw)
		requireOK(t, f, row.id, row.ok, row.prefix, row.name)
	}
	require.Empty(t, without(p.settle(), func(f frame) bool { return f.Verb == "AUTH" }), "one answer each")
}

func gotID(t *testing.T, event string) string {
	t.Helper()
	var e struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(event), &e))
	return e.ID
}

// requireOK checks an OK as any decoder reads it: four elements, the third a
// JSON boolean.
func requireOK(t *testing.T, f frame, id string, ok bool, prefix, name string) {
	t.Helper()
	var elements []any
	require.NoError(t, json.Unmarshal([]byte(f.raw), &elements))
	require.Len(t, elements, 4, "%s: %s", name, f.raw)
	require.Equal(t, []any{"OK", id, ok}, elements[:3], "%s: %s", name, f.raw)
	require.Equal(t, prefix, prefixOf(f), "%s: %s", name, f.raw)
	require.Equal(t, prefix == "", f.Text == "", "%s: %s", name, f.raw)
}

// FIELD_REPORTS 9.
func TestEveryAUTHIsAnswered(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	secret := nostr.GeneratePrivateKey()
	auth := func(kind int, at nostr.Timestamp, tags ...nostr.Tag) *wire.Event {
		return signed(secret, kind, at, "", tags...)
	}
	relayTag, challenge := nostr.Tag{"relay", p.relay.url}, nostr.Tag{"challenge", p.challenge()}
	now := nostr.Now()
	good := auth(22242, now, relayTag, challenge)
	rows := []struct {
		name, event string
		ok          bool
	}{
		{"another kind", string(auth(1, now, relayTag, challenge).Raw()), false},
		{"another challenge", string(auth(22242, now, relayTag, nostr.Tag{"challenge", "x"}).Raw()), false},
		{"no challenge", string(auth(22242, now, relayTag).Raw()), false},
		{"an empty challenge", string(auth(22242, now, relayTag, nostr.Tag{"challenge", ""}).Raw()), false},
		{"no relay", string(auth(22242, now, challenge).Raw()), false},
		{"another relay", string(auth(22242, now, challenge, nostr.Tag{"relay", "wss://other.example"}).Raw()), false},
		{"long ago", string(auth(22242, now-3600, relayTag, challenge).Raw()), false},
		{"far ahead", string(auth(22242, now+3600, relayTag, challenge).Raw()), false},
		{"a wrong signature", changed(good, "sig", quote(strings.Repeat("ab", 64))), false},
		{"a malformed one", changed(good, "created_at", `"now"`), false},
		{"a good one", string(good.Raw()), true},
		{"the same again", string(good.Raw()), true},
		{"a second key", string(signed(nostr.GeneratePrivateKey(), 22242, now, "", relayTag, challenge).Raw()), true},
	}
	for _, row := range rows {
		p.send(`["AUTH",` + row.event + `]`)
		f := p.next()
		prefix := ""
		if !row.ok {
			prefix = "invalid"
		}
		requireOK(t, f, gotID(t, row.event), row.ok, prefix, row.name)
	}
	require.NotEqual(t, p.challenge(), p.relay.dial(t).challenge(), "a challenge is used once")
}

// FIELD_REPORTS 9: the client of this project sees the same.
func TestRefusalReachesTheClient(t *testing.T) {
	t.Parallel()
	r := target(t)
	c, err := client.Dial(t.Context(), r.url, client.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	secret := nostr.GeneratePrivateKey()
	e := signed(secret, 1, nostr.Now(), random())
	require.NoError(t, c.Publish(t.Context(), e))
	require.NoError(t, c.Publish(t.Context(), e), "a duplicate is accepted")
	bad := e.Event
	bad.Content = "changed"
	var refusal *client.Refusal
	require.ErrorAs(t, c.Publish(t.Context(), wire.NewEvent(bad)), &refusal)
	require.True(t, strings.HasPrefix(refusal.Text, "invalid: "), refusal.Text)
}

// FIELD_REPORTS 25.
func TestUnreadableMessageIsRefusedAndTheConnectionLives(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	id := strings.Repeat("0", 64)
	rows := []struct{ message, verb string }{
		{``, "NOTICE"},
		{` `, "NOTICE"},
		{`x`, "NOTICE"},
		{`{}`, "NOTICE"},
		{`null`, "NOTICE"},
		{`[]`, "NOTICE"},
		{`[[]]`, "NOTICE"},
		{`[null]`, "NOTICE"},
		{`["REQ"]`, "NOTICE"},
		{`["REQ"`, "NOTICE"},
		{`["EVENT"]`, "NOTICE"},
		{`["EVENT",null]`, "NOTICE"},
		{`["EVENT",{}]`, "NOTICE"},
		{`["EVENT",[]]`, "NOTICE"},
		{`["CLOSE"]`, "NOTICE"},
		{`["AUTH","challenge"]`, "NOTICE"},
		{`["auth",{}]`, "NOTICE"},
		{`["FETCH","n",{},"61"]`, "NOTICE"},
		{`["NEG-OPEN","n",{}]`, "NEG-ERR"},
		{`["NEG-MSG","n","zz"]`, "NEG-ERR"},
		{`["NEG-MSG"]`, "NOTICE"},
		{`["NEG-CLOSE"]`, "NOTICE"},
		{`["HELLO","x"]`, "NOTICE"},
		{strings.Repeat(`[`, 10_000), "NOTICE"},
		{`["REQ","x"]`, "CLOSED"},
		{`["REQ","x",]`, "CLOSED"},
		{`["REQ","x",{}`, "CLOSED"},
		{`["REQ","x",{"ids":[]}] `, ""},
		{`["REQ","x",{}]]`, "CLOSED"},
		{`["REQ","x",{},{}`, "CLOSED"},
		{`["REQ","x",null]`, "CLOSED"},
		{`["REQ","x",{},null]`, "CLOSED"},
		{`["REQ","x",[]]`, "CLOSED"},
		{`["REQ","x","{}"]`, "CLOSED"},
		{`["REQ","x",{"ids":null}]`, "CLOSED"},
		{`["REQ","x",{"ids":["` + id[:63] + `"]}]`, "CLOSED"},
		{`["REQ","x",{"ids":["` + strings.Repeat("A", 64) + `"]}]`, "CLOSED"},
		{`["REQ","x",{"authors":["npub1"]}]`, "CLOSED"},
		{`["REQ","x",{"#e":["short"]}]`, "CLOSED"},
		{`["REQ","x",{"#tt":["x"]}]`, "CLOSED"},
		{`["REQ","x",{"#t":"x"}]`, "CLOSED"},
		{`["REQ","x",{"#t":[1]}]`, "CLOSED"},
		{`["REQ","x",{"kinds":[65536]}]`, "CLOSED"},
		{`["REQ","x",{"kinds":[1.0]}]`, "CLOSED"},
		{`["REQ","x",{"since":-1}]`, "CLOSED"},
		{`["REQ","x",{"since":"1"}]`, "CLOSED"},
		{`["REQ","x",{"until":1e9}]`, "CLOSED"},
		{`["REQ","x",{"until":9223372036854775808}]`, "CLOSED"},
		{`["REQ","x",{"limit":-1}]`, "CLOSED"},
		{`["REQ","x",{"limit":1,"limit":2}]`, "CLOSED"},
		{`["REQ","x",{"search":"cats"}]`, "CLOSED"},
		{`["REQ","x",{"&t":["x"]}]`, "CLOSED"},
		{`["COUNT","x"]`, "CLOSED"},
		{`["COUNT","x",{"nope":1}]`, "CLOSED"},
		{`["CLOSE","x",1]`, "CLOSED"},
		{`["EVENT",{"id":"` + id + `"}]`, "OK"},
		{`["EVENT",{"id":"` + id + `","kind":"1"`, "OK"},
		{`["AUTH",{"id":"` + id + `"}]`, "OK"},
		{"[\"REQ\",\"x\",\t{ \"ids\" : [ ] }\r\n]", ""},
	}
	for _, row := range rows {
		p.send(row.message)
		if row.verb == "" {
			_, end := p.stored("x")
			require.Equal(t, "EOSE", end.Verb, row.message)
			p.end("x")
			continue
		}
		frames := p.settle()
		require.Len(t, frames, 1, "%.80s: %s", row.message, raws(frames))
		require.Equal(t, row.verb, frames[0].Verb, "%.80s: %s", row.message, frames[0].raw)
		requirePrefix(t, frames[0])
		require.LessOrEqual(t, len(frames[0].raw), 1024, "%.80s", row.message)
	}
}
