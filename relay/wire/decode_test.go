package wire_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

func TestDecodeReadsEachMessage(t *testing.T) {
	t.Parallel()
	e := signed(t, "hello")
	for _, text := range []string{
		string(wire.AppendEventMessage(nil, e)),
		" [\t\"EVENT\"\r,\n" + string(e.Raw()) + " ] ",
		`["\u0045VENT",` + string(e.Raw()) + `]`,
	} {
		m, err := wire.Decode([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, e, m.(*wire.EventMessage).Event)
	}

	m, err := wire.Decode(wire.AppendAuthMessage(nil, e))
	require.NoError(t, err)
	require.Equal(t, e, m.(*wire.AuthMessage).Event)

	m, err = wire.Decode([]byte(`["REQ","a\"b",{"kinds":[1]},{}]`))
	require.NoError(t, err)
	require.Equal(t, `a"b`, m.(*wire.ReqMessage).ID)
	require.Len(t, m.(*wire.ReqMessage).Filters, 2)
	require.Equal(t, []int{1}, m.(*wire.ReqMessage).Filters[0].Kinds)

	m, err = wire.Decode([]byte(`["COUNT","c",{"limit":0}]`))
	require.NoError(t, err)
	require.Equal(t, "c", m.(*wire.CountMessage).ID)
	require.True(t, m.(*wire.CountMessage).Filters[0].LimitZero)

	m, err = wire.Decode([]byte(`["CLOSE","c"]`))
	require.NoError(t, err)
	require.Equal(t, &wire.CloseMessage{ID: "c"}, m)
}

func TestDecodeDoesNotKeepTheCallersBuffer(t *testing.T) {
	t.Parallel()
	data := []byte(`["EVENT",` + unsignedJSON() + `]`)
	m, err := wire.Decode(data)
	require.NoError(t, err)
	clear(data)
	e := m.(*wire.EventMessage).Event
	require.Equal(t, "hi", e.Content)
	require.Equal(t, unsignedJSON(), string(e.Raw()))
}

func TestDecodeRefusesBrokenMessages(t *testing.T) {
	t.Parallel()
	event := unsignedJSON()
	for _, text := range []string{
		``, ` `, `null`, `{}`, `"REQ"`, `[`, `[]`, `[1]`, `[null,"x",{}]`, `["REQ"`, "\x00",
		"\ufeff" + `["CLOSE","x"]`, "\xef\xbb" + `["CLOSE","x"]`,
		`["CLOSE","x"]]`, `["CLOSE","x"] x`, `["CLOSE","x"]` + "\x00", `["CLOSE","x",]`, `["CLOSE","x",1]`, `["CLOSE" "x"]`, `["CLOSE"]`, `["CLOSE",1]`,
		`["CLOSE","x"`, `["CLOSE","x`, `["CLOSE",,"x"]`, `['CLOSE','x']`,
		`["REQ","x"]`, `["REQ","x",]`, `["REQ","x",null]`, `["REQ","x",{},null]`, `["REQ","x",{}`, `["REQ","x",{`, `["REQ","x",[]]`, `["REQ","x",{},]`, `["REQ","x" {}]`, `["REQ",{}]`,
		`["COUNT","x"]`, `["COUNT","x",1]`,
		`["EVENT"]`, `["EVENT",]`, `["EVENT",null]`, `["EVENT","x",` + event + `]`, `["EVENT",` + event, `["EVENT",` + event + `,1]`, `["EVENT",` + event + `,` + event + `]`, `["EVENT",[]]`,
		`["AUTH","challenge"]`, `["AUTH",` + event + `,{}]`,
	} {
		require.Equal(t, wire.Invalid, refusal(t, text).Reason.Prefix, text)
	}
}

func TestDecodeRefusesEveryCutOffMessage(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`["EVENT",` + unsignedJSON("hi", `\u00e9\ud83d\ude00\/`, `"sig"`, `"x":[{"a":-1.5e+3},true,null],"sig"`) + `]`,
		`["REQ","x",{"ids":["` + hexA + `"],"#t":["a","b"],"since":5,"search":"s"},{}]`,
	} {
		_, err := wire.Decode([]byte(text))
		require.NoError(t, err)
		for n := range text {
			refusal(t, text[:n])
		}
	}
}

func TestDecodeRefusesStringsThatAreNotJSON(t *testing.T) {
	t.Parallel()
	for name, inner := range map[string]string{
		"raw newline":              "a\nb",
		"raw tab far in":           strings.Repeat("x", 29) + "\t",
		"raw NUL":                  "\x00",
		"high half alone":          `\ud800`,
		"high half, then text":     `\ud800x`,
		"high half, then escape":   `\ud800\n`,
		"high half twice":          `\ud800\ud800`,
		"low half alone":           `\udc00`,
		"halves in wrong order":    `\udc00\ud800`,
		"high half, cut off":       `\ud800\udc0`,
		"unknown escape":           `\a`,
		"escaped raw newline":      "\\\n",
		"upper-case U":             `\U0041`,
		"short escape":             `\u041`,
		"no hex":                   `\u00g0`,
		"sign in escape":           `\u+041`,
		"invalid UTF-8":            "a\xffb",
		"overlong UTF-8":           "\xc0\x80",
		"surrogate in UTF-8":       "\xed\xa0\x80",
		"cut rune":                 "\xe2\x82",
		"escape splits rune":       "\xe2\\n\x82",
		"escaped byte of a rune":   "\\\xe2\x82\xac",
		"beyond the last of UTF-8": "\xf4\x90\x80\x80",
	} {
		require.Equal(t, wire.Invalid, refusal(t, `["CLOSE","`+inner+`"]`).Reason.Prefix, name)
		require.Equal(t, hexA, refusal(t, `["EVENT",`+unsignedJSON("hi", inner)+`]`).EventID, name)
	}
}

