package conformance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// NIP-04, NIP-17, NIP-59: author and recipients only.
func TestPrivateKindsAreForAuthorAndRecipients(t *testing.T) {
	t.Parallel()
	r := target(t)
	author, recipient, stranger, nobody := r.dial(t), r.dial(t), r.dial(t), r.dial(t)
	for _, p := range []*peer{author, recipient, stranger} {
		require.True(t, p.authenticate(p.secret).OK)
	}
	to := nostr.Tag{"p", public(recipient.secret)}
	topic := random()
	live := map[*peer]*peer{} // with the same key
	for _, p := range []*peer{author, recipient, stranger, nobody} {
		live[p] = r.dial(t)
		if p != nobody {
			require.True(t, live[p].authenticate(p.secret).OK)
		}
		live[p].req("live", on(topic))
		live[p].stored("live")
	}
	var all []*wire.Event
	for _, kind := range []int{4, 14, 1059} {
		e := signed(author.secret, kind, nostr.Now(), random(), to, nostr.Tag{"t", topic})
		author.store(e)
		all = append(all, e)
		own := fmt.Sprintf(`{"kinds":[%d],"#t":[%q]}`, kind, topic)
		author.sees(own, e)
		recipient.sees(own, e)
		stranger.sees(own)
		nobody.expectClosed("auth-required", own)
		nobody.sees(`{"ids":["` + e.ID + `"]}`)
	}
	passing := signed(author.secret, 21059, nostr.Now(), random(), to, nostr.Tag{"t", topic})
	author.store(passing)
	for p, want := range map[*peer][]*wire.Event{author: all, recipient: all, stranger: nil, nobody: nil} {
		p.sees(on(topic), want...) // kind 21059 is never stored
		if want != nil {
			want = append(want[:len(want):len(want)], passing)
		}
		require.Equal(t, idsOf(want), append([]string{}, idsOf(eventsOf("live", live[p].passed()))...))
	}
	nobody.expectClosed("auth-required", `{"kinds":[4,14,1059,21059]}`)
	both := r.dial(t)
	both.req("x", `{"kinds":[1059]}`, on(topic))
	events, end := both.stored("x")
	require.Equal(t, "EOSE", end.Verb, "one filter is open: %s", end.raw)
	require.Empty(t, events)
}

// NIP-59: who wrapped a gift is nobody, so whom it is for deletes it.
func TestARecipientDeletesItsGiftWraps(t *testing.T) {
	t.Parallel()
	r := target(t)
	p := r.dial(t)
	require.True(t, p.authenticate(p.secret).OK)
	wrap := signed(nostr.GeneratePrivateKey(), 1059, nostr.Now(), random(), nostr.Tag{"p", public(p.secret)})
	p.store(wrap)
	filter := `{"ids":["` + wrap.ID + `"]}`
	stranger := r.dial(t)
	stranger.publish(signed(stranger.secret, 5, nostr.Now(), "", nostr.Tag{"e", wrap.ID}))
	p.sees(filter, wrap)
	p.store(signed(p.secret, 5, nostr.Now(), "", nostr.Tag{"e", wrap.ID}))
	p.sees(filter)
	p.expect(wrap, "blocked", "it stays away")
}

// NIP-70.
func TestARepostDoesNotCarryAProtectedEvent(t *testing.T) {
	t.Parallel()
	r := target(t)
	author, p := r.dial(t), r.dial(t)
	require.True(t, author.authenticate(author.secret).OK)
	e := signed(author.secret, 1, nostr.Now(), random(), nostr.Tag{"-"})
	author.store(e)
	for _, kind := range []int{6, 16} {
		repost := signed(p.secret, kind, nostr.Now(), string(e.Raw()), nostr.Tag{"e", e.ID}, nostr.Tag{"p", e.PubKey})
		p.expect(repost, "blocked", fmt.Sprint(kind))
	}
	twice := strings.Replace(string(e.Raw()), `{`, `{"kind":1,`, 1)
	p.expect(signed(p.secret, 6, nostr.Now(), twice, nostr.Tag{"e", e.ID}), "invalid", "a repost of what others may read as an event")
	p.expect(signed(p.secret, 6, nostr.Now(), "", nostr.Tag{"e", e.ID}, nostr.Tag{"p", e.PubKey}), "", "a repost that only names it")
	p.expect(e, "auth-required", "from somebody else")
}

// NIP-62: by name of the relay or of all; the past does not come back.
func TestARequestToVanishIsObeyed(t *testing.T) {
	t.Parallel()
	const url = "wss://relay.example/" // what the relay is called
	r := target(t, "RELAY_URLS="+url, "AUTH_REQUIRE=none")
	nobody := r.dial(t)
	for _, name := range []string{"ALL_RELAYS", url, "WSS://Relay.Example"} {
		secret := nostr.GeneratePrivateKey()
		now := nostr.Now()
		note := signed(secret, 1, now-10, random())
		profile := signed(secret, 0, now-10, random())
		deletion := signed(secret, 5, now-10, "", nostr.Tag{"e", random() + random() + random() + random()})
		wrap := signed(nostr.GeneratePrivateKey(), 1059, now-10, random(), nostr.Tag{"p", public(secret)})
		other := signed(nostr.GeneratePrivateKey(), 1, now-10, random(), nostr.Tag{"p", public(secret)})
		nobody.store(note, profile, deletion, wrap, other)
		nobody.store(signed(secret, 62, now-5, "", nostr.Tag{"relay", name}))
		eventually(t, "the past is gone", func() bool {
			return len(nobody.ids(fmt.Sprintf(`{"authors":[%q],"kinds":[0,1,5]}`, public(secret)))) == 0
		})
		for _, e := range []*wire.Event{note, profile, deletion, wrap, signed(secret, 1, now-5, random())} {
			nobody.expect(e, "blocked", name)
		}
		// Who has come back sees nothing of it either.
		again := r.dial(t)
		require.True(t, again.authenticateAs(secret, url).OK)
		again.sees(`{"ids":["` + wrap.ID + `"]}`)
		again.sees(`{"ids":["`+other.ID+`"]}`, other)
		again.expect(signed(secret, 1, now, random()), "", "the future is open")
	}
	secret := nostr.GeneratePrivateKey()
	note := signed(secret, 1, nostr.Now()-10, random())
	nobody.store(note)
	elsewhere := nobody.publish(signed(secret, 62, nostr.Now(), "", nostr.Tag{"relay", "wss://other.example"}))
	requirePrefixUnlessOK(t, elsewhere)
	nobody.sees(`{"ids":["`+note.ID+`"]}`, note)

	unnamed := target(t).dial(t)
	unnamed.expect(signed(secret, 62, nostr.Now(), "", nostr.Tag{"relay", "wss://other.example"}), "unsupported", "a relay that does not know its name")
}

// NIP-62: it needs no permission.
func TestTheBannedVanishToo(t *testing.T) {
	t.Parallel()
	r := target(t, managed("MEMBERSHIP_REQUIRE=all")...)
	p := r.dial(t)
	secret := nostr.GeneratePrivateKey()
	p.expect(signed(secret, 62, nostr.Now(), "", nostr.Tag{"relay", "ALL_RELAYS"}), "", "without membership, without AUTH")
	r.manage(t, "banpubkey", public(secret))
	p.expect(signed(secret, 62, nostr.Now()+1, "", nostr.Tag{"relay", "ALL_RELAYS"}), "", "banned")
}
