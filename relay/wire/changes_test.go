package wire_test

import (
	"math"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

func TestDecodeReadsAFeed(t *testing.T) {
	t.Parallel()
	token := wire.Cursor{Epoch: "E", Position: 7, Prefix: [8]byte{1, 2, 3, 4, 5, 6, 7, 255}, IsToken: true}
	kinds := wire.NewFilter(nostr.Filter{Kinds: []int{1}, Tags: nostr.TagMap{"t": {"a"}}})
	all := wire.NewFilter(nostr.Filter{})
	for text, want := range map[string]wire.ChangesMessage{
		`{}`: {Filter: all},
		`{"kinds":[1],"#t":["a"],"since":9223372036854775807,"limit":0,"live":true,"removed":true,"epoch":"E"}`: {
			Filter: kinds, Since: wire.Cursor{Position: math.MaxInt64, Epoch: "E"}, HasLimit: true, Live: true, Removed: true,
		},
		`{"since":5,"live":false,"limit":3}`:                                  {Filter: all, Since: wire.Cursor{Position: 5}, Limit: 3, HasLimit: true},
		`{"since":"E:7:01020304050607ff"}`:                                    {Filter: all, Since: token},
		`{"epoch":"E","since":"E:7:01020304050607ff"}`:                        {Filter: all, Since: token},
		`{"since":"E:7:01020304050607ff","epoch":"F"}`:                        {Filter: all, Since: wire.Cursor{Foreign: true}},
		`{"since":"E:7:01020304050607FF"}`:                                    {Filter: all, Since: wire.Cursor{Foreign: true}},
		`{"since":"E:7:01020304050607","epoch":"E"}`:                          {Filter: all, Since: wire.Cursor{Foreign: true}},
		`{"since":"E:07:01020304050607ff"}`:                                   {Filter: all, Since: wire.Cursor{Foreign: true}},
		`{"since":":7:01020304050607ff"}`:                                     {Filter: all, Since: wire.Cursor{Foreign: true}},
		`{"since":"E:9223372036854775808:01020304050607ff"}`:                  {Filter: all, Since: wire.Cursor{Foreign: true}},
		`{"since":"` + strings.Repeat("E", 65) + `:7:` + `0102030405060708"}`: {Filter: all, Since: wire.Cursor{Foreign: true}},
	} {
		m, err := wire.Decode([]byte(`["CHANGES","x",` + text + `]`))
		require.NoError(t, err, text)
		want.ID = "x"
		require.Equal(t, &want, m, text)
	}
}

func TestAFeedThatIsSentIsReadAsItWasMeant(t *testing.T) {
	t.Parallel()
	kinds := wire.NewFilter(nostr.Filter{Kinds: []int{1}})
	for _, m := range []wire.ChangesMessage{
		{ID: "x", Filter: wire.NewFilter(nostr.Filter{})},
		{ID: `a"b`, Filter: kinds, Since: wire.Cursor{Position: 7, Epoch: `E"`}, Limit: 3, HasLimit: true, Live: true},
		{ID: "x", Filter: kinds, Since: wire.CursorAt("E", 7, hexA), HasLimit: true, Removed: true},
		{ID: "x", Filter: kinds, Since: wire.Cursor{Foreign: true}},
	} {
		got, err := wire.Decode(wire.AppendChangesReq(nil, &m))
		require.NoError(t, err)
		require.Equal(t, &m, got)
	}
}

func TestDecodeRefusesAFeed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`["CHANGES"]`:                               "invalid: CHANGES needs a subscription id",
		`["CHANGES","x"]`:                           "invalid: CHANGES needs an object",
		`["CHANGES","x",[]]`:                        "invalid: CHANGES needs an object",
		`["CHANGES","x",{},{}]`:                     "invalid: CHANGES has too many elements",
		`["CHANGES","x",{"since":-1}]`:              "invalid: since must not be negative",
		`["CHANGES","x",{"since":null}]`:            "invalid: since is not an integer",
		`["CHANGES","x",{"since":1,"since":"a"}]`:   "invalid: CHANGES has a field twice: since",
		`["CHANGES","x",{"live":true,"live":true}]`: "invalid: CHANGES has a field twice: live",
		`["CHANGES","x",{"removed":"yes"}]`:         "invalid: removed is not true or false",
		`["CHANGES","x",{"epoch":1}]`:               "invalid: epoch is not a string",
		`["CHANGES","x",{"until":5}]`:               "unsupported: CHANGES has no until",
		`["CHANGES","x",{"search":"a"}]`:            "unsupported: CHANGES has no search",
		`["CHANGES","x",{"kinds":[1],"kinds":[]}]`:  "invalid: filter has a field twice: kinds",
		`["CHANGES","x",{"more":1}]`:                "unsupported: filter field more",
	} {
		_, err := wire.Decode([]byte(text))
		require.EqualError(t, err, want, text)
		var refused *wire.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "CHANGES", refused.Verb)
	}
}

