package conformance_test

import (
	"net/http"
	"testing"

	"github.com/coder/websocket"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// A ban ends what there is and refuses what comes.
func TestABannedKeyIsNoLongerHere(t *testing.T) {
	t.Parallel()
	r := target(t, managed()...)
	p, bystander := r.dial(t), r.dial(t)
	for _, x := range []*peer{p, bystander} {
		require.True(t, x.authenticate(x.secret).OK)
	}
	note := p.note(random(), nostr.Now())
	p.store(note)
	r.manage(t, "banpubkey", public(p.secret), "spam")
	require.Equal(t, websocket.StatusPolicyViolation, p.ended())

	again := r.dial(t)
	f := again.authenticate(p.secret)
	require.False(t, f.OK)
	require.Equal(t, "blocked", prefixOf(f), f.raw)
	require.Equal(t, websocket.StatusPolicyViolation, again.ended())

	other := r.dial(t)
	other.expect(signed(p.secret, 1, nostr.Now(), random()), "blocked", "without AUTH too")
	bystander.expect(signed(p.secret, 1, nostr.Now(), random()), "blocked", "through somebody else")
	bystander.expect(bystander.note(random(), nostr.Now()), "", "others go on")
	require.Equal(t, []string{note.ID}, other.ids(`{"ids":["`+note.ID+`"]}`), "a ban deletes nothing")

	r.manage(t, "unbanpubkey", public(p.secret))
	back := r.dial(t)
	require.True(t, back.authenticate(p.secret).OK)
	back.expect(signed(p.secret, 1, nostr.Now(), random()), "", "after the ban")
}

func TestABannedEventIsRefused(t *testing.T) {
	t.Parallel()
	r := target(t, managed()...)
	p := r.dial(t)
	e := p.note(random(), nostr.Now())
	p.store(e)
	r.manage(t, "banevent", e.ID, "spam")
	require.Empty(t, p.ids(`{"ids":["`+e.ID+`"]}`))
	p.expect(e, "blocked", "it stays away")
	r.manage(t, "allowevent", e.ID)
	p.expect(e, "", "until it may come back")
}

// What is withdrawn is neither taken nor shown; subscriptions to it end.
func TestAWithdrawnKindIsRefused(t *testing.T) {
	t.Parallel()
	r := own(t, managed()...)
	p := r.dial(t)
	topic := random()
	odd := signed(p.secret, 1111, nostr.Now(), random(), nostr.Tag{"t", topic})
	note := p.note(topic, nostr.Now())
	p.store(odd, note)
	for id, filter := range map[string]string{"kind": `{"kinds":[1111]}`, "broad": on(topic)} {
		p.req(id, filter)
		p.stored(id)
	}
	r.manage(t, "disallowkind", 1111)
	got := p.settle()
	require.Len(t, got, 1, raws(got))
	require.Equal(t, "CLOSED", got[0].Verb)
	require.Equal(t, "kind", got[0].Sub)
	require.Equal(t, "restricted", prefixOf(got[0]), got[0].raw)

	p.expect(signed(p.secret, 1111, nostr.Now(), random()), "blocked", "no longer taken")
	p.expectClosed("restricted", `{"kinds":[1111]}`)
	p.sees(on(topic), note)
	p.sees(`{"ids":["` + odd.ID + `"]}`)
	r.manage(t, "unlistkind", 1111)
	p.sees(on(topic), note, odd)

	r.manage(t, "allowkind", 1)
	p.expect(signed(p.secret, 1111, nostr.Now(), random()), "blocked", "only what is listed")
	p.expect(p.note(topic, nostr.Now()), "", "this is listed")
}

func TestABlockedAddressIsRefused(t *testing.T) {
	t.Parallel()
	r := target(t, managed()...)
	from := func(address string) *websocket.DialOptions {
		return &websocket.DialOptions{HTTPHeader: http.Header{"X-Forwarded-For": {address}}}
	}
	p, _, err := r.connect(t, from("192.0.2.7"))
	require.NoError(t, err)
	r.manage(t, "blockip", "192.0.2.0/24", "noise")
	require.Equal(t, websocket.StatusPolicyViolation, p.ended())
	for address, status := range map[string]int{
		"192.0.2.7": http.StatusForbidden, "192.0.2.255": http.StatusForbidden, "::ffff:192.0.2.1": http.StatusForbidden,
		"192.0.3.7": http.StatusSwitchingProtocols,
	} {
		_, resp, _ := r.connect(t, from(address))
		require.Equal(t, status, resp.StatusCode, address)
	}
	r.manage(t, "unblockip", "192.0.2.0/24")
	_, _, err = r.connect(t, from("192.0.2.7"))
	require.NoError(t, err)
}

// NIP-56.
func TestReportsAreListedForTheOperator(t *testing.T) {
	t.Parallel()
	r := target(t, managed()...)
	p := r.dial(t)
	e := p.note(random(), nostr.Now())
	report := signed(p.secret, 1984, nostr.Now(), "", nostr.Tag{"e", e.ID, "spam"}, nostr.Tag{"p", e.PubKey})
	p.store(e, report)
	require.Contains(t, string(r.manage(t, "listeventsneedingmoderation")), e.ID)
	require.Equal(t, []string{report.ID}, p.ids(string(wire.AppendFilter(nil, wire.NewFilter(nostr.Filter{IDs: []string{report.ID}})))))
}
