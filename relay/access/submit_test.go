package access_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

func TestWhoMayPublish(t *testing.T) {
	t.Parallel()
	protected := nostr.Tag{"-"}
	repost := event(alice, 6)
	repost = wire.NewEvent(nostr.Event{PubKey: alice, Kind: 6, Content: string(wire.NewEvent(nostr.Event{
		ID: repost.ID, PubKey: bob, Kind: 1, Sig: bob + bob, Tags: nostr.Tags{protected},
	}).Raw())})
	tests := map[string]struct {
		rules access.Rules
		keys  []string
		ev    *wire.Event
		want  wire.Prefix
	}{
		"anybody":                        {access.Rules{}, nil, event(alice, 1), ""},
		"with authentication only":       {access.Rules{Require: access.RequireWrite}, nil, event(alice, 1), wire.AuthRequired},
		"authenticated":                  {access.Rules{Require: access.RequireWrite}, keys(bob), event(alice, 1), ""},
		"all with authentication":        {access.Rules{Require: access.RequireAll}, nil, event(alice, 1), wire.AuthRequired},
		"protected by nobody":            {access.Rules{}, nil, event(alice, 1, protected), wire.AuthRequired},
		"protected by somebody else":     {access.Rules{}, keys(bob), event(alice, 1, protected), wire.Restricted},
		"protected by its author":        {access.Rules{}, keys(bob, alice), event(alice, 1, protected), ""},
		"repost of what is no event":     {access.Rules{}, keys(alice), wire.NewEvent(nostr.Event{PubKey: alice, Kind: 6, Content: " {}"}), wire.Invalid},
		"repost of a protected event":    {access.Rules{}, keys(alice), repost, wire.Blocked},
		"a banned author":                {access.Rules{}, nil, event(carol, 1), wire.Blocked},
		"through a banned key":           {access.Rules{}, keys(alice, carol), event(alice, 1), wire.Blocked},
		"a withdrawn kind":               {access.Rules{}, nil, event(alice, 7), wire.Blocked},
		"a withdrawn kind by the relay":  {access.Rules{}, nil, event(self, 7), ""},
		"no member":                      {access.Rules{Members: access.MembersWrite}, nil, event(alice, 1), wire.AuthRequired},
		"no member, authenticated":       {access.Rules{Members: access.MembersWrite}, keys(alice), event(alice, 1), wire.Restricted},
		"a member's event from a mirror": {access.Rules{Members: access.MembersWrite}, keys(self), event(bob, 1), ""},
		"a stranger's from a mirror":     {access.Rules{Members: access.MembersWrite}, keys(self), event(alice, 1), wire.Restricted},
		"a gift wrap from a member":      {access.Rules{Members: access.MembersAll}, keys(bob), event(alice, 1059), ""},
		"the operator":                   {access.Rules{Members: access.MembersAll, Operator: boss}, nil, event(boss, 1), ""},
		"group state":                    {access.Rules{}, keys(alice), event(alice, 39000), wire.Restricted},
		"group state by the relay":       {access.Rules{}, nil, event(self, 39000), ""},
		"a list of members":              {access.Rules{Members: access.MembersWrite}, keys(bob), event(bob, 13534), wire.Restricted},
		"an invite":                      {access.Rules{Members: access.MembersWrite}, keys(bob), event(bob, 28935), wire.Restricted},
		"a list of another relay":        {access.Rules{}, keys(bob), event(bob, 13534), ""},
		"a request to vanish, banned":    {access.Rules{Require: access.RequireAll, Members: access.MembersAll}, nil, event(carol, 62, nostr.Tag{"relay", "ALL_RELAYS"}), ""},
		"a request to vanish elsewhere":  {access.Rules{}, nil, event(carol, 62, nostr.Tag{"relay", "wss://other.test"}), wire.Blocked},
		"a request to vanish, protected": {access.Rules{}, nil, event(carol, 62, nostr.Tag{"relay", "ALL_RELAYS"}, protected), wire.AuthRequired},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newWorld(test.rules, withGroups(newFakeGroups()))
			x.put(t, control.Row{Type: control.KeyBanned, Key: carol}, carol)
			x.put(t, control.Row{Type: control.KindsDisallowed, Kinds: []int{7}}, access.ScopeRelay)
			x.put(t, control.Row{Type: control.MemberPut, Key: bob})
			requireReason(t, test.want, x.MaySubmit(test.keys, test.ev))
			w, err := x.Plan(t.Context(), test.keys, test.ev)
			if test.want == "" && test.ev.Kind != 62 {
				require.NoError(t, err)
				require.Same(t, test.ev, w.Event)
			} else if test.want != "" {
				requireReason(t, test.want, err)
				require.Zero(t, w)
			}
		})
	}
}

