package wire_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// seeds are events and filters of many spellings, good and bad.
func seeds() (events, filters []string) {
	events = []string{
		unsignedJSON(), unsignedJSON(`"hi"`, `"\ud83d\ude00\/\u0000"`), unsignedJSON(`"hi"`, `"\ud800"`), unsignedJSON(`"hi"`, "\"\xff\""),
		unsignedJSON(`"kind":1,`, `"kind":1,"x":[{"a":-1.5e+3},true,null,""],`), unsignedJSON(`"kind":1,`, ``), unsignedJSON(`:7,`, `: 9223372036854775807 ,`),
		unsignedJSON(`:7,`, `:9223372036854775808,`), unsignedJSON(`:7,`, `:-0,`), unsignedJSON(`"kind":1,`, `"kind":65536,`), unsignedJSON(`"kind"`, `"\u006bind"`),
		unsignedJSON(`[["e","x"]]`, `[]`), unsignedJSON(`[["e","x"]]`, `[["-"],["expiration","5"]]`), unsignedJSON(`[["e","x"]]`, `[[]]`), `{}`, `null`, ``,
	}
	filters = []string{
		`{}`, `{"ids":["` + hexA + `","` + hexA + `"],"authors":[]}`, `{"kinds":[1,2,1,65535]}`, `{"kinds":[1.0]}`, `{"#e":["` + hexB + `"],"#t":["","\u0041"]}`,
		`{"#e":["x"]}`, `{"since":0,"until":9223372036854775807,"limit":0}`, `{"limit":5,"search":"a b"}`, `{"limit":1,"limit":1}`, `{"x":1}`, `null`, ` { "#T" : [ ] } `,
		`{"kinds":[1,2,3,4,5,6,7,8,9,10,9]}`,
	}
	return events, filters
}

func FuzzDecode(f *testing.F) {
	events, filters := seeds()
	for _, e := range events {
		f.Add([]byte(`["EVENT",` + e + `]`))
		f.Add([]byte(`["AUTH", ` + e + ` ]`))
	}
	for _, filter := range filters {
		f.Add([]byte(`["REQ","x",` + filter + `]`))
		f.Add([]byte(`["COUNT","q\"\u00e9",{},` + filter + `]`))
		f.Add([]byte(`["REQ","x",` + filter + `,{},` + filter + `,{ }]`))
	}
	for _, feed := range []string{
		`{"since":5,"epoch":"E","limit":0,"live":true,"removed":false}`, `{"since":"E:7:0102030405060708"}`, `{"since":"E:7:0102030405060708","epoch":"F"}`,
		`{"since":"","#e":["` + hexB + `"]}`, `{"since":1,"since":2}`, `{"until":1}`, `{"search":"a"}`, `{"kinds":[1,1],"authors":["` + hexA + `"]}`, `{"live":0}`,
	} {
		f.Add([]byte(`["CHANGES","x",` + feed + `]`))
		f.Add([]byte(`["CHANGES","x" , ` + feed + `,{}]`))
	}
	for _, neg := range []string{
		`["NEG-OPEN","x",{"kinds":[1]},"61Ff"]`, `["NEG-OPEN","x",{},{},"61"]`, `["NEG-OPEN","x",{}]`, `["NEG-OPEN","x",null,"61"]`,
		`["NEG-MSG","x","610"]`, `["NEG-MSG","x",""]`, `["NEG-MSG","x","6100"]`, `["NEG-MSG","x",61]`, `["NEG-CLOSE","x"]`, `["NEG-CLOSE","x","61"]`,
	} {
		f.Add([]byte(neg))
	}
	for _, other := range []string{`["CLOSE","x"]`, `["CLOSE",""]`, `["NOPE"]`, `["REQ","x"]`, "\ufeff[]", `["CLOSE","` + strings.Repeat("é", 65) + `"]`} {
		f.Add([]byte(other))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, ok := refDecode(data)
		m, err := wire.Decode(data)
		require.Equal(t, ok, err == nil, "%s: %v", data, err)
		if err != nil {
			requireAnswerable(t, err)
			require.LessOrEqual(t, utf8.RuneCountInString(err.(*wire.Error).Sub), wire.MaxSubID+1)
			return
		}
		got := refMessage{}
		switch m := m.(type) {
		case *wire.EventMessage:
			got = refMessage{verb: "EVENT", event: m.Event.Event}
			requireStable(t, m.Event)
		case *wire.AuthMessage:
			got = refMessage{verb: "AUTH", event: m.Event.Event}
			requireStable(t, m.Event)
		case *wire.ReqMessage:
			got = refMessage{verb: "REQ", sub: m.ID, filters: plainFilters(t, m.Filters)}
		case *wire.CountMessage:
			got = refMessage{verb: "COUNT", sub: m.ID, filters: plainFilters(t, m.Filters)}
		case *wire.ChangesMessage:
			requireFeed(t, want, m)
			return
		case *wire.CloseMessage:
			got = refMessage{verb: "CLOSE", sub: m.ID}
		case *wire.NegOpenMessage:
			got = refMessage{verb: "NEG-OPEN", sub: m.ID, filters: plainFilters(t, []*wire.Filter{m.Filter}), neg: hex.EncodeToString(m.Message)}
		case *wire.NegMsgMessage:
			got = refMessage{verb: "NEG-MSG", sub: m.ID, neg: hex.EncodeToString(m.Message)}
		case *wire.NegCloseMessage:
			got = refMessage{verb: "NEG-CLOSE", sub: m.ID}
		}
		require.Equal(t, want, got)
	})
}

