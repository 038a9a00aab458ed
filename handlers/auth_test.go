package handlers_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/handlers"
	"fencepost/regress/harness"
	"fencepost/relay/wire"
)

// setTag changes the value of a tag that the event has.
func setTag(name, value string) func(*nostr.Event) {
	return func(ev *nostr.Event) {
		for i := range ev.Tags {
			if ev.Tags[i][0] == name {
				ev.Tags[i] = nostr.Tag{name, value}
			}
		}
	}
}

func dropTag(name string) func(*nostr.Event) {
	return func(ev *nostr.Event) {
		ev.Tags = slices.DeleteFunc(ev.Tags, func(tag nostr.Tag) bool { return tag[0] == name })
	}
}

func at(second nostr.Timestamp) func(*nostr.Event) {
	return func(ev *nostr.Event) { ev.CreatedAt = second }
}

func TestAuthenticationIsChecked(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*nostr.Event)
		ok     bool
	}{
		{"right", nil, true},
		{"another challenge", setTag("challenge", "guessed"), false},
		{"no challenge", dropTag("challenge"), false},
		{"an empty challenge", setTag("challenge", ""), false},
		{"another relay", setTag("relay", "ws://evil.test"), false},
		{"no relay", dropTag("relay"), false},
		{"another kind", func(ev *nostr.Event) { ev.Kind = 1 }, false},
		{"as old as may be", at(now - 600), true},
		{"older", at(now - 601), false},
		{"as early as may be", at(now + 600), true},
		{"earlier", at(now + 601), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := harness.Options{Handlers: handlers.Limits{AuthWindow: 10 * time.Minute}}
			talk(t, o, func(t *testing.T, _ *harness.Relay, c *harness.Client) {
				ev := auth(t, c, alice, test.change)
				prefix := wire.Invalid
				if test.ok {
					prefix = ""
				}
				requireOK(t, sayOne(t, c, authMessage(ev)), ev, test.ok, prefix)
				require.Equal(t, test.ok, len(c.Conn.Keys()) == 1)
			})
		})
	}
}

func TestAuthenticationNeedsATrueSignature(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{}, func(t *testing.T, _ *harness.Relay, c *harness.Client) {
		forged := auth(t, c, alice, nil).Event
		forged.Sig = auth(t, c, bob, nil).Sig
		bad := wire.NewEvent(forged)
		requireOK(t, sayOne(t, c, authMessage(bad)), bad, false, wire.Invalid)
		require.Empty(t, c.Conn.Keys())
	})
}

func TestChallengesBelongToTheirConnection(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{}, func(t *testing.T, r *harness.Relay, c *harness.Client) {
		other := r.Connect(t)
		require.NotEqual(t, c.Challenge, other.Challenge)
		stolen := auth(t, other, alice, nil)
		requireOK(t, sayOne(t, c, authMessage(stolen)), stolen, false, wire.Invalid)
		requireOK(t, sayOne(t, other, authMessage(stolen)), stolen, true, "")
		require.Empty(t, c.Conn.Keys())
	})
}

func TestRelayURLsAreComparedInTheirNormalForm(t *testing.T) {
	t.Parallel()
	tests := []struct {
		own     []string // none: what the client connected to, ws://relay.test
		claimed string
		ok      bool
	}{
		{nil, "ws://relay.test/", true},
		{nil, "WS://Relay.TEST:80", true},
		{nil, "wss://relay.test", false},
		{nil, "ws://relay.test:7447", false},
		{nil, "ws://relay.test/path", false},
		{nil, "relay.test", false},
		{nil, "", false},
		{nil, "ws://", false},
		{nil, "ws://relay.test.evil.test", false},
		{nil, "ws://evil.test/ws://relay.test", false},
		{nil, "ws://relay.test@evil.test", false},
		{nil, "ws://relay.test?x=1", false},

		{[]string{"wss://Relay.Example:443/nostr/"}, "wss://relay.example/nostr", true},
		{[]string{"wss://Relay.Example:443/nostr/"}, "WSS://RELAY.EXAMPLE:443/nostr/", true},
		{[]string{"wss://relay.example/nostr"}, "https://relay.example/nostr", true},
		{[]string{"wss://relay.example/nostr"}, "wss://relay.example./nostr", true},
		{[]string{"wss://relay.example/nostr"}, "wss://relay.example/NOSTR", false},
		{[]string{"wss://relay.example/nostr"}, "wss://relay.example/", false},
		{[]string{"wss://relay.example/nostr"}, "wss://relay.example/nostr/more", false},
		{[]string{"wss://relay.example/nostr"}, "wss://relay.example:80/nostr", false},
		{[]string{"wss://relay.example/nostr"}, "ws://relay.example/nostr", false},
		{[]string{"wss://relay.example:4848"}, "wss://relay.example:4848/", true},
		{[]string{"wss://relay.example:4848"}, "wss://relay.example", false},
		{[]string{"wss://relay.example"}, "ws://relay.test", false},
		{[]string{"wss://one.example", "ws://two.onion/"}, "ws://two.onion", true},
		{[]string{"wss://one.example", "ws://two.onion/"}, "ws://one.example", false},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.own, " ", test.claimed), func(t *testing.T) {
			t.Parallel()
			o := harness.Options{Handlers: handlers.Limits{URLs: test.own}}
			talk(t, o, func(t *testing.T, _ *harness.Relay, c *harness.Client) {
				ev := auth(t, c, alice, setTag("relay", test.claimed))
				require.Equal(t, test.ok, sayOne(t, c, authMessage(ev)).OK)
			})
		})
	}
}

func TestOneConnectionHoldsSeveralKeysUpToABound(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{}, func(t *testing.T, _ *harness.Relay, c *harness.Client) {
		const most = 64
		for n := 1; n <= most; n++ {
			authenticate(t, c, fmt.Sprintf("%064x", n))
		}
		require.Len(t, c.Conn.Keys(), most)
		authenticate(t, c, fmt.Sprintf("%064x", 1))
		require.Len(t, c.Conn.Keys(), most, "a key counts once")
		ev := auth(t, c, fmt.Sprintf("%064x", most+1), nil)
		requireOK(t, sayOne(t, c, authMessage(ev)), ev, false, wire.RateLimited)
	})
}

// One burst: each message is judged with what the one before it brought about.
func TestAuthenticationHoldsForTheNextMessage(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{Auth: "all"}, func(t *testing.T, _ *harness.Relay, c *harness.Client) {
		for _, msg := range []string{`["REQ","x",{}]`, `["COUNT","c",{}]`} {
			m := sayOne(t, c, msg)
			require.Equal(t, "CLOSED", m.Verb)
			requirePrefix(t, m.Text, wire.AuthRequired)
		}
		c.Send(authMessage(auth(t, c, alice, nil)))
		c.Send(`["REQ","x",{}]`)
		require.Equal(t, []string{"OK", "COUNT c", "EOSE x"}, sorted(verbs(say(t, c, `["COUNT","c",{}]`))))
	})
}