func TestARelayWithoutGroupsKeepsTheStateOfOthers(t *testing.T) {
	t.Parallel()
	x := newWorld(access.Rules{})
	requireReason(t, "", x.MaySubmit(nil, event(alice, 39009, nostr.Tag{"d", "pizza"})))
}

func TestOnlyAllowedKindsAreTakenOnceThereAreAny(t *testing.T) {
	t.Parallel()
	x := newWorld(access.Rules{})
	x.put(t, control.Row{Type: control.KindsAllowed, Kinds: []int{1, 7}})
	x.put(t, control.Row{Type: control.KindsDisallowed, Kinds: []int{7}})
	for kind, want := range map[int]wire.Prefix{1: "", 7: wire.Blocked, 30023: wire.Blocked, 62: wire.Blocked} {
		requireReason(t, want, x.MaySubmit(nil, event(alice, kind)), kind)
	}
	requireReason(t, "", x.MaySubmit(nil, event(alice, 62, nostr.Tag{"relay", "ALL_RELAYS"})))
	x.put(t, control.Row{Type: control.KindsAllowed, Kinds: []int{1, 7}, Undo: true})
	requireReason(t, "", x.MaySubmit(nil, event(alice, 30023)))
}

// The commit compares the terms: what moves between the decision and it must be
// among them.
func TestPlanRestsOnTheRelayTheAuthorAndWhoSubmits(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		control.Row
		scope string
	}{
		"the author is banned":          {control.Row{Type: control.KeyBanned, Key: alice}, alice},
		"the author's membership ends":  {control.Row{Type: control.MemberRemoved, Key: alice}, alice},
		"the author vanishes":           {control.Row{Type: control.KeyVanished, Key: alice, Until: 5}, alice},
		"the key of the client is bad":  {control.Row{Type: control.KeyBanned, Key: bob}, bob},
		"the kind is withdrawn":         {control.Row{Type: control.KindsDisallowed, Kinds: []int{1}}, access.ScopeRelay},
		"the group of the event closes": {control.Row{Type: control.GroupRemoved, Group: "pizza", Key: carol, Stamp: 1}, "g:pizza"},
	} {
		x := newWorld(access.Rules{}, withGroups(newFakeGroups()))
		ev := event(alice, 1, nostr.Tag{"h", "pizza"})
		w, err := x.Plan(t.Context(), keys(bob, alice), ev)
		require.NoError(t, err, name)
		x.put(t, row.Row, row.scope)
		_, err = x.commit(w)
		require.ErrorIs(t, err, store.ErrMoved, name)
	}
}

func TestWideningMovesNobodysTerms(t *testing.T) {
	t.Parallel()
	x := newWorld(access.Rules{Members: access.MembersAll, Operator: boss})
	x.do(t, must2(x.BanKey(carol, "")), nil)
	x.member(t, alice)
	w, err := x.Plan(t.Context(), keys(alice), event(alice, 1))
	require.NoError(t, err)
	x.member(t, bob)
	x.do(t, must2(x.UnbanKey(carol)), nil)
	x.do(t, must2(x.BlockAddress("192.0.2.0/24", "")), nil)
	_, claim, err := x.CreateClaim(1, now.Add(1))
	x.do(t, claim, err)
	_, err = x.commit(w)
	require.NoError(t, err)
}

func must2(w store.Write, err error) store.Write { return must(w, err) }

func TestBannedKeysDoNotAuthenticate(t *testing.T) {
	t.Parallel()
	x := newWorld(access.Rules{})
	require.NoError(t, x.MayAuthenticate(carol))
	x.do(t, must2(x.BanKey(carol, "noise")), nil)
	requireReason(t, wire.Blocked, x.MayAuthenticate(carol))
	require.NoError(t, x.MayAuthenticate(alice))
	x.do(t, must2(x.UnbanKey(carol)), nil)
	require.NoError(t, x.MayAuthenticate(carol))
}

func TestWhatPlanLooksForInTheStore(t *testing.T) {
	t.Parallel()
	x := newWorld(access.Rules{})
	h, previous := nostr.Tag{"h", "pizza"}, nostr.Tag{"previous", "01234567"}
	for _, ev := range []*wire.Event{event(alice, 9005, h), event(alice, 9010, h), event(alice, 9, h, previous), event(alice, 9021, previous, h)} {
		require.True(t, x.LooksBack(ev), ev.Kind)
	}
	for _, ev := range []*wire.Event{event(alice, 9, h), event(alice, 1, previous), event(alice, 9000, h), event(alice, 1)} {
		require.False(t, x.LooksBack(ev), ev.Kind)
	}
}
