package conformance_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

func (p *peer) authenticateAs(secret, url string) frame {
	p.t.Helper()
	return p.authenticateWith(signed(secret, 22242, nostr.Now(), "", nostr.Tag{"relay", url}, nostr.Tag{"challenge", p.challenge()}))
}

// FIELD_REPORTS 18: without relay.urls the address of the connection counts.
func TestRelayURLInAUTHIsComparedNormalised(t *testing.T) {
	t.Parallel()
	r := target(t)
	host := strings.TrimPrefix(r.url, "ws://")
	if *urlFlag != "" {
		t.Skip("the variants are those of a relay at the root of a host without a name")
	}
	for url, ok := range map[string]bool{
		"ws://" + host:           true,
		"ws://" + host + "/":     true,
		"WS://" + host:           true,
		"ws://" + host + "//":    true,
		"http://" + host:         true,
		" ws://" + host + " ":    true,
		"ws://" + host + "/path": false,
		"ws://" + host + "/?x=1": false,
		"ws://" + host + ":80":   false,
		"wss://" + host:          false,
		"ws://127.0.0.1":         false,
		"ws://other.example":     false,
		host:                     false,
		"":                       false,
		"ws://":                  false,
	} {
		f := r.dial(t).authenticateAs(nostr.GeneratePrivateKey(), url)
		require.Equal(t, ok, f.OK, "%q: %s", url, f.raw)
	}
}

// FIELD_REPORTS 18: behind a proxy, mounted below a path, under two names.
func TestConfiguredRelayURLsCount(t *testing.T) {
	t.Parallel()
	r := *target(t, "RELAY_URLS=wss://Relay.Example/nostr,wss://other.example:444/nostr/")
	r.url += "/nostr"
	for url, ok := range map[string]bool{
		"wss://relay.example/nostr":       true,
		"wss://relay.example/nostr/":      true,
		"wss://relay.example:443/nostr":   true,
		"WSS://RELAY.EXAMPLE/nostr":       true,
		"wss://relay.example./nostr":      true,
		"https://relay.example/nostr":     true,
		"wss://other.example:444/nostr":   true,
		"wss://relay.example/Nostr":       false,
		"wss://relay.example/":            false,
		"wss://relay.example":             false,
		"wss://relay.example/nostr/deep":  false,
		"ws://relay.example/nostr":        false,
		"wss://relay.example:444/nostr":   false,
		"wss://other.example/nostr":       false,
		"wss://relay.example.evil/nostr":  false,
		"wss://x.relay.example/nostr":     false,
		"wss://relay.example/nostr?x=y":   false,
		r.url:                             false,
		"wss://relay.example%2fnostr/":    false,
		"wss://relay.example/nostr/../..": false,
	} {
		f := r.dial(t).authenticateAs(nostr.GeneratePrivateKey(), url)
		require.Equal(t, ok, f.OK, "%q: %s", url, f.raw)
	}
	slashed := r
	slashed.url += "/"
	require.Equal(t, "EOSE", first(slashed.dial(t)))
	outside := r
	outside.url = strings.TrimSuffix(r.url, "/nostr")
	_, resp, err := outside.connect(t, nil)
	require.Error(t, err)
	require.Equal(t, http.StatusNotFound, resp.StatusCode, "the socket has one path only")
}

func first(p *peer) string {
	p.t.Helper()
	_, end := p.query(`{"limit":0}`)
	return end.Verb
}

// FIELD_REPORTS 18: forwarded headers count when they come from a trusted proxy.
func TestForwardedAddressCountsForAUTH(t *testing.T) {
	t.Parallel()
	header := http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"relay.example"}, "X-Forwarded-For": {"192.0.2.1"}}
	for _, trusted := range []bool{true, false} {
		env := []string(nil)
		if trusted {
			env = append(env, proxied...)
		}
		if !trusted && *urlFlag != "" {
			continue
		}
		p, _, err := target(t, env...).connect(t, &websocket.DialOptions{HTTPHeader: header})
		require.NoError(t, err)
		require.Equal(t, trusted, p.authenticateAs(p.secret, "wss://relay.example").OK)
		require.Equal(t, !trusted, p.authenticateAs(p.secret, p.relay.url).OK)
	}
}

