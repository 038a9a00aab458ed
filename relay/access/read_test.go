package access_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access"
	"fencepost/relay/access/control"
	"fencepost/relay/wire"
)

func inGroup(ids ...string) nostr.Filter { return nostr.Filter{Tags: nostr.TagMap{"h": ids}} }

func TestWhichFiltersAreClosed(t *testing.T) {
	t.Parallel()
	all, only := access.Rules{Require: access.RequireAll}, access.Rules{Members: access.MembersAll, Operator: boss}
	tests := map[string]struct {
		rules   access.Rules
		keys    []string
		filters []*wire.Filter
		want    wire.Prefix
	}{
		"everything":                        {access.Rules{}, nil, filters(nostr.Filter{}), ""},
		"a relay that wants a key":          {all, nil, filters(nostr.Filter{IDs: keys(alice)}), wire.AuthRequired},
		"a relay that has one":              {all, keys(alice), filters(nostr.Filter{}), ""},
		"a relay that has a banned one":     {all, keys(carol), filters(nostr.Filter{}), wire.AuthRequired},
		"members only, nobody":              {only, nil, filters(kinds(1)), wire.AuthRequired},
		"members only, a stranger":          {only, keys(alice), filters(kinds(1)), wire.Restricted},
		"members only, a member":            {only, keys(alice, bob), filters(kinds(1)), ""},
		"members only, the operator":        {only, keys(boss), filters(kinds(1)), ""},
		"members write, anybody reads":      {access.Rules{Members: access.MembersWrite}, nil, filters(kinds(1)), ""},
		"private kinds, nobody":             {access.Rules{}, nil, filters(kinds(4, 14, 1059, 21059)), wire.AuthRequired},
		"private kinds, somebody":           {access.Rules{}, keys(alice), filters(kinds(4)), ""},
		"private kinds and others":          {access.Rules{}, nil, filters(kinds(4, 1)), ""},
		"private kinds in one of two":       {access.Rules{}, nil, filters(kinds(4), kinds(1)), ""},
		"a withdrawn kind":                  {access.Rules{}, keys(alice), filters(kinds(7)), wire.Restricted},
		"a withdrawn kind and another":      {access.Rules{}, nil, filters(kinds(7, 1)), ""},
		"a withdrawn kind of the relay":     {access.Rules{}, nil, filters(kinds(13534)), ""},
		"withdrawn and private":             {access.Rules{}, nil, filters(kinds(7, 4)), wire.AuthRequired},
		"what a key helps with comes first": {access.Rules{}, nil, filters(kinds(7), kinds(4)), wire.AuthRequired},
		"no kinds":                          {access.Rules{}, nil, filters(nostr.Filter{Kinds: []int{}}), ""},
		"ids":                               {access.Rules{}, nil, filters(nostr.Filter{IDs: keys(alice)}), ""},
		"a group, a stranger":               {access.Rules{}, keys(bob), filters(inGroup("pizza")), wire.Restricted},
		"a group, a member":                 {access.Rules{}, keys(alice), filters(inGroup("pizza")), ""},
		"a group beside a withdrawn kind":   {access.Rules{}, keys(alice), filters(kinds(7), inGroup("pizza")), ""},
		"a group and the rest":              {access.Rules{}, keys(bob), filters(inGroup("pizza"), kinds(1)), ""},
		"a group and a private kind":        {access.Rules{}, nil, filters(inGroup("pizza"), kinds(4)), wire.AuthRequired},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newWorld(test.rules, withGroups(newFakeGroups()))
			x.put(t, control.Row{Type: control.KeyBanned, Key: carol})
			x.put(t, control.Row{Type: control.MemberPut, Key: bob})
			x.put(t, control.Row{Type: control.KindsDisallowed, Kinds: []int{7, 13534}})
			x.put(t, control.Row{Type: control.GroupCreated, Group: "pizza", Key: alice, Stamp: 1})
			requireReason(t, test.want, x.MayRead(test.keys, test.filters))
			requireReason(t, test.want, x.Lost("", test.keys, test.filters))
		})
	}
}

