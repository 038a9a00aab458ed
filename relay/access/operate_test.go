package access_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

func TestBanningAKeyTakesItOffTheMembers(t *testing.T) {
	t.Parallel()
	x := newWorld(members)
	x.member(t, alice, bob)
	w, err := x.BanKey(alice, "spam")
	require.NoError(t, err)
	require.Equal(t, keys(alice), w.Controls[0].Scopes)
	require.Equal(t, 8001, w.Also[0].Kind)
	x.do(t, w, err)
	require.Equal(t, []access.Listed{{Value: alice, Reason: "spam"}}, x.BannedKeys())
	require.Equal(t, keys(bob), x.AllowedKeys())

	again, err := x.BanKey(alice, "spam")
	require.NoError(t, err)
	require.Zero(t, again, "it is so already")
	x.do(t, must2(x.BanKey(alice, "more spam")), nil)
	require.Equal(t, "more spam", x.BannedKeys()[0].Reason)

	x.do(t, must2(x.AllowKey(alice)), nil)
	require.Empty(t, x.BannedKeys())
	require.Equal(t, keys(alice, bob), x.AllowedKeys())
	require.Zero(t, must2(x.AllowKey(alice)))
	x.do(t, must2(x.UnallowKey(alice)), nil)
	require.Zero(t, must2(x.UnallowKey(alice)))
	require.Zero(t, must2(x.UnbanKey(alice)))
}

// What somebody does to its own scopes meanwhile, joins, leaves or requests to
// vanish, keeps the operator from nothing.
func TestTheOperatorWinsAgainstWhateverAKeyDoes(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(x *world) (store.Write, error){
		"ban":     func(x *world) (store.Write, error) { return x.BanKey(alice, "more") },
		"unban":   func(x *world) (store.Write, error) { return x.UnbanKey(carol) },
		"allow":   func(x *world) (store.Write, error) { return x.AllowKey(carol) },
		"unallow": func(x *world) (store.Write, error) { return x.UnallowKey(alice) },
	} {
		x := newWorld(members)
		code := x.claim(t, 0, time.Time{})
		x.member(t, alice)
		x.do(t, must2(x.BanKey(carol, "")), nil)
		w, err := change(x)
		require.NoError(t, err)
		vanish, err := x.Plan(t.Context(), nil, event(alice, 62, nostr.Tag{"relay", "ALL_RELAYS"}))
		x.do(t, vanish, err)
		vanish, err = x.Plan(t.Context(), nil, event(carol, 62, nostr.Tag{"relay", "ALL_RELAYS"}))
		x.do(t, vanish, err)
		again, err := x.Plan(t.Context(), keys(alice), join(alice, code))
		x.do(t, again, err)
		x.do(t, w, nil)
		if name != "ban" {
			continue
		}
		require.Equal(t, "more", x.BannedKeys()[0].Reason)
		require.Empty(t, x.AllowedKeys(), "and she is no member")
	}
}

// A join that was decided about before the ban does not lift it.
func TestABanIsNotLiftedByAJoinThatWasUnderWay(t *testing.T) {
	t.Parallel()
	x := newWorld(members)
	code := x.claim(t, 0, time.Time{})
	w, err := x.Plan(t.Context(), keys(alice), join(alice, code))
	requireAccepted(t, wire.Info, err)
	x.do(t, must2(x.BanKey(alice, "")), nil)
	_, err = x.commit(w)
	require.ErrorIs(t, err, store.ErrMoved)
}

func TestNeitherTheRelayNorItsOperatorIsBanned(t *testing.T) {
	t.Parallel()
	x := newWorld(members)
	for _, key := range keys(self, boss, "", "A"+alice[1:]) {
		_, err := x.BanKey(key, "")
		requireReason(t, wire.Invalid, err, key)
	}
	_, err := x.AllowKey("nobody")
	requireReason(t, wire.Invalid, err)
}

