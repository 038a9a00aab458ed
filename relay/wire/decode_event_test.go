package wire_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

func TestDecodeEventReadsAllFields(t *testing.T) {
	t.Parallel()
	text := unsignedJSON(`[["e","x"]]`, `[["e","x","","y"],["-"],["","\u0000"]]`, `:7,`, `:9223372036854775807,`, `"kind":1,`, `"kind":65535,`)
	e, err := wire.DecodeEvent([]byte(text))
	require.NoError(t, err)
	require.Equal(t, nostr.Event{
		ID: hexA, PubKey: hexB, CreatedAt: 1<<63 - 1, Kind: 65535, Content: "hi", Sig: sigC,
		Tags: nostr.Tags{{"e", "x", "", "y"}, {"-"}, {"", "\x00"}},
	}, e.Event)
	require.Equal(t, text, string(e.Raw()))
}

func TestDecodeEventWithManyTags(t *testing.T) {
	t.Parallel()
	var want nostr.Tags
	for i := range 100 {
		want = append(want, nostr.Tag{"t", strings.Repeat("x", i), "z"}[:1+i%3])
	}
	e, err := wire.DecodeEvent(signed(t, "", want...).Raw())
	require.NoError(t, err)
	require.Equal(t, want, e.Tags)
	// One tag must not reach into the next by append.
	_ = append(e.Tags[0], "overwritten")
	require.Equal(t, want, e.Tags)
}

func TestNoTagsIsAnEmptyList(t *testing.T) {
	t.Parallel()
	e, err := wire.DecodeEvent([]byte(unsignedJSON(`[["e","x"]]`, `[]`)))
	require.NoError(t, err)
	require.Equal(t, nostr.Tags{}, e.Tags)
	require.Contains(t, string(signed(t, "").Raw()), `"tags":[]`)
}

func TestDecodeEventRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, new, text string }{
		{`"id":"` + hexA, `"id":"` + hexA[1:], "id is not lower-case hex of the right length"},
		{`"id":"` + hexA, `"id":"` + strings.ToUpper(hexA), "id is not lower-case hex of the right length"},
		{`"id":"` + hexA, `"id":"` + hexA[1:] + "g", "id is not lower-case hex of the right length"},
		{`"` + hexB + `"`, `null`, "pubkey is not a string"},
		{hexB, hexB + "b", "pubkey is not lower-case hex of the right length"},
		{sigC, "", "sig is not lower-case hex of the right length"},
		{`:7,`, `:7.0,`, "created_at is not an integer"},
		{`:7,`, `:7e3,`, "created_at is not an integer"},
		{`:7,`, `:7E3,`, "created_at is not an integer"},
		{`:7,`, `:-7,`, "created_at must not be negative"},
		{`:7,`, `:-0,`, "created_at is not an integer"},
		{`:7,`, `:+7,`, "created_at is not an integer"},
		{`:7,`, `:07,`, "created_at is not an integer"},
		{`:7,`, `:00,`, "created_at is not an integer"},
		{`:7,`, `:"7",`, "created_at is not an integer"},
		{`:7,`, `:null,`, "created_at is not an integer"},
		{`:7,`, `:,`, "created_at is not an integer"},
		{`:7,`, `:9223372036854775808,`, "created_at is too large"},
		{`:7,`, `:99999999999999999999999999,`, "created_at is too large"},
		{`:7,`, `:0x7,`, "comma or closing bracket expected"},
		{`"kind":1`, `"kind":65536`, "kind is not between 0 and 65535"},
		{`"kind":1`, `"kind":-1`, "kind must not be negative"},
		{`[["e","x"]]`, `null`, "tags is not a list"},
		{`[["e","x"]]`, `{}`, "tags is not a list"},
		{`["e","x"]`, `"e"`, "a tag is not a list"},
		{`["e","x"]`, `[]`, "a tag is empty"},
		{`["e","x"]`, `["e"],[],["x"]`, "a tag is empty"},
		{`["e","x"]`, `["e",null]`, "tag element is not a string"},
		{`["e","x"]`, `["e",1]`, "tag element is not a string"},
		{`["e","x"]`, `["e",["x"]]`, "tag element is not a string"},
		{`["e","x"]`, `["e" "x"]`, "comma or closing bracket expected"},
		{`["e","x"]`, `["e",]`, "tag element is not a string"},
		{`["e","x"]`, `["e","x"],`, "a tag is not a list"},
		{`"hi"`, `1`, "content is not a string"},
		{`"content":"hi",`, ``, "event has no content"},
		{`"kind":1,`, ``, "event has no kind"},
		{`"kind":1,`, `"Kind":1,`, "event has no kind"},
		{`"kind":1,`, `"kind":1,"kind":1,`, "event has a field twice: kind"},
		{`"kind":1,`, `"kind":1,"\u006bind":1,`, "event has a field twice: kind"},
		{`"kind":1,`, `"kind":1,"x":1,"x":1,`, "event has a field twice: x"},
		{`"kind":1,`, `"kind":1,x:1,`, "field name is not a string"},
		{`"kind":1,`, `"kind" 1,`, "colon expected"},
		{`"kind":1,`, `"kind":1,"x":01,`, "value expected"},
		{`"kind":1,`, `"kind":1,"x":nul,`, "value expected"},
		{`"kind":1,`, `"kind":1,"x":,`, "value expected"},
		{`"kind":1,`, `"kind":1,"x":-,`, "value expected"},
		{`"kind":1,`, `"kind":1,"x":NaN,`, "value expected"},
		{`"kind":1,`, `"kind":1,"x":1.,`, "number without a fraction"},
		{`"kind":1,`, `"kind":1,"x":1e+,`, "number without an exponent"},
		{`"kind":1,`, `"kind":1,"x":[1,],`, "value expected"},
		{`"kind":1,`, `"kind":1,"x":{"a":1,},`, "field name is not a string"},
		{`"kind":1,`, `"kind":1,"x":[1},`, "comma or closing bracket expected"},
		{`"kind":1,`, `"kind":1,"x":` + nested(33) + `,`, "too deeply nested"},
		{`"kind":1,`, `"kind":1,"x":` + strings.Repeat("[", 1<<20) + `,`, "too deeply nested"},
		{sigC + `"}`, sigC + `"}}`, "there is something behind the end"},
		{sigC + `"}`, sigC + `",}`, "field name is not a string"},
		{sigC + `"}`, sigC + `"`, "comma or closing bracket expected"},
	} {
		text := unsignedJSON(c.old, c.new)
		require.NotEqual(t, unsignedJSON(), text)
		e, err := wire.DecodeEvent([]byte(text))
		require.Nil(t, e)
		require.EqualError(t, err, "invalid: "+c.text, text[:min(len(text), 400)])
	}
}

func nested(depth int) string {
	return strings.Repeat(`[{"a":`, depth/2) + strings.Repeat("[", depth%2) + "0" + strings.Repeat("]", depth%2) + strings.Repeat(`}]`, depth/2)
}

func TestReceivedBytesAreTheWireFormWhenTheyAreExact(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		unsignedJSON(),
		unsignedJSON(`"hi"`, `"\u0041\/ \t with blanks \\"`),
		unsignedJSON(`"x"`, `"\u0041 b"`),
		unsignedJSON(`"kind":1,`, ``, `"}`, `","kind":1}`), // another order of fields
	} {
		e, err := wire.DecodeEvent([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, text, string(e.Raw()))

		m, err := wire.Decode([]byte(`["EVENT", ` + text + `]`))
		require.NoError(t, err)
		require.Equal(t, text, string(m.(*wire.EventMessage).Event.Raw()))
	}
}

