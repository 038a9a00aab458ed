package wire_test

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip77"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

func TestDecodeReadsNegotiations(t *testing.T) {
	t.Parallel()
	f := wire.NewFilter(nostr.Filter{Kinds: []int{1}, Limit: 5})
	for text, want := range map[string]wire.Message{
		`["NEG-OPEN","x",{"kinds":[1],"limit":5},"6100"]`: &wire.NegOpenMessage{ID: "x", Filter: f, Message: []byte{0x61, 0}},
		`["NEG-MSG","x","61Ff"]`:                          &wire.NegMsgMessage{ID: "x", Message: []byte{0x61, 0xff}},
		`["NEG-CLOSE","x"]`:                               &wire.NegCloseMessage{ID: "x"},
	} {
		m, err := wire.Decode([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, m, text)
	}
}

func TestDecodeRefusesNegotiations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`["NEG-OPEN"]`:                        "invalid: NEG-OPEN needs a subscription id",
		`["NEG-OPEN","x"]`:                    "invalid: NEG-OPEN needs a filter",
		`["NEG-OPEN","x",{}]`:                 "invalid: NEG-OPEN needs a message",
		`["NEG-OPEN","x",{},""]`:              "invalid: negentropy message is not hexadecimal",
		`["NEG-OPEN","x",{},"61","61"]`:       "invalid: NEG-OPEN has too many elements",
		`["NEG-OPEN","x",{"more":1},"61"]`:    "unsupported: filter field more",
		`["NEG-MSG","x","6"]`:                 "invalid: negentropy message is not hexadecimal",
		`["NEG-MSG","x","61\u0022"]`:          "invalid: negentropy message is not hexadecimal",
		`["NEG-MSG","x",61]`:                  "invalid: negentropy message is not a string",
		`["NEG-MSG","` + long(65) + `","61"]`: "invalid: subscription id is longer than 64 characters",
		`["NEG-CLOSE","x","61"]`:              "invalid: NEG-CLOSE has too many elements",
	} {
		_, err := wire.Decode([]byte(text))
		require.EqualError(t, err, want, text)
	}
}

func long(n int) string { return strings.Repeat("x", n) }

func TestNegotiationsAreReadByOthers(t *testing.T) {
	t.Parallel()
	f := wire.NewFilter(nostr.Filter{Kinds: []int{1}, Tags: nostr.TagMap{"t": {"a"}}})
	require.Equal(t, &nip77.OpenEnvelope{SubscriptionID: "x", Filter: f.Filter, Message: "61ff"},
		nip77.ParseNegMessage(string(wire.AppendNegOpen(nil, "x", f, []byte{0x61, 0xff}))))
	require.Equal(t, &nip77.MessageEnvelope{SubscriptionID: "x", Message: "61ff"},
		nip77.ParseNegMessage(string(wire.AppendNegMsg(nil, "x", []byte{0x61, 0xff}))))
	require.Equal(t, &nip77.CloseEnvelope{SubscriptionID: "x"}, nip77.ParseNegMessage(string(wire.AppendNegClose(nil, "x"))))
	require.Equal(t, &nip77.ErrorEnvelope{SubscriptionID: "x", Reason: "blocked: no"},
		nip77.ParseNegMessage(string(wire.AppendNegErr(nil, "x", wire.Because(wire.Blocked, "no")))))
}

func TestDecodeRelayReadsNegotiations(t *testing.T) {
	t.Parallel()
	m, err := wire.DecodeRelay(wire.AppendNegMsg(nil, `a"b`, []byte{0x61, 0xff}))
	require.NoError(t, err)
	require.Equal(t, wire.RelayMessage{Verb: "NEG-MSG", Sub: `a"b`, Message: []byte{0x61, 0xff}}, m)
	m, err = wire.DecodeRelay(wire.AppendNegErr(nil, "x", wire.Because(wire.Closed, "no")))
	require.NoError(t, err)
	require.Equal(t, wire.RelayMessage{Verb: "NEG-ERR", Sub: "x", Text: "closed: no"}, m)
	sub := "\x01\"" + long(62)
	require.LessOrEqual(t, len(wire.AppendNegMsg(nil, sub, make([]byte, 100))), wire.NegMsgLen(sub, 100))
}