func TestDecodeReadsEveryEscape(t *testing.T) {
	t.Parallel()
	for inner, want := range map[string]string{
		`\"\\\/\b\f\n\r\t`:           "\"\\/\b\f\n\r\t",
		`\u0000\u001f\u007F`:         "\x00\x1f\x7f",
		`\u00e9\u00E9`:               "éé",
		`\ud83d\ude00\uD83D\uDE00`:   "😀😀",
		`\ufffd\uffff`:               "\ufffd\uffff",
		"\u2028\u2029\x7f/é😀\ufeff":  "\u2028\u2029\x7f/é😀\ufeff",
		`1234567\n12345678\\"`[:19]:  "1234567\n12345678\\",
		`plain text, long enough \\`: `plain text, long enough \`,
	} {
		m, err := wire.Decode([]byte(`["CLOSE","` + inner + `"]`))
		require.NoError(t, err, inner)
		require.Equal(t, want, m.(*wire.CloseMessage).ID)
	}
}

func TestRefusalNamesTheSubscription(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 65)
	for text, want := range map[string]string{
		`["REQ","x",null]`:           "x",
		`["REQ","q\"\\\u0000",{]`:    "q\"\\\x00",
		`["REQ","x"`:                 "x",
		`["COUNT","x",{"limit":-1}]`: "x",
		`["CLOSE","x",1]`:            "x",
		`["CLOSE",""]`:               "",
		`["REQ","",{}]`:              "",
		`["REQ","` + long + `",{}]`:  long[:128] + "…",
		`["REQ","x",{"nope":1}]`:     "x",
	} {
		err := refusal(t, text)
		require.True(t, err.HasSub, text)
		require.Equal(t, want, err.Sub, text)
		require.Equal(t, want != "" && want[0] != long[0], wire.ValidSub(err.Sub), "a cut id is nobody's")
	}
	for _, text := range []string{`["REQ",5,{}]`, `["REQ","\ud800",{}]`, `["REQ","x`, `["NOPE","x"]`, `["EVENT","x"]`, `{"REQ":"x"}`} {
		require.False(t, refusal(t, text).HasSub, text)
	}
}

func TestSubscriptionIDsAreCountedInRunes(t *testing.T) {
	t.Parallel()
	for _, id := range []string{strings.Repeat("é", 64), strings.Repeat("😀", 64), strings.Repeat("x", 64), " "} {
		m, err := wire.Decode(wire.AppendClose(nil, id))
		require.NoError(t, err)
		require.Equal(t, id, m.(*wire.CloseMessage).ID)
		refusal(t, string(wire.AppendClose(nil, strings.Repeat(id, 65))))
	}
}

func TestRefusalNamesTheEvent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`["EVENT",{"id":"abc"}]`:                                            "abc",
		`["AUTH",{"kind":"x","id":"abc"}]`:                                  "abc",
		`["EVENT",{"kind":-1,"tags":[["id","no"],{"id":"no"}],"id" : "abc"`: "abc",
		`["EVENT",{"content":"\"id\":\"no\"","id":"abc",,}`:                 "abc",
		`["EVENT",{"content":"id","id":"abc"}]`:                             "abc",
		`["EVENT",{"id":"a\u0062c"}]`:                                       "abc",
		`["EVENT",` + unsignedJSON() + `,1]`:                                hexA,
		`["EVENT",` + unsignedJSON() + `]]`:                                 hexA,
		`["EVENT",{"id":"` + strings.Repeat("x", 65) + `"}]`:                "",
		`["EVENT",{"id":5}]`:                                                "",
		`["EVENT",{"id":"\ud800"}]`:                                         "",
		`["EVENT",{"id":"abc`:                                               "",
		`["EVENT",{"id"`:                                                    "",
		`["EVENT",{"id":`:                                                   "",
		`["EVENT",{}],{"id":"no"}`:                                          "",
		`["EVENT",{"kind":1}},{"id":"no"}`:                                  "",
		`["EVENT",["id","no"]]`:                                             "",
		`["EVENT",`:                                                         "",
		`["REQ","x",{"id":"no"}]`:                                           "",
	} {
		require.Equal(t, want, refusal(t, text).EventID, text)
	}
}

func TestUnknownVerbIsUnsupported(t *testing.T) {
	t.Parallel()
	err := refusal(t, `["NOPE","x",{`)
	require.Equal(t, &wire.Error{Reason: wire.Because(wire.Unsupported, "unknown message type"), Verb: "NOPE"}, err)
	require.Equal(t, "unsupported: unknown message type", err.Error())
}
