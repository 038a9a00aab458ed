package conformance_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// claim makes an invite code for one new member.
func claim(t *testing.T, r *relay) string {
	t.Helper()
	var made struct{ Claim string }
	require.NoError(t, json.Unmarshal(r.manage(t, "createclaim", 1), &made))
	require.NotEmpty(t, made.Claim)
	return made.Claim
}

// request is one of NIP-43.
func request(p *peer, kind int, at nostr.Timestamp, tags ...nostr.Tag) *wire.Event {
	return signed(p.secret, kind, at, random(), tags...)
}

// NIP-43.
func TestMembershipIsAskedForWithAClaim(t *testing.T) {
	t.Parallel()
	r := target(t, managed("MEMBERSHIP_REQUIRE=all")...)
	code, now := claim(t, r), nostr.Now()
	protected := nostr.Tag{"-"}
	stranger, p := r.dial(t), r.dial(t)
	stranger.expect(stranger.note(random(), now), "auth-required", "nobody writes")
	stranger.expectClosed("auth-required", `{}`)
	stranger.expect(request(stranger, 28934, now, protected, nostr.Tag{"claim", code}), "auth-required", "protected, as NIP-70 says")
	require.True(t, p.authenticate(p.secret).OK)
	p.expect(p.note(random(), now), "restricted", "a key is no membership")
	p.expectClosed("restricted", `{}`)

	p.expect(request(p, 28934, now, nostr.Tag{"claim", code}), "invalid", "without the tag -")
	p.expect(request(p, 28934, now-3600, protected, nostr.Tag{"claim", code}), "invalid", "an hour old")
	p.expect(request(p, 28934, now, protected), "restricted", "no code")
	p.expect(request(p, 28934, now, protected, nostr.Tag{"claim", "guess"}), "restricted", "a bad code")
	for _, kind := range []int{8000, 8001, 13534, 28935} {
		p.expect(request(p, kind, now, protected, nostr.Tag{"p", public(p.secret)}), "restricted", "what the relay alone says")
	}
	require.True(t, strings.HasPrefix(p.publish(request(p, 28936, now, protected)).Text, "duplicate: "), "who is no member leaves")

	joined := p.publish(request(p, 28934, now, protected, nostr.Tag{"claim", code}))
	require.True(t, joined.OK, joined.raw)
	require.True(t, strings.HasPrefix(joined.Text, "info: "), joined.raw)
	again := p.publish(request(p, 28934, now, protected, nostr.Tag{"claim", code}))
	require.True(t, again.OK, again.raw)
	require.True(t, strings.HasPrefix(again.Text, "duplicate: "), again.raw)
	second := r.dial(t)
	require.True(t, second.authenticate(second.secret).OK)
	second.expect(request(second, 28934, now, protected, nostr.Tag{"claim", code}), "restricted", "the code is used up")

	note := p.note(random(), now)
	p.expect(note, "", "a member writes")
	p.sees(`{"ids":["`+note.ID+`"]}`, note)
	require.Empty(t, p.ids(`{"kinds":[28934,28936]}`), "a request is not passed on")
	p.req("x", `{"kinds":[1]}`)
	p.stored("x")
	r.manage(t, "unallowpubkey", public(p.secret))
	got := p.settleRefused()
	require.Equal(t, "x", got[0].Sub)
	require.Equal(t, "restricted", prefixOf(got[0]), got[0].raw)
	p.expect(p.note(random(), now), "restricted", "no member any more")
}

// settleRefused is settle where every REQ is refused.
func (p *peer) settleRefused() []frame {
	p.t.Helper()
	id := p.fresh("barrier")
	p.req(id, `{}`)
	return p.until("barrier", func(f frame) bool { return f.Sub == id })
}

// NIP-43, and NIP-42: reading is free.
func TestOnlyMembersWrite(t *testing.T) {
	t.Parallel()
	r := target(t, managed("MEMBERSHIP_REQUIRE=write")...)
	p := r.dial(t)
	e := p.note(random(), nostr.Now())
	p.expect(e, "auth-required", "nobody")
	require.True(t, p.authenticate(p.secret).OK)
	p.expect(e, "restricted", "no member")
	p.sees(`{"ids":["` + e.ID + `"]}`)
	r.manage(t, "allowpubkey", public(p.secret))
	p.expect(e, "", "a member")
	r.dial(t).sees(`{"ids":["`+e.ID+`"]}`, e)
}

// NIP-42.
func TestAuthenticationIsRefusedWithAReason(t *testing.T) {
	t.Parallel()
	r := target(t)
	p := r.dial(t)
	now, tags := nostr.Now(), []nostr.Tag{{"relay", r.url}, {"challenge", p.challenge()}}
	broken := *signed(p.secret, 22242, now, "", tags...)
	broken.Sig = strings.Repeat("0", 128)
	for name, e := range map[string]*wire.Event{
		"kind":      signed(p.secret, 1, now, "", tags...),
		"challenge": signed(p.secret, 22242, now, "", tags[0], nostr.Tag{"challenge", "x"}),
		"relay":     signed(p.secret, 22242, now, "", nostr.Tag{"relay", "wss://other.example"}, tags[1]),
		"time":      signed(p.secret, 22242, now-3600, "", tags...),
		"signature": wire.NewEvent(broken.Event),
	} {
		f := p.authenticateWith(e)
		require.False(t, f.OK, name)
		require.Equal(t, "invalid", prefixOf(f), "%s: %s", name, f.raw)
	}
	require.True(t, p.authenticateWith(signed(p.secret, 22242, now, "", tags...)).OK)
}