func TestDecodeRelayReadsAFeed(t *testing.T) {
	t.Parallel()
	e := signed(t, "hello")
	change := func(c wire.Change) []byte { return c.AppendTo(wire.AppendChangesPrefix(nil, `a"b`)) }
	mark := wire.Mark{Cursor: wire.Cursor{Epoch: "E", Position: 9, Prefix: [8]byte{7: 1}}}
	more := mark
	more.More = true
	log := &wire.Log{Epoch: "E", Floor: 3, Head: 9}
	end := wire.RelayMessage{Change: "EOSE", Position: 9, Epoch: "E", Token: "E:9:0000000000000001"}
	endMore := end
	endMore.More = true
	for _, c := range []struct {
		frame []byte
		want  wire.RelayMessage
	}{
		{change(wire.Change{Position: 5, Event: e}), wire.RelayMessage{Change: "EVENT", Position: 5, Event: e}},
		{change(wire.Change{Position: 5, Event: e, Removed: true}), wire.RelayMessage{Change: "REMOVED", Position: 5, ID: e.ID}},
		{wire.AppendChangesEOSE(nil, `a"b`, mark), end},
		{wire.AppendChangesEOSE(nil, `a"b`, more), endMore},
		{wire.AppendChangesErr(nil, `a"b`, wire.Because(wire.Failed, "x"), nil), wire.RelayMessage{Change: "ERR", Text: "error: x"}},
		{
			wire.AppendChangesErr(nil, `a"b`, wire.Because(wire.Resync, "x"), log),
			wire.RelayMessage{Change: "ERR", Text: "resync: x", Epoch: "E", Floor: 3, Head: 9},
		},
		{[]byte(`["CHANGES","a\"b","EOSE",9]`), wire.RelayMessage{Change: "EOSE", Position: 9}},
		{[]byte(`["CHANGES","a\"b","EOSE",9,null,1]`), wire.RelayMessage{Change: "EOSE", Position: 9}},
		{[]byte(`["CHANGES","a\"b","EOSE",9,{"seen":[{}],"more":false}]`), wire.RelayMessage{Change: "EOSE", Position: 9}},
		{[]byte(`["CHANGES","a\"b","ERR"]`), wire.RelayMessage{Change: "ERR"}},
	} {
		m, err := wire.DecodeRelay(c.frame)
		require.NoError(t, err, "%s", c.frame)
		c.want.Verb, c.want.Sub = "CHANGES", `a"b`
		require.Equal(t, c.want, m)
	}
}

func TestDecodeRelayRefusesAFeed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`["CHANGES","x"]`:                        "invalid: CHANGES has no kind of change",
		`["CHANGES","x","STATUS",{}]`:            "unsupported: unknown kind of change",
		`["CHANGES","x","EVENT"]`:                "invalid: CHANGES has no position",
		`["CHANGES","x","EVENT",5]`:              "invalid: CHANGES EVENT needs a position and an event",
		`["CHANGES","x","EVENT",5,{}]`:           "invalid: event has no id",
		`["CHANGES","x","REMOVED",5]`:            "invalid: CHANGES has no event id",
		`["CHANGES","x","EOSE","5"]`:             "invalid: position is not an integer",
		`["CHANGES","x","EOSE",5,{"epoch":1}]`:   "invalid: epoch is not a string",
		`["CHANGES","x","EOSE",5,{"more":1}]`:    "invalid: more is not true or false",
		`["CHANGES","x","ERR","a",{"head":"1"}]`: "invalid: head is not an integer",
		`["CHANGES","x","ERR","a",{"head":1]`:    "invalid: comma or closing bracket expected",
	} {
		_, err := wire.DecodeRelay([]byte(text))
		require.EqualError(t, err, want, text)
	}
}

func FuzzParseToken(f *testing.F) {
	for _, s := range []string{"E:7:0102030405060708", "::", "E:0:0000000000000000", "E:-1:0102030405060708", "a:b:1:0102030405060708"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, ok := wire.ParseToken(s)
		if !ok {
			return
		}
		require.Equal(t, s, c.Token())
		require.True(t, c.IsToken)
		require.NotEmpty(t, c.Epoch)
	})
}
