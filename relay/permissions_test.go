package relay_test

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/client"
	"fencepost/relay/config"
	"fencepost/relay/wire"
)

const aliceKey = "0000000000000000000000000000000000000000000000000000000000000003"

// person is a client with a key that has authenticated.
type person struct {
	*client.Client
	t   *testing.T
	key string
}

// login connects with a key.
func (r *running) login(t *testing.T, key string) *person {
	t.Helper()
	c := r.dial(t)
	m, err := c.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, "AUTH", m.Verb)
	ev := nostr.Event{
		Kind: nostr.KindClientAuthentication, CreatedAt: nostr.Now(),
		Tags: nostr.Tags{{"relay", "ws://" + r.url}, {"challenge", m.Text}},
	}
	require.NoError(t, ev.Sign(key))
	send(t, c, string(wire.AppendAuthMessage(nil, wire.NewEvent(ev))))
	m = next(t, c)
	require.True(t, m.OK, m.Text)
	return &person{Client: c, t: t, key: key}
}

// say publishes and returns the answer.
func (p *person) say(kind int, content string, tags ...nostr.Tag) wire.RelayMessage {
	p.t.Helper()
	ev := nostr.Event{Kind: kind, CreatedAt: nostr.Now(), Content: content, Tags: tags}
	require.NoError(p.t, ev.Sign(p.key))
	send(p.t, p.Client, string(wire.AppendEventMessage(nil, wire.NewEvent(ev))))
	for {
		if m := next(p.t, p.Client); m.Verb == "OK" {
			require.Equal(p.t, ev.ID, m.ID)
			return m
		}
	}
}

// stored returns the contents that a REQ is answered with, or why it is refused.
func (p *person) stored(filter string) (contents []string, refused string) {
	p.t.Helper()
	send(p.t, p.Client, `["REQ","s",`+filter+`]`)
	for {
		switch m := next(p.t, p.Client); m.Verb {
		case "EVENT":
			contents = append(contents, m.Event.Content)
		case "EOSE":
			send(p.t, p.Client, `["CLOSE","s"]`)
			return contents, ""
		case "CLOSED":
			return contents, m.Text
		}
	}
}

const inPizza = `{"#h":["pizza"],"kinds":[9]}`

func TestAPrivateGroupStaysPrivateOverARestart(t *testing.T) {
	t.Parallel()
	dir, pizza := t.TempDir(), nostr.Tag{"h", "pizza"}
	r := start(t, dir)
	alice := r.login(t, aliceKey)
	for _, m := range []wire.RelayMessage{
		alice.say(9007, "", pizza),
		alice.say(9002, "", pizza, nostr.Tag{"name", "Pizza"}, nostr.Tag{"private"}, nostr.Tag{"closed"}),
		alice.say(9, "hello", pizza),
	} {
		require.True(t, m.OK, m.Text)
	}
	check := func(r *running) {
		alice, other := r.login(t, aliceKey), r.login(t, operatorKey)
		got, refused := alice.stored(inPizza)
		require.Equal(t, []string{"hello"}, got, refused)
		got, refused = other.stored(inPizza)
		require.Empty(t, got)
		require.True(t, strings.HasPrefix(refused, "restricted: "), refused)
		got, refused = other.stored(`{"kinds":[9]}`)
		require.Empty(t, got)
		require.Empty(t, refused, "a broad question is narrowed")
		require.False(t, other.say(9021, "", pizza).OK, "it needs a code")
	}
	check(r)
	require.NoError(t, r.stop())
	check(start(t, dir))
}

// Join, post, ask, and be removed, over one socket each.
func TestAMemberJoinsReadsAndIsRemoved(t *testing.T) {
	t.Parallel()
	r, pizza := start(t, t.TempDir()), nostr.Tag{"h", "pizza"}
	alice, bob := r.login(t, aliceKey), r.login(t, operatorKey)
	public, err := nostr.GetPublicKey(operatorKey)
	require.NoError(t, err)
	require.True(t, alice.say(9007, "", pizza).OK)
	require.True(t, alice.say(9002, "", pizza, nostr.Tag{"name", "Pizza"}, nostr.Tag{"private"}, nostr.Tag{"closed"}).OK)
	require.True(t, alice.say(9009, "", pizza, nostr.Tag{"code", "secret"}).OK)
	require.True(t, bob.say(9021, "", pizza, nostr.Tag{"code", "secret"}).OK)
	require.True(t, bob.say(9, "I am in", pizza).OK)

	send(t, bob.Client, `["REQ","x",`+inPizza+`]`)
	require.Equal(t, "I am in", next(t, bob.Client).Event.Content)
	require.Equal(t, "EOSE", next(t, bob.Client).Verb)
	require.True(t, alice.say(9, "welcome", pizza).OK)
	require.Equal(t, "welcome", next(t, bob.Client).Event.Content)

	require.True(t, alice.say(9001, "", pizza, nostr.Tag{"p", public}).OK)
	require.True(t, alice.say(9, "he is gone", pizza).OK)
	m := next(t, bob.Client)
	require.Equal(t, "CLOSED", m.Verb)
	require.True(t, strings.HasPrefix(m.Text, "restricted: "), m.Text)
	got, refused := bob.stored(`{"kinds":[9]}`)
	require.Empty(t, got)
	require.Empty(t, refused)
	got, refused = alice.stored(inPizza)
	require.ElementsMatch(t, []string{"I am in", "welcome", "he is gone"}, got, refused)
}

func TestAReloadEndsWhatItsRulesNoLongerAllow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, dir)
	stranger, alice := r.dial(t), r.login(t, aliceKey)
	for _, c := range []*client.Client{stranger, alice.Client} {
		send(t, c, `["REQ","x",{"kinds":[1]}]`)
		require.Equal(t, "EOSE", next(t, c).Verb)
	}
	reloaded := options(dir).Config
	reloaded.Auth.Require = config.RequireAll
	changed, restart := r.Reload(reloaded)
	require.Equal(t, []string{"auth.require"}, changed)
	require.Empty(t, restart)
	m := next(t, stranger)
	require.Equal(t, "CLOSED", m.Verb)
	require.True(t, strings.HasPrefix(m.Text, "auth-required: "), m.Text)
	require.True(t, alice.say(1, "still here").OK)
	require.Equal(t, 1, r.metric(t, "fencepost_subscriptions"))
}

func TestWhoVanishesLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, dir)
	alice, other := r.login(t, aliceKey), r.login(t, operatorKey)
	require.True(t, alice.say(1, "one").OK)
	require.True(t, other.say(1, "two").OK)
	require.True(t, alice.say(62, "", nostr.Tag{"relay", "ALL_RELAYS"}).OK)
	got, refused := other.stored(`{"kinds":[1]}`)
	require.Equal(t, []string{"two"}, got, refused)
	require.NoError(t, r.stop())

	r = start(t, dir)
	got, refused = r.login(t, aliceKey).stored(`{"kinds":[1]}`)
	require.Equal(t, []string{"two"}, got, refused)
}