func TestOtherBytesAreRenderedAnew(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		unsignedJSON(`{"id"`, `{ "id"`),
		unsignedJSON(`"id":`, "\"id\"\t:"),
		unsignedJSON(`"kind":1`, "\"kind\":1\n"),
		unsignedJSON(`["e",`, `["e", `),
		unsignedJSON(`"kind"`, `"\u006bind"`),
		unsignedJSON(`"`+hexA, `"\u0061`+hexA[1:]),
		unsignedJSON(`"kind":1,`, `"kind":1,"seen":["wss://x",{"a":[-1.5e3,0,true,false,null,"\n"]},{},[]],`),
		unsignedJSON(`"kind":1,`, `"kind":1,"x":`+nested(32)+`,`),
		unsignedJSON(`"kind":1,`, `"kind":1,"":0,"ID":1,`),
	} {
		e, err := wire.DecodeEvent([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, unsignedJSON(), string(e.Raw()))
		require.Equal(t, wire.NewEvent(e.Event), e)
	}
}

// Not parallel: it reads the size of the whole heap.
func TestEventKeepsNoLargeMessageAlive(t *testing.T) {
	padding := strings.Repeat("x", 1<<20)
	blanks := strings.Repeat(" ", 1<<20)
	messages := [][]byte{
		[]byte(`["EVENT",` + unsignedJSON(`"kind":1,`, `"kind":1,"x":"`+padding+`",`) + `]`),
		[]byte(`["EVENT",` + unsignedJSON(`"kind":1,`, `"kind":1,`+blanks) + `]`),
		[]byte(`["EVENT",` + blanks + unsignedJSON() + `]`),
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var kept []wire.Message
	for _, message := range messages {
		for range 16 {
			m, err := wire.Decode(message)
			require.NoError(t, err)
			kept = append(kept, m)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(4<<20))
	runtime.KeepAlive(kept)
	runtime.KeepAlive(messages)
}

func TestDecodeEventAllocatesLittle(t *testing.T) {
	raw := signed(t, "hello", nostr.Tag{"e", hexA}, nostr.Tag{"p", hexB}, nostr.Tag{"t", "x"}).Raw()
	allocs := testing.AllocsPerRun(100, func() { _, _ = wire.DecodeEvent(raw) })
	require.LessOrEqual(t, allocs, 5.0) // decoder, copy, event, strings, tags
}

func TestEventHelpers(t *testing.T) {
	t.Parallel()
	e := signed(t, "", nostr.Tag{"d"}, nostr.Tag{"d", "late"}, nostr.Tag{"title", "x", "y"})
	require.Equal(t, "", e.D())
	v, ok := e.Tag("title")
	require.Equal(t, "x", v)
	require.True(t, ok)
	_, ok = e.Tag("none")
	require.False(t, ok)
	require.False(t, e.Protected())
	require.True(t, signed(t, "", nostr.Tag{"-"}).Protected())
	require.Equal(t, "", e.Address())

	for kind, want := range map[int]wire.Class{
		0: wire.Replaceable, 1: wire.Regular, 3: wire.Replaceable, 4: wire.Regular, 9999: wire.Regular,
		10000: wire.Replaceable, 19999: wire.Replaceable, 20000: wire.Ephemeral, 29999: wire.Ephemeral,
		30000: wire.Addressable, 39999: wire.Addressable, 40000: wire.Regular, 65535: wire.Regular,
	} {
		require.Equal(t, want, wire.ClassOf(kind), kind)
	}
	replaceable := wire.NewEvent(nostr.Event{Kind: 10002, PubKey: hexA, Tags: nostr.Tags{{"d", "x"}}})
	require.Equal(t, "10002:"+hexA+":", replaceable.Address())
	addressable := wire.NewEvent(nostr.Event{Kind: 30000, PubKey: hexA, Tags: nostr.Tags{{"d", "a:b"}}})
	require.Equal(t, "30000:"+hexA+":a:b", addressable.Address())
}

func TestEveryByteAtEveryPlaceOfHex(t *testing.T) {
	t.Parallel()
	for place := range 64 {
		for c := range 256 {
			v := []byte(hexA)
			v[place] = byte(c)
			require.Equal(t, strings.IndexByte("0123456789abcdef", byte(c)) >= 0, wire.IsHex(string(v), 64), "%q", v)
		}
	}
}
