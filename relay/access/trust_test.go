package access_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/access"
	"fencepost/relay/access/control"
	"fencepost/relay/wire"
)

// distrusted is a world whose state can be out of date.
func distrusted(t *testing.T, r access.Rules) (x *world, fresh *bool) {
	t.Helper()
	x, fresh = newWorld(r, withGroups(newFakeGroups())), new(bool)
	*fresh = true
	x.Trust(func() bool { return *fresh })
	x.put(t, control.Row{Type: control.MemberPut, Key: bob})
	x.put(t, control.Row{Type: control.GroupCreated, Group: "pizza", Key: alice, Stamp: 1})
	return x, fresh
}

func TestWithoutTrustOnlyWhatStrangersMayAskForIsRead(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		rules  access.Rules
		filter nostr.Filter
		open   bool
	}{
		"everything":                {access.Rules{}, nostr.Filter{}, true},
		"a public kind":             {access.Rules{}, kinds(1), true},
		"a private kind":            {access.Rules{}, kinds(4), false},
		"a group":                   {access.Rules{}, inGroup("pizza"), false},
		"no group":                  {access.Rules{}, inGroup("pasta"), true},
		"a relay of members":        {access.Rules{Members: access.MembersAll}, kinds(1), false},
		"a relay that wants keys":   {access.Rules{Require: access.RequireAll}, kinds(1), false},
		"a relay for members' pens": {access.Rules{Members: access.MembersWrite}, kinds(1), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, fresh := distrusted(t, row.rules)
			mine, f := keys(alice, bob), filters(row.filter)
			require.NoError(t, x.MayRead(mine, f))
			*fresh = false
			if row.open {
				require.NoError(t, x.MayRead(mine, f))
			} else {
				requireReason(t, wire.Failed, x.MayRead(mine, f))
			}
			*fresh = true
			require.NoError(t, x.MayRead(mine, f))
		})
	}
}

func TestWithoutTrustSecretsAreDecidedAboutByNobody(t *testing.T) {
	t.Parallel()
	x, fresh := distrusted(t, access.Rules{})
	letter := wire.NewEvent(nostr.Event{Kind: 4, PubKey: alice, Tags: nostr.Tags{{"p", bob}}})
	decide := func(s lifecycle.Sight, who ...string) (bool, error) { return s.Decide(t.Context(), who) }

	before := x.Sight(letter)
	may, err := decide(before, bob)
	require.True(t, may)
	require.NoError(t, err)
	require.True(t, before.Grant.Holds())
	*fresh = false
	require.False(t, before.Grant.Holds(), "a frame that was allowed waits in the queue")
	now := x.Sight(letter)
	_, err = decide(now, bob)
	requireReason(t, wire.Failed, err)
	may, err = decide(now, carol)
	require.False(t, may)
	require.NoError(t, err, "who may not see it is told nothing")

	public := x.Sight(wire.NewEvent(nostr.Event{Kind: 1, PubKey: alice}))
	may, err = decide(public)
	require.True(t, may)
	require.NoError(t, err)
	require.True(t, public.Grant.Holds())
	*fresh = true
	require.True(t, before.Grant.Holds(), "nothing was taken away")
}

func TestDistrustEndsWhatStrangersMayNotHave(t *testing.T) {
	t.Parallel()
	x, fresh := distrusted(t, access.Rules{})
	s := newScene(x)
	c := s.connect(t, alice, bob)
	group, letters := s.subscribe(t, c, "group", inGroup("pizza")), s.subscribe(t, c, "letters", kinds(4))
	public, both := s.subscribe(t, c, "public", kinds(1)), s.subscribe(t, c, "both", kinds(4), kinds(1))
	version := x.Version()
	*fresh = false
	s.Distrust()
	require.Greater(t, x.Version(), version, "a REQ that was judged already is judged again")
	require.False(t, group.Current())
	require.False(t, letters.Current())
	require.True(t, public.Current())
	require.True(t, both.Current())
	require.Len(t, s.index.handles, 2)
	require.Equal(t, []string{"error", "error"}, s.ended)
	require.Len(t, sent(c), 2)
}
