package wire_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

func TestDecodeRelayReadsEachMessage(t *testing.T) {
	t.Parallel()
	e := signed(t, "hello \u2028 \x01")
	for _, c := range []struct {
		frame []byte
		want  wire.RelayMessage
	}{
		{wire.AppendEvent(nil, `a"b`, e), wire.RelayMessage{Verb: "EVENT", Sub: `a"b`, Event: e}},
		{wire.AppendEvent(nil, strings.Repeat("long", 500), e), wire.RelayMessage{Verb: "EVENT", Sub: strings.Repeat("long", 500), Event: e}},
		{wire.AppendOK(nil, e.ID, true, wire.Reason{}), wire.RelayMessage{Verb: "OK", ID: e.ID, OK: true}},
		{wire.AppendOK(nil, "", false, wire.Because(wire.Blocked, "no")), wire.RelayMessage{Verb: "OK", Text: "blocked: no"}},
		{wire.AppendEOSE(nil, "x", wire.HintMore), wire.RelayMessage{Verb: "EOSE", Sub: "x", Hints: []string{"more"}}},
		{wire.AppendEOSE(nil, "x", wire.HintFinish), wire.RelayMessage{Verb: "EOSE", Sub: "x", Hints: []string{"finish"}}},
		{wire.AppendClosed(nil, "x", wire.Because(wire.Failed, "gone")), wire.RelayMessage{Verb: "CLOSED", Sub: "x", Text: "error: gone"}},
		{wire.AppendNotice(nil, wire.Reason{Text: "hi"}), wire.RelayMessage{Verb: "NOTICE", Text: "hi"}},
		{wire.AppendAuth(nil, "challenge"), wire.RelayMessage{Verb: "AUTH", Text: "challenge"}},
		{wire.AppendCount(nil, "x", 5, true), wire.RelayMessage{Verb: "COUNT", Sub: "x", Count: 5}},
		{wire.AppendCount(nil, "x", 5, false), wire.RelayMessage{Verb: "COUNT", Sub: "x", Count: 5, Approximate: true}},

		{[]byte(`["EOSE","x"]`), wire.RelayMessage{Verb: "EOSE", Sub: "x"}},
		{[]byte(`["EOSE","x",null,1]`), wire.RelayMessage{Verb: "EOSE", Sub: "x"}},
		{[]byte(`["EOSE","x",["a",1,{"b":[]},"more"],{"c":1}]`), wire.RelayMessage{Verb: "EOSE", Sub: "x", Hints: []string{"a", "more"}}},
		{[]byte(`["OK","i",false]`), wire.RelayMessage{Verb: "OK", ID: "i"}},
		{[]byte(`["CLOSED","x"]`), wire.RelayMessage{Verb: "CLOSED", Sub: "x"}},
		{[]byte(`["NOTICE","hi",[1,2],"more"]`), wire.RelayMessage{Verb: "NOTICE", Text: "hi"}},
		{[]byte(`["COUNT","x",{"hll":"00","approximate":false,"count":0}]`), wire.RelayMessage{Verb: "COUNT", Sub: "x"}},
		{[]byte(`[ "EVENT" , "x" , ` + string(e.Raw()) + ` , 1 ] `), wire.RelayMessage{Verb: "EVENT", Sub: "x", Event: e}},
	} {
		m, err := wire.DecodeRelay(c.frame)
		require.NoError(t, err, "%s", c.frame)
		require.Equal(t, c.want, m)
	}
}

func TestDecodeRelayRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                      "invalid: message is not a JSON array",
		`[1]`:                                   "invalid: message type is not a string",
		`["NOPE"]`:                              "unsupported: unknown message type",
		`["EVENT","x"]`:                         "invalid: EVENT needs an event",
		`["EVENT",{}]`:                          "invalid: subscription id is not a string",
		`["EVENT","x",{}]`:                      "invalid: event has no id",
		`["OK","x"]`:                            "invalid: OK has no verdict",
		`["OK","x","true"]`:                     "invalid: verdict is not true or false",
		`["OK","x",tru]`:                        "invalid: value expected",
		`["OK","x",true,5]`:                     "invalid: text is not a string",
		`["EOSE"]`:                              "invalid: EOSE has no subscription id",
		`["EOSE","x",["a"`:                      "invalid: comma or closing bracket expected",
		`["EOSE","x",["\ud800"]]`:               "invalid: hint holds an escape that JSON does not know or half a surrogate pair",
		`["CLOSED","x","y"`:                     "invalid: message is cut off",
		`["CLOSED","x" "y"]`:                    "invalid: CLOSED has no text",
		`["NOTICE"]`:                            "invalid: NOTICE has no text",
		`["NOTICE","x"] ` + "\x00":              "invalid: there is something behind the end",
		`["NOTICE","x",]`:                       "invalid: value expected",
		`["AUTH",{}]`:                           "invalid: challenge is not a string",
		`["COUNT","x",5]`:                       "invalid: COUNT has no object with the count",
		`["COUNT","x",{}]`:                      "invalid: COUNT has no count",
		`["COUNT","x",{"count":-1}]`:            "invalid: count must not be negative",
		`["COUNT","x",{"count":1,"count":1}]`:   "invalid: COUNT has a field twice: count",
		`["COUNT","x",{"approximate":1}]`:       "invalid: approximate is not true or false",
		`["COUNT","x",{"count":1]`:              "invalid: comma or closing bracket expected",
		`["NOTICE","x",` + nested(33) + `,"x"]`: "invalid: too deeply nested",
	} {
		m, err := wire.DecodeRelay([]byte(text))
		require.EqualError(t, err, want, text)
		require.Zero(t, m)
	}
}