func TestEventsAreBannedByID(t *testing.T) {
	t.Parallel()
	x := newWorld(access.Rules{})
	ev := event(alice, 1)
	w := must2(x.BanEvent(ev.ID, "ugly"))
	require.Equal(t, keys(ev.ID), w.Ban)
	x.do(t, w, nil)
	require.Equal(t, []access.Listed{{Value: ev.ID, Reason: "ugly"}}, x.BannedEvents())
	require.False(t, sees(t, x.Policy, ev))
	require.Zero(t, must2(x.BanEvent(ev.ID, "ugly")))
	w = must2(x.UnbanEvent(ev.ID))
	require.Equal(t, keys(ev.ID), w.Unban)
	x.do(t, w, nil)
	require.True(t, sees(t, x.Policy, ev))
	require.Zero(t, must2(x.UnbanEvent(ev.ID)))
	_, err := x.BanEvent("x", "")
	requireReason(t, wire.Invalid, err)
}

func TestKindsAreAllowedAndWithdrawn(t *testing.T) {
	t.Parallel()
	x := newWorld(access.Rules{})
	type step struct {
		do              func(int) (store.Write, error)
		kind            int
		allowed, denied []int
		takes, refuses  []int
	}
	for i, s := range []step{
		{x.DisallowKind, 4, []int{}, []int{4}, []int{1, 7}, []int{4}},
		{x.AllowKind, 4, []int{}, []int{}, []int{1, 4, 7}, nil},
		{x.AllowKind, 1, []int{1}, []int{}, []int{1}, []int{4, 7}},
		{x.AllowKind, 7, []int{1, 7}, []int{}, []int{1, 7}, []int{4}},
		{x.DisallowKind, 7, []int{1}, []int{7}, []int{1}, []int{4, 7}},
		{x.DisallowKind, 1, []int{}, []int{1, 7}, nil, []int{1, 4, 7}},
		{x.AllowKind, 1, []int{1}, []int{7}, []int{1}, []int{4, 7}},
		{x.DisallowKind, 4, []int{1}, []int{4, 7}, []int{1}, []int{4, 7}},
		{x.AllowKind, 4, []int{1, 4}, []int{7}, []int{1, 4}, []int{7}},
		{x.UnlistKind, 7, []int{1, 4}, []int{}, []int{1, 4}, []int{7}},
		{x.UnlistKind, 4, []int{1}, []int{}, []int{1}, []int{4, 7}},
		{x.UnlistKind, 1, []int{}, []int{}, []int{1, 4, 7}, nil},
	} {
		w, err := s.do(s.kind)
		require.NoError(t, err, i)
		require.Equal(t, []store.Term{{Scope: access.ScopeRelay, Epoch: x.epochs[access.ScopeRelay]}}, w.Terms, i)
		for _, c := range w.Controls {
			require.Equal(t, keys(access.ScopeRelay), c.Scopes, i)
		}
		x.do(t, w, err)
		require.Equal(t, s.allowed, x.AllowedKinds(), i)
		require.Equal(t, s.denied, x.DisallowedKinds(), i)
		for _, kind := range s.takes {
			require.NoError(t, x.MaySubmit(nil, event(alice, kind)), i)
		}
		for _, kind := range s.refuses {
			requireReason(t, wire.Blocked, x.MaySubmit(nil, event(alice, kind)), i)
		}
	}
	require.Zero(t, must2(x.UnlistKind(1)), "it is so already")
	x.do(t, must2(x.DisallowKind(1)), nil)
	require.Zero(t, must2(x.DisallowKind(1)))
	x.do(t, must2(x.AllowKind(7)), nil)
	require.Zero(t, must2(x.AllowKind(7)))
	for _, kind := range []int{-1, 65536} {
		_, err := x.AllowKind(kind)
		requireReason(t, wire.Invalid, err)
		_, err = x.DisallowKind(kind)
		requireReason(t, wire.Invalid, err)
	}
}