// requireFeed compares a CHANGES with what the referee has read.
func requireFeed(t *testing.T, want refMessage, m *wire.ChangesMessage) {
	t.Helper()
	c := want.changes
	require.Equal(t, want.filters, plainFilters(t, []*wire.Filter{m.Filter}))
	require.Equal(t, []any{want.verb, want.sub, c.hasLimit, c.limit, c.live, c.removed}, []any{"CHANGES", m.ID, m.HasLimit, m.Limit, m.Live, m.Removed})
	at, epoch, prefix, foreign := c.cursor()
	if foreign || c.token != "" && m.Since.Foreign { // the epoch beside the token is another one
		require.Equal(t, wire.Cursor{Foreign: true}, m.Since)
		return
	}
	require.Equal(t, []any{uint64(at), epoch, prefix != ""}, []any{m.Since.Position, m.Since.Epoch, m.Since.IsToken})
	if prefix != "" {
		require.Equal(t, strings.TrimPrefix(c.token, "token "), m.Since.Token())
	}
}

// requireAnswerable makes sure that each answer to a refusal is JSON and holds
// what it must.
func requireAnswerable(t *testing.T, err error) {
	t.Helper()
	var refused *wire.Error
	require.True(t, errors.As(err, &refused))
	require.Contains(t, []wire.Prefix{wire.Invalid, wire.Unsupported}, refused.Reason.Prefix)
	require.NotEmpty(t, refused.Reason.Text)
	require.LessOrEqual(t, len(refused.EventID), 64)
	text := refused.Reason.String()
	require.Equal(t, []any{"OK", refused.EventID, false, text}, elements(t, wire.AppendOK(nil, refused.EventID, false, refused.Reason)))
	require.Equal(t, []any{"CLOSED", refused.Sub, text}, elements(t, wire.AppendClosed(nil, refused.Sub, refused.Reason)))
	require.Equal(t, []any{"NOTICE", text}, elements(t, wire.AppendNotice(nil, refused.Reason)))
}

// requireStable makes sure that the wire form is the event, in JSON without
// blanks, and reads back as the same.
func requireStable(t *testing.T, e *wire.Event) {
	t.Helper()
	again, err := wire.DecodeEvent(e.Raw())
	require.NoError(t, err)
	require.Equal(t, e, again)
	require.Equal(t, e.GetID(), again.GetID())
	v, ok := tree(e.Raw())
	require.True(t, ok)
	require.Len(t, v.(object).keys, 7)
	plain, ok := refEvent(v)
	require.True(t, ok)
	require.Equal(t, e.Event, plain)
	rendered := wire.NewEvent(plain)
	require.Equal(t, e.Event, rendered.Event)
	reread, err := wire.DecodeEvent(rendered.Raw())
	require.NoError(t, err)
	require.Equal(t, rendered, reread)
}

func plainFilters(t *testing.T, filters []*wire.Filter) (plain []nostr.Filter) {
	t.Helper()
	for _, f := range filters {
		again, err := wire.DecodeFilter(wire.AppendFilter(nil, f))
		require.NoError(t, err)
		require.ElementsMatch(t, f.Tags["e"], again.Tags["e"])
		require.Equal(t, f.Filter, again.Filter)
		plain = append(plain, f.Filter)
	}
	return plain
}

func FuzzDecodeEvent(f *testing.F) {
	events, _ := seeds()
	for _, e := range events {
		f.Add([]byte(e))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, ok := tree(data)
		want, isEvent := refEvent(v)
		e, err := wire.DecodeEvent(data)
		require.Equal(t, ok && isEvent, err == nil, "%s: %v", data, err)
		if err != nil {
			requireAnswerable(t, err)
			return
		}
		require.Equal(t, want, e.Event)
		requireStable(t, e)
		_ = e.Verify()
		_ = e.Validate()
	})
}