func TestWhoMaySeeAnEvent(t *testing.T) {
	t.Parallel()
	to := nostr.Tag{"p", bob}
	tests := map[string]struct {
		rules access.Rules
		ev    *wire.Event
		sees  []string // of nobody, alice, bob, carol (banned) and boss (operator)
	}{
		"a note":                     {access.Rules{}, event(alice, 1, to), keys("", alice, bob, carol, boss)},
		"a direct message":           {access.Rules{}, event(alice, 4, to), keys(alice, bob)},
		"a gift wrap":                {access.Rules{}, event(carol, 1059, to), keys(bob)},
		"an ephemeral gift wrap":     {access.Rules{}, event(alice, 21059, nostr.Tag{"p"}, to), keys(alice, bob)},
		"a rumour":                   {access.Rules{}, event(bob, 14), keys(bob)},
		"a banned event":             {access.Rules{}, bannedEvent, nil},
		"a withdrawn kind":           {access.Rules{}, event(alice, 7), nil},
		"a withdrawn kind of ours":   {access.Rules{}, event(self, 7), keys("", alice, bob, carol, boss)},
		"a relay that wants a key":   {access.Rules{Require: access.RequireAll}, event(alice, 1), keys(alice, bob, boss)},
		"a relay for members":        {access.Rules{Members: access.MembersAll, Operator: boss}, event(alice, 1), keys(bob, boss)},
		"a message there":            {access.Rules{Members: access.MembersAll, Operator: boss}, event(alice, 4, to), keys(bob)},
		"in a group":                 {access.Rules{}, event(alice, 9, nostr.Tag{"h", "pizza"}), keys(alice)},
		"a message in a group":       {access.Rules{}, event(bob, 4, nostr.Tag{"p", alice}, nostr.Tag{"h", "pizza"}), keys(alice)},
		"in a group, for members":    {access.Rules{Members: access.MembersAll}, event(alice, 9, nostr.Tag{"h", "pizza"}), nil},
		"before its author vanished": {access.Rules{}, at(event(vanished, 1), 1000), nil},
		"after it":                   {access.Rules{}, at(event(vanished, 1), 1001), keys("", alice, bob, carol, boss)},
		"a wrap to whom vanished":    {access.Rules{}, at(event(bob, 1059, to, nostr.Tag{"p", vanished}), 1000), nil},
		"a note to whom vanished":    {access.Rules{}, at(event(bob, 1, nostr.Tag{"p", vanished}), 1000), keys("", alice, bob, carol, boss)},
		"the request to vanish":      {access.Rules{}, at(event(vanished, 62), 1000), keys("", alice, bob, carol, boss)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newWorld(test.rules, withGroups(newFakeGroups()))
			x.put(t, control.Row{Type: control.KeyBanned, Key: carol})
			x.put(t, control.Row{Type: control.MemberPut, Key: bob})
			x.put(t, control.Row{Type: control.KindsDisallowed, Kinds: []int{7}})
			x.put(t, control.Row{Type: control.EventBanned, ID: bannedEvent.ID})
			x.put(t, control.Row{Type: control.GroupCreated, Group: "pizza", Key: alice, Stamp: 1})
			x.put(t, control.Row{Type: control.KeyVanished, Key: vanished, Until: 1000})
			var sees []string
			s := x.Sight(test.ev)
			for _, reader := range keys("", alice, bob, carol, boss) {
				var held []string
				if reader != "" {
					held = keys(reader)
				}
				if may, err := s.Decide(t.Context(), held); may {
					require.NoError(t, err)
					sees = append(sees, reader)
				}
			}
			require.Equal(t, test.sees, sees)
		})
	}
}

var (
	bannedEvent = event(alice, 1)
	vanished    = "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
)

func TestAnyKeyOfTheReaderWillDo(t *testing.T) {
	t.Parallel()
	x := newWorld(access.Rules{})
	require.True(t, sees(t, x.Policy, event(alice, 4), bob, alice))
	x.put(t, control.Row{Type: control.KeyBanned, Key: alice})
	require.False(t, sees(t, x.Policy, event(alice, 4), bob, alice), "a banned key opens nothing")
}

