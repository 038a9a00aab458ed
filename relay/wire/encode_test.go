package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

func TestStringsAreEscapedAsTheCanonicalForm(t *testing.T) {
	t.Parallel()
	got := string(wire.AppendString(nil, "\"\\/\b\f\n\r\t\x00\x01\x0b\x0e\x1a\x1f\x7f\u2028é😀<>&"))
	require.Equal(t, `"\"\\/\b\f\n\r\t\u0000\u0001\u000b\u000e\u001a\u001f`+"\x7f\u2028é😀<>&\"", got)
}

func TestFramesReadAsWritten(t *testing.T) {
	t.Parallel()
	e := signed(t, "x")
	for want, frame := range map[string][]byte{
		`["EVENT","s",` + string(e.Raw()) + `]`:        wire.AppendEvent(nil, "s", e),
		`["OK","i",true,""]`:                           wire.AppendOK(nil, "i", true, wire.Reason{}),
		`["OK","i",false,"pow: more"]`:                 wire.AppendOK(nil, "i", false, wire.Because(wire.PoW, "more")),
		`["EOSE","s",["more"]]`:                        wire.AppendEOSE(nil, "s", wire.HintMore),
		`["EOSE","s",["finish"]]`:                      wire.AppendEOSE(nil, "s", wire.HintFinish),
		`["CLOSED","s","error: x"]`:                    wire.AppendClosed(nil, "s", wire.Because(wire.Failed, "x")),
		`["NOTICE","invalid: x"]`:                      wire.AppendNotice(nil, wire.Because(wire.Invalid, "x")),
		`["AUTH","c"]`:                                 wire.AppendAuth(nil, "c"),
		`["COUNT","s",{"count":3}]`:                    wire.AppendCount(nil, "s", 3, true),
		`["COUNT","s",{"count":3,"approximate":true}]`: wire.AppendCount(nil, "s", 3, false),
		`["REQ","s",{},{}]`:                            wire.AppendReq(nil, "s", []*wire.Filter{wire.NewFilter(nostr.Filter{}), wire.NewFilter(nostr.Filter{})}),
		`["COUNT","s",{"limit":0}]`:                    wire.AppendCountReq(nil, "s", []*wire.Filter{wire.NewFilter(nostr.Filter{LimitZero: true})}),
		`["CLOSE","s"]`:                                wire.AppendClose(nil, "s"),
		`["EVENT",` + string(e.Raw()) + `]`:            wire.AppendEventMessage(nil, e),
		`["AUTH",` + string(e.Raw()) + `]`:             wire.AppendAuthMessage(nil, e),
	} {
		require.Equal(t, want, string(frame))
	}
}

func TestFramesAreAppended(t *testing.T) {
	t.Parallel()
	require.Equal(t, `x["CLOSE","s"]`, string(wire.AppendClose([]byte("x"), "s")))
	require.Equal(t, `x{}`, string(wire.AppendFilter([]byte("x"), wire.NewFilter(nostr.Filter{}))))
}

func TestFilterIsWrittenInAStableOrder(t *testing.T) {
	t.Parallel()
	since, until := nostr.Timestamp(1), nostr.Timestamp(2)
	f := wire.NewFilter(nostr.Filter{
		IDs: []string{hexA}, Authors: []string{}, Kinds: []int{1, 2}, Since: &since, Until: &until, Limit: 9, Search: `a"b`,
		Tags: nostr.TagMap{"t": {"x", "\n"}, "T": {}, "a": nil},
	})
	require.Equal(t, `{"ids":["`+hexA+`"],"authors":[],"kinds":[1,2],"#T":[],"#t":["x","\n"],"since":1,"until":2,"limit":9,"search":"a\"b"}`,
		string(wire.AppendFilter(nil, f)))
}

func TestEncodingAllocatesNothingElse(t *testing.T) {
	e := signed(t, "x")
	buf := make([]byte, 0, 4096)
	allocs := testing.AllocsPerRun(100, func() {
		_ = wire.AppendEvent(buf, "sub", e)
		_ = wire.AppendOK(buf, e.ID, true, wire.Reason{})
		_ = wire.AppendEOSE(buf, "sub", wire.HintMore)
		_ = wire.AppendCount(buf, "sub", 5, false)
	})
	require.Zero(t, allocs)
}

func TestRenderedEventReadsAsJSON(t *testing.T) {
	t.Parallel()
	e := signed(t, "\x00\"\\\u2028", nostr.Tag{"t", "\x1f"}, nostr.Tag{"x"})
	var got nostr.Event
	require.NoError(t, json.Unmarshal(e.Raw(), &got))
	require.Equal(t, e.Event, got)
}
