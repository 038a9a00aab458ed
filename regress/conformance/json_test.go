package conformance_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// FIELD_REPORTS 23: an id is over the decoded text, rendered as NIP-01 says.
func TestEveryJSONSpellingOfAStringIsUnderstood(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	rows := []struct{ spelling, text string }{ // of content; text is what it means
		{`plain`, "plain"},
		{`\"\\\/\b\f\n\r\t`, "\"\\/\b\f\n\r\t"},
		{`/`, "/"},
		{`\u0000`, "\x00"},
		{`a\u0000b`, "a\x00b"},
		{`\u0001\u001f`, "\x01\x1f"},
		{`\u007f` + "\x7f", "\x7f\x7f"},
		{`\u0041\u00e9\u00E9`, "Aéé"},
		{`\ud834\udd1e\uD834\uDD1E𝄞`, "𝄞𝄞𝄞"},
		{`\u2028\u2029` + "\u2028\u2029", "\u2028\u2029\u2028\u2029"},
		{`\ufeff` + "\ufeff", "\ufeff\ufeff"},
		{`\ufffd\uffff`, "\ufffd\uffff"},
		{`\u0022\u005c`, `"\`},
		{`\\u0041`, `\u0041`},
		{`<script>&\u003c`, "<script>&<"},
		{`e` + "\u0301" + `é`, "e\u0301é"},
		{"\U0010ffff\u0080", "\U0010ffff\u0080"},
	}
	for _, row := range rows {
		for _, inTag := range []bool{false, true} {
			e := signed(p.secret, 1, nostr.Now(), row.text)
			spelled := changed(e, "content", `"`+row.spelling+`"`)
			if inTag {
				e = signed(p.secret, 1, nostr.Now(), random(), nostr.Tag{"x", row.text})
				spelled = changed(e, "tags", `[["x","`+row.spelling+`"]]`)
			}
			p.send(`["EVENT",` + spelled + `]`)
			f := p.answer("OK", func(f frame) bool { return f.Verb == "OK" })
			require.Equal(t, e.ID, f.ID)
			require.True(t, f.OK, "%q in a tag %v: %s", row.spelling, inTag, f.raw)
			got := storedFrame(p, e.ID)
			require.NoError(t, got.Event.Verify())
			var elements []json.RawMessage
			var event nostr.Event
			require.NoError(t, json.Unmarshal([]byte(got.raw), &elements))
			require.NoError(t, json.Unmarshal(elements[2], &event))
			require.Equal(t, e.Content, event.Content)
			require.Equal(t, e.Tags, event.Tags)
		}
	}
}

// FIELD_REPORTS 23: what no JSON decoder reads alike is refused, and the
// connection lives.
func TestWhatIsNoJSONStringIsRefused(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	e := signed(p.secret, 1, nostr.Now(), random())
	for _, spelling := range []string{
		"\n", "\t", "\x00", "\x1f", "a\rb", `\x41`, `\a`, `\'`, `\u12`, `\u12g4`, `\U00000041`, `\`, `"`,
		`\ud834`, `\udd1e`, `\ud834x`, `\ud834\u0041`, `\udd1e\ud834`, `\ud834\ud834\udd1e`,
	} {
		message := strings.Replace(`["EVENT",`+string(e.Raw())+`]`, quote(e.Content), `"`+spelling+`"`, 1)
		p.send(message)
		frames := p.settle()
		require.Len(t, frames, 1, "%q: %s", spelling, raws(frames))
		require.Equal(t, "OK", frames[0].Verb, "the id could be read: %q", spelling)
		requireOK(t, frames[0], e.ID, false, "invalid", spelling)
		p.send(`["REQ","x",{"#t":["` + spelling + `"]}]`)
		frames = p.settle()
		require.Len(t, frames, 1, "%q: %s", spelling, raws(frames))
		require.Equal(t, "CLOSED", frames[0].Verb, "%q", spelling)
		requirePrefix(t, frames[0])
	}
	require.True(t, p.publish(e).OK, "the connection lives")
}

// FIELD_REPORTS 23.
func TestEveryJSONSpellingOfAnEventIsUnderstood(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	fresh := func() *wire.Event { return signed(p.secret, 1, nostr.Now(), random(), nostr.Tag{"x", "y"}) }
	field := func(e *wire.Event) []any {
		return []any{e.ID, e.PubKey, e.CreatedAt, e.Content, e.Sig}
	}
	for name, format := range map[string]string{
		"another order":   `{"sig":%[5]q,"content":%[4]q,"tags":[["x","y"]],"kind":1,"created_at":%[3]d,"pubkey":%[2]q,"id":%[1]q}`,
		"blanks":          "{ \"id\" : %[1]q ,\r\n\t\"pubkey\":%[2]q,\"created_at\": %[3]d ,\"kind\":1, \"tags\":[ [ \"x\" , \"y\" ] ],\"content\":%[4]q,\"sig\":%[5]q }",
		"surplus":         `{"id":%[1]q,"pubkey":%[2]q,"created_at":%[3]d,"kind":1,"tags":[["x","y"]],"content":%[4]q,"sig":%[5]q,"seen":{"on":["wss://x",1.5e3,null,true]}}`,
		"an escaped name": `{"\u0069d":%[1]q,"pubkey":%[2]q,"created_at":%[3]d,"kind":1,"tags":[["\u0078","\u0079"]],"content":%[4]q,"sig":%[5]q}`,
	} {
		e := fresh()
		p.send(`["EVENT",` + fmt.Sprintf(format, field(e)...) + `]`)
		requireOK(t, p.answer("OK", func(f frame) bool { return f.Verb == "OK" }), e.ID, true, "", name)
		got := storedFrame(p, e.ID)
		require.Equal(t, e.Event, got.Event.Event, name)
		require.NotContains(t, got.raw, "seen", "unsigned fields are not passed on")
		require.NotContains(t, got.raw, " ", "blanks are not passed on")
	}
	for name, format := range map[string]string{
		"a field twice":         `{"id":%[1]q,"id":%[1]q,"pubkey":%[2]q,"created_at":%[3]d,"kind":1,"tags":[["x","y"]],"content":%[4]q,"sig":%[5]q}`,
		"a surplus comma":       `{"id":%[1]q,"pubkey":%[2]q,"created_at":%[3]d,"kind":1,"tags":[["x","y"]],"content":%[4]q,"sig":%[5]q,}`,
		"a leading zero":        `{"id":%[1]q,"pubkey":%[2]q,"created_at":0%[3]d,"kind":1,"tags":[["x","y"]],"content":%[4]q,"sig":%[5]q}`,
		"a float of that value": `{"id":%[1]q,"pubkey":%[2]q,"created_at":%[3]d.0,"kind":1,"tags":[["x","y"]],"content":%[4]q,"sig":%[5]q}`,
		"a comment":             `{"id":%[1]q,/**/"pubkey":%[2]q,"created_at":%[3]d,"kind":1,"tags":[["x","y"]],"content":%[4]q,"sig":%[5]q}`,
	} {
		e := fresh()
		p.send(`["EVENT",` + fmt.Sprintf(format, field(e)...) + `]`)
		requireOK(t, p.answer("OK", func(f frame) bool { return f.Verb == "OK" }), e.ID, false, "invalid", name)
	}
}
