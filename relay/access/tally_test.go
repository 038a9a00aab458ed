package access_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
)

// A COUNT is counted again when the reader has lost something that was counted, and
// not for what others lose: anybody can leave a group again and again.
func TestACountStandsUnlessItsReaderHasLostSomething(t *testing.T) {
	t.Parallel()
	all := access.Rules{Members: access.MembersAll}
	removed := func(id, key string) func(*world) {
		return row(control.Row{Type: control.GroupRemoved, Group: id, Key: key, Stamp: 9}, "g:"+id)
	}
	for name, test := range map[string]struct {
		rules access.Rules
		do    func(x *world)
		moved bool
	}{
		"nothing":                        {do: func(*world) {}},
		"the reader removed":             {do: removed("pizza", bob), moved: true},
		"another member removed":         {do: removed("pizza", carol)},
		"the reader removed elsewhere":   {do: removed("pasta", bob)},
		"somebody vanished":              {do: row(control.Row{Type: control.KeyVanished, Key: carol, Until: 1 << 40}, carol)},
		"the reader banned":              {do: row(control.Row{Type: control.KeyBanned, Key: bob}, bob), moved: true},
		"another banned":                 {do: row(control.Row{Type: control.KeyBanned, Key: carol}, carol)},
		"a kind withdrawn":               {do: row(control.Row{Type: control.KindsDisallowed, Kinds: []int{1}}, "relay"), moved: true},
		"an event banned":                {do: row(control.Row{Type: control.EventBanned, ID: bannedEvent.ID}), moved: true},
		"other rules":                    {do: func(x *world) { x.SetRules(access.Rules{URLs: []string{"wss://x.test"}}) }, moved: true},
		"Outside has moved":              {do: func(x *world) { x.Moved() }, moved: true},
		"the reader's membership ended":  {all, row(control.Row{Type: control.MemberRemoved, Key: bob}, bob), true},
		"another's membership ended":     {all, row(control.Row{Type: control.MemberRemoved, Key: carol}, carol), false},
		"a group that was open is close": {do: row(control.Row{Type: control.GroupCreated, Group: "open", Key: carol, Stamp: 9}, "g:open"), moved: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newWorld(test.rules, withGroups(newFakeGroups()))
			x.member(t, bob, carol)
			x.put(t, control.Row{Type: control.GroupCreated, Group: "pizza", Key: bob, Stamp: 1}, "g:pizza")
			x.put(t, control.Row{Type: control.GroupPut, Group: "pizza", Key: carol, Stamp: 2})
			visible, failed := x.Visible(t.Context(), keys(bob), filters(nostr.Filter{}))
			for _, id := range keys("pizza", "pizza", "open") {
				require.True(t, visible(event(alice, 9, nostr.Tag{"h", id})))
			}
			require.True(t, visible(event(alice, 1)))
			test.do(x)
			if test.moved {
				require.ErrorIs(t, failed(), store.ErrMoved)
			} else {
				require.NoError(t, failed())
			}
		})
	}
}

// Where nothing could be hidden nothing was asked.
func TestACountStandsUnlessSomethingCanBeHiddenNow(t *testing.T) {
	t.Parallel()
	x := newWorld(access.Rules{}, withGroups(newFakeGroups()))
	visible, failed := x.Visible(t.Context(), keys(bob), filters(kinds(1)))
	require.Nil(t, visible)
	x.put(t, control.Row{Type: control.KindsDisallowed, Kinds: []int{7}}, "relay")
	require.NoError(t, failed())
	x.put(t, control.Row{Type: control.GroupCreated, Group: "pizza", Key: bob, Stamp: 1}, "g:pizza")
	require.ErrorIs(t, failed(), store.ErrMoved)
}

// Beyond what is remembered any change counts.
func TestACountOfVeryManyGroupsIsCountedAgainForAnyChange(t *testing.T) {
	t.Parallel()
	x := newWorld(access.Rules{}, withGroups(newFakeGroups()))
	x.put(t, control.Row{Type: control.GroupCreated, Group: "pizza", Key: bob, Stamp: 1}, "g:pizza")
	visible, failed := x.Visible(t.Context(), keys(bob), filters(nostr.Filter{}))
	for kind := range 4097 {
		visible(event(alice, 30_000+kind, nostr.Tag{"h", "pizza"}))
	}
	require.NoError(t, failed())
	x.put(t, control.Row{Type: control.GroupRemoved, Group: "pasta", Key: carol, Stamp: 2}, "g:pasta")
	require.ErrorIs(t, failed(), store.ErrMoved)
}