func FuzzDecodeRelay(f *testing.F) {
	events, _ := seeds()
	for _, e := range events {
		f.Add([]byte(`["EVENT","x",` + e + `]`))
	}
	for _, text := range []string{
		`["OK","i",true,"pow: x"]`, `["OK","i",false]`, `["EOSE","x"]`, `["EOSE","x",["more",1],null]`, `["CLOSED","x","error: y"]`, `["NOTICE","x",{}]`,
		`["AUTH","c"]`, `["COUNT","x",{"count":3,"approximate":true,"hll":"00"}]`, `["NOPE"]`,
		`["NEG-MSG","x","61Ff"]`, `["NEG-ERR","x","blocked: y",5]`, `["NEG-MSG","x","6"]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := wire.DecodeRelay(data)
		if err != nil {
			requireAnswerable(t, err)
			require.Zero(t, m)
			return
		}
		v, ok := tree(data)
		require.True(t, ok)
		list := v.([]any)
		require.Equal(t, list[0], m.Verb)
		switch m.Verb {
		case "EVENT":
			want, ok := refEvent(list[2])
			require.True(t, ok)
			require.Equal(t, want, m.Event.Event)
			require.Equal(t, list[1], m.Sub)
			requireStable(t, m.Event)
		case "OK":
			require.Equal(t, []any{m.ID, m.OK}, list[1:3])
		case "EOSE", "CLOSED":
			require.Equal(t, list[1], m.Sub)
		case "NEG-ERR":
			require.Equal(t, []any{m.Sub, m.Text}, list[1:3])
		case "NEG-MSG":
			require.Equal(t, []any{m.Sub, hex.EncodeToString(m.Message)}, []any{list[1], strings.ToLower(list[2].(string))})
		case "COUNT":
			require.Equal(t, list[1], m.Sub)
			n, ok := refInteger(list[2].(object).get("count"))
			require.True(t, ok)
			require.Equal(t, int(n), m.Count)
		default:
			require.Equal(t, list[1], m.Text)
		}
	})
}

// Every frame is JSON for any id and any text, and both come back exactly.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "x", `a"b\c`, "\x00\x1f\x7f\u2028é😀", "\ufeff", `\u0041`, "</script>", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			s = strings.ToValidUTF8(s, "?")
		}
		var back string
		require.NoError(t, json.Unmarshal(wire.AppendString(nil, s), &back))
		require.Equal(t, s, back)
		canonical := (&nostr.Event{Content: s}).Serialize()
		require.True(t, strings.HasSuffix(string(canonical), ","+string(wire.AppendString(nil, s))+"]"))

		r := wire.Because(wire.Failed, s)
		e := wire.NewEvent(nostr.Event{ID: hexA, PubKey: hexB, Sig: sigC, Content: s, Tags: nostr.Tags{{"t", s}}})
		requireStable(t, e)
		frame := elements(t, wire.AppendEvent(nil, s, e))
		require.Equal(t, []any{"EVENT", s}, frame[:2])
		require.Equal(t, s, frame[2].(map[string]any)["content"])
		require.Equal(t, []any{"OK", s, true, r.String()}, elements(t, wire.AppendOK(nil, s, true, r)))
		require.Equal(t, []any{"EOSE", s, []any{"more"}}, elements(t, wire.AppendEOSE(nil, s, wire.HintMore)))
		require.Equal(t, []any{"EOSE", s, []any{"finish"}}, elements(t, wire.AppendEOSE(nil, s, wire.HintFinish)))
		require.Equal(t, []any{"CLOSED", s, r.String()}, elements(t, wire.AppendClosed(nil, s, r)))
		require.Equal(t, []any{"NOTICE", r.String()}, elements(t, wire.AppendNotice(nil, r)))
		require.Equal(t, []any{"AUTH", s}, elements(t, wire.AppendAuth(nil, s)))
		require.Equal(t, []any{"COUNT", s, map[string]any{"count": 1.0}}, elements(t, wire.AppendCount(nil, s, 1, true)))
		require.Equal(t, []any{"COUNT", s, map[string]any{"count": 1.0, "approximate": true}}, elements(t, wire.AppendCount(nil, s, 1, false)))
		require.Equal(t, []any{"CLOSE", s}, elements(t, wire.AppendClose(nil, s)))
		require.Equal(t, []any{"REQ", s}, elements(t, wire.AppendReq(nil, s, nil)))
	})
}
