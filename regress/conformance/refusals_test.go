package conformance_test

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// prefixes are the words that may begin a refusal (NIP-01, NIP-42 and the
// registry in NIP-01's list of standardised prefixes).
var prefixes = []string{
	"duplicate", "pow", "blocked", "rate-limited", "invalid", "restricted", "mute", "unsupported", "auth-required", "error",
}

// prefixOf returns the standard prefix of what a frame says, "" without one.
func prefixOf(f frame) string {
	for _, p := range prefixes {
		if text, ok := strings.CutPrefix(f.Text, p+": "); ok && text != "" {
			return p
		}
	}
	return ""
}

func requirePrefix(t *testing.T, f frame) {
	t.Helper()
	require.NotEmpty(t, prefixOf(f), "no standard prefix: %s", f.raw)
}

// Every refusal that can be reached has a standard prefix, and the right one.
func TestEveryRefusalHasItsPrefix(t *testing.T) {
	t.Parallel()
	secret, now := nostr.GeneratePrivateKey(), nostr.Now()
	open, strict, closed := target(t), target(t, narrow...), target(t, requireAll)
	event := func(e *wire.Event) string { return `["EVENT",` + string(e.Raw()) + `]` }
	protected := signed(secret, 1, now, random(), nostr.Tag{"-"})
	deleted := signed(secret, 1, now, random())
	old := signed(secret, 0, now-1, random())
	open.dial(t).store(deleted, signed(secret, 5, now, "", nostr.Tag{"e", deleted.ID}), signed(secret, 0, now, random()))
	large := []nostr.Tag{{"x", strings.Repeat("y", 51)}}
	rows := []struct {
		relay        *relay
		message      string
		verb, prefix string
	}{
		{open, `nonsense`, "NOTICE", "invalid"},
		{open, `["HELLO"]`, "NOTICE", "unsupported"},
		{open, `["FETCH","x",{}]`, "NOTICE", "unsupported"},
		{open, `["REQ","x",{"unknown":1}]`, "CLOSED", "unsupported"},
		{open, `["REQ","x",{"search":"x"}]`, "CLOSED", "unsupported"},
		{open, `["COUNT","x",{"search":"x"}]`, "CLOSED", "unsupported"},
		{open, `["REQ","x",{"kinds":[-1]}]`, "CLOSED", "invalid"},
		{open, `["REQ","",{}]`, "CLOSED", "invalid"},
		{open, `["CLOSE",""]`, "CLOSED", "invalid"},
		{open, `["EVENT",{"id":"x"}]`, "OK", "invalid"},
		{open, `["AUTH",{"id":"x"}]`, "OK", "invalid"},
		{open, event(protected), "OK", "auth-required"},
		{open, event(deleted), "OK", "blocked"},
		{open, event(old), "OK", "duplicate"},
		{open, event(signed(secret, 1, now, "", nostr.Tag{"expiration", "1"})), "OK", "invalid"},
		{open, event(signed(secret, 1, now, "", nostr.Tag{"expiration", "x"})), "OK", "invalid"},
		{open, event(signed(secret, 22242, now, "")), "OK", "invalid"},
		{strict, event(signed(secret, 1, now-7200, "")), "OK", "invalid"},
		{strict, event(signed(secret, 1, now+7200, "")), "OK", "invalid"},
		{strict, event(signed(secret, 1, now, "", large...)), "OK", "invalid"},
		{strict, `["REQ","x",{},{"limit":1},{"limit":2}]`, "CLOSED", "invalid"},
		{strict, `["COUNT","x",{"kinds":[1,2,3,4,5]}]`, "CLOSED", "invalid"},
		{closed, event(signed(secret, 1, now, "")), "OK", "auth-required"},
		{closed, `["REQ","x",{}]`, "CLOSED", "auth-required"},
		{closed, `["COUNT","x",{}]`, "CLOSED", "auth-required"},
	}
	for _, row := range rows {
		p := row.relay.dial(t)
		p.challenge()
		p.send(row.message)
		f := p.next()
		require.Equal(t, row.verb, f.Verb, "%.200s: %s", row.message, f.raw)
		require.Equal(t, row.prefix, prefixOf(f), "%.200s: %s", row.message, f.raw)
		require.False(t, f.OK, row.message)
	}
}
