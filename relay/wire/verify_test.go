package wire_test

import (
	"math"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

func TestVerifyAcceptsWhatWasSigned(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for c := range rune(0x180) {
		all.WriteRune(c)
	}
	for _, content := range []string{"", "hello", all.String(), "\u2028\u2029\x7f😀", strings.Repeat("long ", 5000)} {
		e := signed(t, content, nostr.Tag{"t", content}, nostr.Tag{""})
		require.NoError(t, e.Verify())
		again, err := wire.DecodeEvent(e.Raw())
		require.NoError(t, err)
		require.Equal(t, e, again)
		require.NoError(t, again.Verify())
	}
}

// The id of a fixed event, made by JSON.stringify and SHA-256 of another program.
func TestCanonicalFormIsThatOfOtherPrograms(t *testing.T) {
	t.Parallel()
	e := wire.NewEvent(nostr.Event{
		ID:        "0ebf84f11789216965dca8cf1177b87efee74c14f2596d07ca973e1951d9cbe6",
		PubKey:    hexA,
		Sig:       sigC,
		CreatedAt: 1700000000,
		Kind:      1,
		Tags:      nostr.Tags{{"t", "\"\\/"}},
		Content:   "\x00\x01\b\t\n\x0b\f\r\x1a\x1f\x7f\u2028é😀",
	})
	require.Equal(t, wire.Because(wire.Invalid, "bad signature"), e.Verify()) // the id itself is right
}

func TestVerifyReadsTheTextNotItsSpelling(t *testing.T) {
	t.Parallel()
	e := signed(t, "A/b\n")
	spelled := strings.Replace(string(e.Raw()), `A/b\n`, `\u0041\/b\u000A`, 1)
	again, err := wire.DecodeEvent([]byte(spelled))
	require.NoError(t, err)
	require.Equal(t, spelled, string(again.Raw()))
	require.NoError(t, again.Verify())
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	const id, sig = "event id does not match", "bad signature"
	const shape = "id, pubkey or sig is not lower-case hex of the right length"
	good := signed(t, "hello", nostr.Tag{"t", "x"}).Event
	for name, c := range map[string]struct {
		spoil func(*nostr.Event)
		want  string
	}{
		"content":          {func(e *nostr.Event) { e.Content = "other" }, id},
		"created_at":       {func(e *nostr.Event) { e.CreatedAt++ }, id},
		"kind":             {func(e *nostr.Event) { e.Kind = 2 }, id},
		"tags":             {func(e *nostr.Event) { e.Tags = nostr.Tags{{"t", "y"}} }, id},
		"id":               {func(e *nostr.Event) { e.ID = hexA }, id},
		"signature of 0":   {func(e *nostr.Event) { e.Sig = strings.Repeat("0", 128) }, sig},
		"signature of f":   {func(e *nostr.Event) { e.Sig = strings.Repeat("f", 128) }, sig},
		"changed sig":      {func(e *nostr.Event) { e.Sig = "00" + e.Sig[2:] }, sig},
		"key off curve":    {func(e *nostr.Event) { e.PubKey = strings.Repeat("f", 64); e.ID = e.GetID() }, sig},
		"key of 0":         {func(e *nostr.Event) { e.PubKey = strings.Repeat("0", 64); e.ID = e.GetID() }, sig},
		"another key":      {func(e *nostr.Event) { e.PubKey = hexA[:63] + "1"; e.ID = e.GetID() }, sig},
		"empty":            {func(e *nostr.Event) { *e = nostr.Event{} }, shape},
		"no signature":     {func(e *nostr.Event) { e.Sig = "" }, shape},
		"odd signature":    {func(e *nostr.Event) { e.Sig = e.Sig[1:] }, shape},
		"long signature":   {func(e *nostr.Event) { e.Sig += e.Sig }, shape},
		"signature no hex": {func(e *nostr.Event) { e.Sig = "zz" + e.Sig[2:] }, shape},
		"upper-case sig":   {func(e *nostr.Event) { e.Sig = strings.ToUpper(e.Sig) }, shape},
		"long key":         {func(e *nostr.Event) { e.PubKey += e.PubKey }, shape},
		"long id":          {func(e *nostr.Event) { e.ID += "00" }, shape},
	} {
		ev := good
		c.spoil(&ev)
		require.Equal(t, wire.Because(wire.Invalid, c.want), wire.NewEvent(ev).Verify(), name)
	}
}

func TestExpiration(t *testing.T) {
	t.Parallel()
	const now = 1_700_000_000
	for _, c := range []struct {
		value   string
		at      int64
		expired bool
		valid   bool
	}{
		{"0", 1, true, true},
		{"000", 1, true, true},
		{"1699999999", now - 1, true, true},
		{"1700000000", now, true, true},
		{"01700000001", now + 1, false, true},
		{"1700000000000", now * 1000, false, true}, // milliseconds: in the far future
		{"4294967296", 1 << 32, false, true},
		{"9223372036854775807", math.MaxInt64, false, true},
		{"9223372036854775808", math.MaxInt64, false, true},
		{strings.Repeat("9", 100), math.MaxInt64, false, true},
		{"", 0, false, false},
		{"-1", 0, false, false},
		{"+1", 0, false, false},
		{"1e3", 0, false, false},
		{"1.5", 0, false, false},
		{" 1", 0, false, false},
		{"soon", 0, false, false},
		{strings.Repeat("9", 100) + "x", 0, false, false},
	} {
		e, err := wire.DecodeEvent(signed(t, "", nostr.Tag{"x", "1"}, nostr.Tag{"expiration", c.value}, nostr.Tag{"expiration", "5"}).Raw())
		require.NoError(t, err)
		at, ok := e.Expires()
		require.Equal(t, c.at, at, c.value)
		require.Equal(t, c.at != 0, ok, c.value)
		require.Equal(t, c.expired, e.Expired(now), c.value)
		if c.valid {
			require.NoError(t, e.Validate(), c.value)
		} else {
			require.Equal(t, wire.Because(wire.Invalid, "expiration is not a plain number of seconds"), e.Validate(), c.value)
		}
	}

	require.Error(t, signed(t, "", nostr.Tag{"expiration"}).Validate())
	_, ok := signed(t, "").Expires()
	require.False(t, ok)
	require.NoError(t, signed(t, "").Validate())
}

func TestEmbedsProtected(t *testing.T) {
	t.Parallel()
	protected := string(signed(t, "a \"secret\"", nostr.Tag{"t", "x"}, nostr.Tag{"-"}).Raw())
	open := string(signed(t, "for everybody", nostr.Tag{"t", "-"}).Raw())
	repost := func(content string) string {
		ev := nostr.Event{Kind: 6, CreatedAt: 1, Content: content}
		require.NoError(t, ev.Sign(nostr.GeneratePrivateKey()))
		return string(wire.NewEvent(ev).Raw())
	}
	const no, yes, bad = "no", "yes", "bad"
	for _, test := range []struct {
		kind    int
		content string
		want    string
	}{
		{6, protected, yes},
		{16, protected, yes},
		{6, " \t\r\n" + protected + "\n", yes},
		{6, strings.Replace(protected, `{`, `{ "seen" : [1],`, 1), yes},
		{6, strings.Replace(protected, `"-"`, `"\u002d"`, 1), yes},
		{16, repost(protected), yes},
		{16, repost(repost(protected)), yes},
		{1, protected, no},
		{7, protected, no},
		{6, open, no},
		{16, repost(open), no},
		{16, repost(""), no},
		{6, "", no},
		{6, " ", no},
		{6, "[" + protected + "]", no},
		{1, "{", no},
		// What others may read as the protected event.
		{6, strings.Replace(protected, `,"kind":1`, `.0,"kind":1`, 1), bad},
		{6, strings.Replace(protected, `"kind":1`, `"kind":1,"kind":1`, 1), bad},
		{6, strings.Replace(protected, `[["t"`, `[[],["t"`, 1), bad},
		{6, "\u00a0" + protected, bad},
		{6, "\ufeff\v" + protected, bad},
		{6, protected[:len(protected)-1], bad},
		{6, protected + "x", bad},
		{6, `{"tags":[["-"]]}`, bad},
		{16, repost("{" + protected), bad},
	} {
		e := wire.NewEvent(nostr.Event{Kind: test.kind, Content: test.content})
		got, err := e.EmbedsProtected()
		require.Equal(t, test.want == yes, got, "%d %s", test.kind, test.content)
		if test.want != bad {
			require.NoError(t, err, "%d %s", test.kind, test.content)
			continue
		}
		var r wire.Reason
		require.ErrorAs(t, err, &r, "%d %s", test.kind, test.content)
		require.Equal(t, wire.Invalid, r.Prefix)
	}
}