func TestAddressesAreBlocked(t *testing.T) {
	t.Parallel()
	x := newWorld(access.Rules{})
	addr := netip.MustParseAddr
	require.False(t, x.Blocked(addr("192.0.2.1")))
	for _, text := range keys("192.0.2.77/24", "2001:DB8::1", "::ffff:198.51.100.7", "203.0.113.5/32") {
		x.do(t, must2(x.BlockAddress(text, "noise")), nil)
	}
	for text, want := range map[string]bool{
		"192.0.2.0": true, "192.0.2.255": true, "192.0.3.0": false, "::ffff:192.0.2.9": true,
		"2001:db8::1": true, "2001:db8::2": false, "198.51.100.7": true, "198.51.100.8": false, "203.0.113.5": true,
	} {
		require.Equal(t, want, x.Blocked(addr(text)), text)
	}
	require.True(t, x.Blocked(addr("2001:db8::1%eth0")))
	require.False(t, x.Blocked(netip.Addr{}))
	require.Equal(t, []access.Listed{
		{Value: "192.0.2.0/24", Reason: "noise"},
		{Value: "198.51.100.7", Reason: "noise"},
		{Value: "2001:db8::1", Reason: "noise"},
		{Value: "203.0.113.5", Reason: "noise"},
	}, x.BlockedAddresses())
	require.Zero(t, must2(x.BlockAddress("192.0.2.0/24", "noise")))
	require.Zero(t, must2(x.UnblockAddress("192.0.2.1")), "only what was blocked is released")
	x.do(t, must2(x.UnblockAddress("192.0.2.9/24")), nil)
	require.False(t, x.Blocked(addr("192.0.2.1")))
	for _, text := range keys("", "example.org", "192.0.2.0/33", "::ffff:192.0.2.0/120") {
		_, err := x.BlockAddress(text, "")
		requireReason(t, wire.Invalid, err, text)
		_, err = x.UnblockAddress(text)
		requireReason(t, wire.Invalid, err, text)
	}
}

func TestClaimsAreListedAndRemoved(t *testing.T) {
	t.Parallel()
	x := newWorld(members)
	first, second := x.claim(t, 3, now.Add(time.Hour)), x.claim(t, 0, time.Time{})
	require.NotEqual(t, first, second)
	w, err := x.Plan(t.Context(), keys(alice), join(alice, first))
	x.do(t, w, err)
	want := map[string]access.Claim{
		first:  {Code: first, Uses: 3, Used: 1, Expires: now.Add(time.Hour)},
		second: {Code: second},
	}
	for _, c := range x.Claims() {
		expires := want[c.Code].Expires
		require.True(t, expires.Equal(c.Expires))
		c.Expires = expires
		require.Equal(t, want[c.Code], c)
	}
	require.Len(t, x.Claims(), 2)
	w = must2(x.RemoveClaim(first))
	require.Equal(t, keys(access.ScopeClaims), w.Controls[0].Scopes)
	x.do(t, w, nil)
	require.Len(t, x.Claims(), 1)
	require.Zero(t, must2(x.RemoveClaim(first)))
	require.Equal(t, keys(alice), x.AllowedKeys(), "whoever was admitted stays")

	_, _, err = x.CreateClaim(-1, time.Time{})
	requireReason(t, wire.Invalid, err)
	_, _, err = x.CreateClaim(0, now)
	requireReason(t, wire.Invalid, err)
}

func TestGroupsDecideAboutTheirEvents(t *testing.T) {
	t.Parallel()
	x := newWorld(access.Rules{Operator: boss}, withGroups(newFakeGroups()))
	x.put(t, control.Row{Type: control.GroupCreated, Group: "pizza", Key: alice, Stamp: 1}, "g:pizza")
	in := func(author string, kind int) *wire.Event { return event(author, kind, []string{"h", "pizza"}) }
	w, err := x.Plan(t.Context(), nil, in(alice, 9))
	require.NoError(t, err)
	require.Equal(t, keys("pizza"), w.Ban, "the effect is part of the write")
	require.Contains(t, w.Terms, store.Term{Scope: "g:pizza", Epoch: x.head})
	_, err = x.Plan(t.Context(), nil, in(boss, 9))
	require.NoError(t, err, "the operator may")
	_, err = x.Plan(t.Context(), keys(alice, boss), in(bob, 9))
	requireReason(t, wire.Restricted, err, "whoever submits it")
	_, err = x.Plan(t.Context(), nil, in(alice, 9021))
	requireAccepted(t, wire.Duplicate, err)
	x.do(t, must2(x.BanKey(alice, "")), nil)
	_, err = x.Plan(t.Context(), nil, in(alice, 9))
	requireReason(t, wire.Blocked, err, "what the relay refuses is not asked")
}