const requireAll = "AUTH_REQUIRE=all"

// FIELD_REPORTS 19.
func TestRefusedREQWorksUnderItsIDAfterAUTH(t *testing.T) {
	t.Parallel()
	r := target(t, requireAll)
	p, writer := r.dial(t), r.dial(t)
	topic := random()
	e := p.note(topic, nostr.Now())
	refused := p.publish(e)
	requireOK(t, refused, e.ID, false, "auth-required", "EVENT")
	for range 2 {
		p.req("x", on(topic))
		events, end := p.stored("x")
		require.Empty(t, events)
		require.Equal(t, "CLOSED", end.Verb)
		require.Equal(t, "auth-required", prefixOf(end), end.raw)
	}
	count := p.count(on(topic))
	require.Equal(t, "CLOSED", count.Verb, "COUNT is read as well: %s", count.raw)
	require.Equal(t, "auth-required", prefixOf(count))

	require.True(t, writer.authenticate(writer.secret).OK)
	require.True(t, writer.publish(e).OK)
	require.Empty(t, about("x", p.settle()), "nothing live for a refused subscription")

	require.False(t, p.authenticateAs(p.secret, "wss://other.example").OK)
	p.req("x", on(topic))
	_, end := p.stored("x")
	require.Equal(t, "CLOSED", end.Verb, "a failed AUTH opens nothing")

	auth := signed(p.secret, 22242, nostr.Now(), "", nostr.Tag{"relay", r.url}, nostr.Tag{"challenge", p.challenge()})
	p.send(string(wire.AppendAuthMessage(nil, auth)), message("REQ", "x", on(topic))) // the REQ does not wait for the OK
	events, end := p.stored("x")
	require.Equal(t, "EOSE", end.Verb, end.raw)
	require.Equal(t, []string{e.ID}, idsOf(events))
	require.Equal(t, 1, p.count(on(topic)).Count)
	live := p.note(topic, nostr.Now())
	require.True(t, writer.publish(live).OK)
	require.Equal(t, []string{live.ID}, idsOf(eventsOf("x", p.passed())))
}

// NIP-42: required for writing only.
func TestAuthRequiredForWriting(t *testing.T) {
	t.Parallel()
	p := target(t, "AUTH_REQUIRE=write").dial(t)
	e := p.note(random(), nostr.Now())
	requireOK(t, p.publish(e), e.ID, false, "auth-required", "EVENT")
	require.Equal(t, "EOSE", first(p))
	require.True(t, p.authenticate(nostr.GeneratePrivateKey()).OK, "any key will do")
	require.True(t, p.publish(e).OK)
}

// NIP-70.
func TestProtectedEventIsTakenFromItsAuthorOnly(t *testing.T) {
	t.Parallel()
	p := target(t).dial(t)
	e := signed(p.secret, 1, nostr.Now(), random(), nostr.Tag{"-"})
	requireOK(t, p.publish(e), e.ID, false, "auth-required", "without AUTH")
	require.True(t, p.authenticate(nostr.GeneratePrivateKey()).OK)
	requireOK(t, p.publish(e), e.ID, false, "restricted", "as somebody else")
	require.Empty(t, p.ids(`{"ids":["`+e.ID+`"]}`))
	require.True(t, p.authenticate(p.secret).OK, "a second key on one connection")
	require.True(t, p.publish(e).OK)
	require.Equal(t, []string{e.ID}, p.relay.dial(t).ids(`{"ids":["`+e.ID+`"]}`), "anybody may read it")
	for _, tag := range []nostr.Tag{{"-", "x"}, {"-", ""}} {
		e := signed(nostr.GeneratePrivateKey(), 1, nostr.Now(), random(), tag)
		require.False(t, p.publish(e).OK, "the tag may have values: %v", tag)
	}
	require.True(t, p.publish(signed(nostr.GeneratePrivateKey(), 1, nostr.Now(), random(), nostr.Tag{"--"}, nostr.Tag{"x", "-"})).OK)
}
