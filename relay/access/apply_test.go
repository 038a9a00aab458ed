package access_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/access"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

func TestARowThatCannotBeReadChangesNothing(t *testing.T) {
	t.Parallel()
	x := newWorld(access.Rules{})
	x.put(t, control.Row{Type: control.KeyBanned, Key: carol}, carol)
	unban := must(control.Encode(control.Row{Type: control.KeyUnbanned, Key: carol}))
	newer := must(json.Marshal(control.Row{Version: control.Version + 1, Type: control.KeyUnbanned, Key: carol}))
	grant, version := x.Sight(event(alice, 1)).Grant, x.Version()
	for name, row := range map[string]struct {
		control *store.Control
		want    error
	}{
		"damaged":        {&store.Control{Scopes: keys(alice), Data: unban[1:]}, control.ErrBad},
		"of the future":  {&store.Control{Scopes: keys(alice), Data: newer}, control.ErrNewer},
		"empty":          {&store.Control{Scopes: keys(alice)}, control.ErrBad},
		"no control row": {nil, access.ErrRow},
	} {
		change, err := x.Apply(&store.Entry{Position: 9, Type: store.EntryControl, Control: row.control})
		require.ErrorIs(t, err, row.want, name)
		require.Zero(t, change, name)
		require.Equal(t, version, x.Version(), name)
		require.True(t, grant.Holds(), name)
		requireReason(t, wire.Blocked, x.MayAuthenticate(carol), name)
		w, err := x.Plan(t.Context(), nil, event(alice, 1))
		require.NoError(t, err, name)
		_, err = x.commit(w)
		require.NoError(t, err, name)
	}
	_, err := x.Apply(&store.Entry{Position: 9, Type: store.EntryControl, Control: &store.Control{Data: unban}})
	require.NoError(t, err)
	require.NoError(t, x.MayAuthenticate(carol), "the position was not used up by what failed")
}

func TestARelayWithoutGroupsDoesNotOpenThem(t *testing.T) {
	t.Parallel()
	data := must(control.Encode(control.Row{Type: control.GroupCreated, Group: "pizza", Key: alice, Stamp: 1}))
	_, err := newWorld(access.Rules{}).Apply(&store.Entry{Position: 1, Control: &store.Control{Data: data}})
	require.ErrorIs(t, err, access.ErrRow)
}

func TestARowIsAppliedOnce(t *testing.T) {
	t.Parallel()
	x := newWorld(members)
	code, w, err := x.CreateClaim(2, now.Add(1<<40))
	x.do(t, w, err)
	join, err := x.Plan(t.Context(), keys(alice), join(alice, code))
	x.do(t, join, err)
	version := x.Version()
	for i := range x.rows {
		change, err := x.Apply(&x.rows[i])
		require.NoError(t, err)
		require.Zero(t, change)
	}
	require.Equal(t, version, x.Version())
	require.Equal(t, 1, x.Claims()[0].Used)
}

func TestChangesSayWhoHasLostSomething(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		row  control.Row
		want access.Change
	}{
		"ban":              {control.Row{Type: control.KeyBanned, Key: carol}, access.Change{Keys: keys(carol), Ban: true}},
		"vanish":           {control.Row{Type: control.KeyVanished, Key: carol, Until: 1}, access.Change{Keys: keys(carol)}},
		"member removed":   {control.Row{Type: control.MemberRemoved, Key: carol}, access.Change{Keys: keys(carol)}},
		"kinds withdrawn":  {control.Row{Type: control.KindsDisallowed, Kinds: []int{1}}, access.Change{Everyone: true}},
		"some kinds only":  {control.Row{Type: control.KindsAllowed, Kinds: []int{1}}, access.Change{Everyone: true}},
		"group created":    {control.Row{Type: control.GroupCreated, Group: "pizza", Key: bob, Stamp: 1}, access.Change{Group: "pizza", Everyone: true}},
		"removed from it":  {control.Row{Type: control.GroupRemoved, Group: "pizza", Key: carol, Stamp: 1}, access.Change{Group: "pizza", Keys: keys(carol)}},
		"put into it":      {control.Row{Type: control.GroupPut, Group: "pizza", Key: carol, Stamp: 1}, access.Change{Group: "pizza"}},
		"unban":            {control.Row{Type: control.KeyUnbanned, Key: carol}, access.Change{}},
		"member added":     {control.Row{Type: control.MemberPut, Key: carol}, access.Change{}},
		"claim":            {control.Row{Type: control.ClaimPut, Claim: "x"}, access.Change{}},
		"event banned":     {control.Row{Type: control.EventBanned, ID: alice}, access.Change{}},
		"address released": {control.Row{Type: control.AddressUnblocked, Address: "::1"}, access.Change{}},
	} {
		x := newWorld(access.Rules{}, withGroups(newFakeGroups()))
		got := x.put(t, test.row)
		require.Equal(t, test.want.Ban, got.Why != wire.Reason{}, name)
		got.Why = wire.Reason{}
		require.Equal(t, test.want, got, name)
	}
}