// A grant that does not fall with what it rests on is a leak (G4).
func TestWhatHidesEndsTheGrant(t *testing.T) {
	t.Parallel()
	secret := event(alice, 9, nostr.Tag{"h", "pizza"})
	for name, test := range map[string]struct {
		rules access.Rules
		ev    *wire.Event
		do    func(x *world)
		ends  bool
	}{
		"a ban":               {access.Rules{}, event(alice, 4), row(control.Row{Type: control.KeyBanned, Key: alice}, alice), true},
		"a kind withdrawn":    {access.Rules{}, event(alice, 1), row(control.Row{Type: control.KindsDisallowed, Kinds: []int{1}}, "relay"), true},
		"another kind only":   {access.Rules{}, event(alice, 1), row(control.Row{Type: control.KindsAllowed, Kinds: []int{2}}, "relay"), true},
		"a vanished author":   {access.Rules{}, event(alice, 1), row(control.Row{Type: control.KeyVanished, Key: alice, Until: now.Unix()}, alice), true},
		"an event banned":     {access.Rules{}, bannedEvent, row(control.Row{Type: control.EventBanned, ID: bannedEvent.ID}), true},
		"a member removed":    {access.Rules{Members: access.MembersAll}, event(alice, 1), row(control.Row{Type: control.MemberRemoved, Key: bob}, bob), true},
		"the relay's scope":   {access.Rules{}, event(alice, 1), row(control.Row{Type: control.KeyUnbanned, Key: bob}, "relay"), true},
		"a group's scope":     {access.Rules{}, secret, row(control.Row{Type: control.GroupRemoved, Group: "pizza", Key: alice, Stamp: 2}, "g:pizza"), true},
		"another group's":     {access.Rules{}, secret, row(control.Row{Type: control.GroupRemoved, Group: "pasta", Key: alice, Stamp: 2}, "g:pasta"), false},
		"other rules":         {access.Rules{}, event(alice, 1), func(x *world) { x.SetRules(access.Rules{Require: access.RequireAll}) }, true},
		"Outside has moved":   {access.Rules{}, event(alice, 1), func(x *world) { x.Moved() }, true},
		"a member more":       {access.Rules{Members: access.MembersAll}, event(alice, 1), row(control.Row{Type: control.MemberPut, Key: carol}, carol), false},
		"a ban less":          {access.Rules{}, event(alice, 4), row(control.Row{Type: control.KeyUnbanned, Key: alice}), false},
		"a claim":             {access.Rules{}, event(alice, 1), row(control.Row{Type: control.ClaimPut, Claim: "x"}), false},
		"a blocked address":   {access.Rules{}, event(alice, 1), row(control.Row{Type: control.AddressBlocked, Address: "192.0.2.1"}), false},
		"a group member more": {access.Rules{}, secret, row(control.Row{Type: control.GroupPut, Group: "pizza", Key: bob, Stamp: 3}), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newWorld(test.rules, withGroups(newFakeGroups()))
			x.put(t, control.Row{Type: control.GroupCreated, Group: "pizza", Key: alice, Stamp: 1}, "g:pizza")
			grant := x.Sight(test.ev).Grant
			require.True(t, grant.Holds())
			version := x.Version()
			test.do(x)
			require.Equal(t, test.ends, !grant.Holds())
			require.True(t, x.Version() > version || !test.ends)
			require.True(t, x.Sight(test.ev).Grant.Holds(), "a new one is made")
		})
	}
}

// A REQ need not be judged again, nor a COUNT counted again, for every join.
func TestVersionStaysWhenNothingIsTakenAway(t *testing.T) {
	t.Parallel()
	x := newWorld(access.Rules{}, withGroups(newFakeGroups()))
	x.put(t, control.Row{Type: control.GroupCreated, Group: "pizza", Key: alice, Stamp: 1}, "g:pizza")
	version := x.Version()
	x.put(t, control.Row{Type: control.GroupPut, Group: "pizza", Key: bob, Stamp: 2})
	x.put(t, control.Row{Type: control.KeyUnbanned, Key: bob})
	require.Equal(t, version, x.Version())
	x.put(t, control.Row{Type: control.GroupRemoved, Group: "pizza", Key: bob, Stamp: 3}, "g:pizza")
	require.Greater(t, x.Version(), version)
}

// row returns a step that commits and applies one row.
func row(r control.Row, scopes ...string) func(*world) {
	return func(x *world) { x.put(panics{}, r, scopes...) }
}

type panics struct{}

func (panics) Errorf(string, ...any) {}
func (panics) FailNow()              { panic("a row could not be put") }

func TestEventsWithoutASecretShareOneGrantAndAllocateNothing(t *testing.T) {
	x := newWorld(access.Rules{}, withGroups(newFakeGroups()))
	x.put(t, control.Row{Type: control.KeyVanished, Key: vanished, Until: 1000})
	one, two := event(alice, 1), event(bob, 30023, nostr.Tag{"d", "x"}, nostr.Tag{"p", alice})
	s := x.Sight(one)
	require.Nil(t, s.May)
	require.Nil(t, s.Ask)
	require.Same(t, s.Grant, x.Sight(two).Grant)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		s := x.Sight(one)
		_ = s.Grant.Holds()
	}))
	closed := newWorld(access.Rules{Members: access.MembersAll})
	closed.member(t, alice)
	held := keys(bob, alice)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		s := closed.Sight(one)
		if !s.May(held) {
			panic("a member sees it")
		}
	}))
}

// outside answers from elsewhere.
type outside struct {
	says func(keys []string, ev *wire.Event) (bool, error)
}

func (o *outside) MaySee(_ context.Context, keys []string, ev *wire.Event) (bool, error) {
	return o.says(keys, ev)
}

func withOutside(says func(keys []string, ev *wire.Event) (bool, error)) func(*access.Options) {
	return func(o *access.Options) { o.Outside = &outside{says} }
}

