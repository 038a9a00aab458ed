package relay_test

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/regress/postgres"
	"fencepost/relay"
	"fencepost/relay/wire"
)

// O18: the database is gone for one replica only, which does not hear of a revocation
// that the other one has acknowledged.
func TestAReplicaThatIsCutOffShowsNothingPrivate(t *testing.T) {
	t.Parallel()
	database := postgres.Start(t).Database(t)
	proxy := postgres.NewProxy(t, database)
	whole := replicas(t, database, 1)[0]
	o := options(t.TempDir())
	over(proxy.URL())(&o.Config)
	made, err := relay.New(t.Context(), o)
	require.NoError(t, err)
	cut := run(t, made)

	pizza := nostr.Tag{"h", "pizza"}
	alice := whole.login(t, aliceKey)
	require.True(t, alice.say(9007, "", pizza).OK)
	require.True(t, alice.say(9002, "", pizza, nostr.Tag{"name", "Pizza"}, nostr.Tag{"private"}, nostr.Tag{"closed"}).OK)
	require.True(t, alice.say(9000, "", pizza, nostr.Tag{"p", public(t, bobKey)}).OK)
	cut.follow(t, whole)
	bob, stranger := cut.login(t, bobKey), cut.dial(t)
	require.Equal(t, "EOSE", bob.asks(`["REQ","live",{"#h":["pizza"],"kinds":[9]}]`).Verb)
	open(t, stranger, `{"kinds":[1]}`)

	proxy.Set(postgres.BlackHole)
	require.True(t, alice.say(9001, "", pizza, nostr.Tag{"p", public(t, bobKey)}).OK, "the other one goes on")
	m := next(t, bob.Client)
	for m.Verb == "EVENT" { // what the cut came after
		m = next(t, bob.Client)
	}
	require.Equal(t, "CLOSED", m.Verb)
	require.Contains(t, m.Text, "error: ")
	send(t, bob.Client, `["REQ","again",{"#h":["pizza"]}]`)
	m = next(t, bob.Client)
	require.Equal(t, "CLOSED", m.Verb)
	require.Contains(t, m.Text, "error: ")
	status, _ := cut.ready(t)
	require.Equal(t, 503, status)

	proxy.Set(postgres.None)
	until(t, func() bool { status, _ = cut.ready(t); return status == 200 })
	cut.follow(t, whole)
	require.Contains(t, bob.asks(`["REQ","again",{"#h":["pizza"]}]`).Text, "restricted: ")
	after := noteOf(t, aliceKey, "public")
	require.NoError(t, alice.Publish(t.Context(), after))
	require.Equal(t, after.ID, next(t, stranger).Event.ID, "who reads what is public has stayed")
}

// asks sends a REQ again while the answer to it is an error: a replica that has stood still
// does not know what may be read until it has looked.
func (p *person) asks(req string) (answer wire.RelayMessage) {
	p.t.Helper()
	until(p.t, func() bool {
		send(p.t, p.Client, req)
		answer = next(p.t, p.Client)
		return !strings.HasPrefix(answer.Text, "error: ")
	})
	return answer
}