func TestOutsideDecidesAfterTheRelay(t *testing.T) {
	t.Parallel()
	asked := 0
	x := newWorld(access.Rules{}, withOutside(func(keys []string, _ *wire.Event) (bool, error) {
		asked++
		return len(keys) > 0, nil
	}))
	require.True(t, sees(t, x.Policy, event(alice, 1), bob))
	require.False(t, sees(t, x.Policy, event(alice, 1)))
	require.Equal(t, 2, asked)
	require.False(t, sees(t, x.Policy, event(alice, 4), bob))
	require.Equal(t, 2, asked, "what the relay refuses is not asked")
}

func TestVisibleIsNilOnlyWhenNothingCanBeHidden(t *testing.T) {
	t.Parallel()
	everybody := func([]string, *wire.Event) (bool, error) { return true, nil }
	own := nostr.Filter{Kinds: []int{4}, Authors: keys(alice)}
	mine := nostr.Filter{Kinds: []int{1059}, Tags: nostr.TagMap{"p": keys(alice)}}
	for name, test := range map[string]struct {
		rules   access.Rules
		keys    []string
		filters []*wire.Filter
		before  func(x *world)
		option  func(*access.Options)
		hides   bool
	}{
		"open kinds":                   {filters: filters(kinds(1), kinds(0, 3))},
		"any kind":                     {filters: filters(kinds(1), nostr.Filter{Authors: keys(alice)}), hides: true},
		"a private kind":               {keys: keys(alice), filters: filters(kinds(1, 4)), hides: true},
		"one's own messages":           {keys: keys(alice), filters: filters(own, mine)},
		"somebody else's":              {keys: keys(bob), filters: filters(own), hides: true},
		"one's own and others'":        {keys: keys(alice), filters: filters(nostr.Filter{Kinds: []int{4}, Authors: keys(alice, bob)}), hides: true},
		"one's own, banned":            {keys: keys(carol), filters: filters(nostr.Filter{Kinds: []int{4}, Authors: keys(carol)}), before: row(control.Row{Type: control.KeyBanned, Key: carol}), hides: true},
		"a withdrawn kind":             {filters: filters(kinds(1, 7)), before: row(control.Row{Type: control.KindsDisallowed, Kinds: []int{7}}), hides: true},
		"another kind":                 {filters: filters(kinds(1)), before: row(control.Row{Type: control.KindsDisallowed, Kinds: []int{7}})},
		"a vanished key":               {filters: filters(kinds(1)), before: row(control.Row{Type: control.KeyVanished, Key: bob, Until: 1}), hides: true},
		"a vanished key, asked for":    {filters: filters(nostr.Filter{Kinds: []int{1}, Authors: keys(alice, bob)}), before: row(control.Row{Type: control.KeyVanished, Key: bob, Until: 1}), hides: true},
		"a vanished key, not asked":    {filters: filters(nostr.Filter{Kinds: []int{1}, Authors: keys(alice)}), before: row(control.Row{Type: control.KeyVanished, Key: bob, Until: 1})},
		"wraps to a vanished key":      {keys: keys(alice), filters: filters(nostr.Filter{Kinds: []int{1059}, Authors: keys(alice)}), before: row(control.Row{Type: control.KeyVanished, Key: bob, Until: 1}), hides: true},
		"a group":                      {filters: filters(kinds(1)), before: row(control.Row{Type: control.GroupCreated, Group: "pizza", Key: bob, Stamp: 1}), hides: true},
		"outside":                      {filters: filters(kinds(1)), option: withOutside(everybody), hides: true},
		"who may not read at all":      {rules: access.Rules{Require: access.RequireAll}, filters: filters(kinds(1)), hides: true},
		"a member on a members' relay": {rules: access.Rules{Members: access.MembersAll, Operator: boss}, keys: keys(boss), filters: filters(kinds(1))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newWorld(test.rules, withGroups(newFakeGroups()), func(o *access.Options) {
				if test.option != nil {
					test.option(o)
				}
			})
			if test.before != nil {
				test.before(x)
			}
			visible, failed := x.Visible(t.Context(), test.keys, test.filters)
			require.Equal(t, test.hides, visible != nil)
			require.NoError(t, failed())
		})
	}
}

func TestVisibleAgreesWithSightAndKeepsTheFirstError(t *testing.T) {
	t.Parallel()
	broken := errors.New("no answer")
	x := newWorld(access.Rules{}, withOutside(func(_ []string, ev *wire.Event) (bool, error) {
		if ev.Kind == 2 {
			return true, broken
		}
		return ev.Kind == 1, nil
	}))
	visible, failed := x.Visible(t.Context(), keys(bob), filters(nostr.Filter{}))
	require.True(t, visible(event(alice, 1)))
	require.False(t, visible(event(alice, 3)))
	require.False(t, visible(event(alice, 4)))
	require.NoError(t, failed())
	require.False(t, visible(event(alice, 2)))
	require.False(t, visible(event(alice, 3)))
	require.ErrorIs(t, failed(), broken)
}
