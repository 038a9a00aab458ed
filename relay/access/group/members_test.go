package group_test

import (
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access/control"
	"fencepost/relay/access/group"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Who may put, demote and remove whom: alice and dave are admins, bob is
// moderator, carol a member. Where only says alice, dave is none.
func TestWhoMayChangeWhom(t *testing.T) {
	t.Parallel()
	const fine = ""
	for _, c := range []struct {
		name   string
		alone  bool // alice is the only admin
		author string
		kind   int
		tags   []nostr.Tag
		text   string // of the refusal
	}{
		{"admin promotes", false, alice, 9000, list(p(carol, "admin")), fine},
		{"admin demotes another", false, alice, 9000, list(p(dave)), fine},
		{"admin demotes itself", false, alice, 9000, list(p(alice, "moderator")), fine},
		{"last admin demotes itself", true, alice, 9000, list(p(alice)), "last admin"},
		{"last admin hands over", true, alice, 9000, list(p(alice), p(bob, "admin")), fine},
		{"all admins are demoted", false, alice, 9000, list(p(alice), p(dave, "moderator")), "last admin"},
		{"last admin keeps its role among others", true, alice, 9000, list(p(alice, "king", "admin")), fine},
		{"operator demotes the last admin", true, boss, 9000, list(p(alice)), fine},
		{"relay demotes the last admin", true, self, 9000, list(p(alice)), fine},
		{"operator appoints", true, boss, 9000, list(p(carol, "admin")), fine},
		{"other roles mean nothing", true, alice, 9000, list(p(carol, "Admin", "king")), fine},

		{"admin removes an admin", false, alice, 9001, list(p(dave)), fine},
		{"admin removes itself", false, alice, 9001, list(p(alice)), fine},
		{"last admin removes itself", true, alice, 9001, list(p(alice)), "last admin"},
		{"all admins are removed", false, dave, 9001, list(p(alice), p(dave)), "last admin"},
		{"operator removes the last admin", true, boss, 9001, list(p(alice)), fine},
		{"admin removes a moderator", false, alice, 9001, list(p(bob), p(carol)), fine},
		{"moderator removes a member", false, bob, 9001, list(p(carol)), fine},
		{"moderator removes a member with an empty role", false, bob, 9001, list(p(outsider), p(carol)), fine},
		{"moderator removes an admin", false, bob, 9001, list(p(carol), p(dave)), "plain members only"},
		{"moderator removes itself", false, bob, 9001, list(p(bob)), "plain members only"},

		{"last admin leaves", true, alice, 9022, nil, fine},
		{"moderator leaves", true, bob, 9022, nil, fine},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pizza")
			if !c.alone {
				w.do(alice, 9000, h("pizza"), p(dave, "admin"))
			}
			_, err := w.try(c.author, c.kind, append([]nostr.Tag{h("pizza")}, c.tags...)...)
			if c.text == fine {
				require.NoError(t, err)
				return
			}
			refused(t, err, wire.Restricted, c.text)
		})
	}
}

func TestAGroupWithoutAnAdminIsHelpedByTheOperator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	w.do(alice, 9022, h("pizza"))
	_, err := w.try(alice, 9002, h("pizza"), tag("name", "x"))
	refused(t, err, wire.Restricted, "only an admin")
	w.do(bob, 9001, h("pizza"), p(carol)) // a moderator goes on
	w.do(boss, 9000, h("pizza"), p(bob, "admin"))
	w.do(bob, 9002, h("pizza"), tag("name", "x"))
}

// The operator moderates and is no member by that.
func TestTheOperatorDoesWhatAnAdminDoes(t *testing.T) {
	t.Parallel()
	for _, author := range []string{boss, self} {
		w := newWorld(t)
		w.create("pizza", tag("private"), tag("hidden"), tag("closed"))
		said := w.do(carol, 9, h("pizza"))
		w.do(author, 9002, h("pizza"), tag("about", "x"))
		w.do(author, 9000, h("pizza"), p(dave))
		w.do(author, 9001, h("pizza"), p(bob))
		w.do(author, 9009, h("pizza"), tag("code", "x"))
		w.do(author, 9010, h("pizza"), tag("e", said.ID))
		require.False(t, w.sees(said, author))
		w.do(author, 9005, h("pizza"), tag("e", said.ID))
		w.do(author, 9008, h("pizza"))
	}
}

func TestPuttingMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	before := w.now.Unix()

	// A new member without roles takes nothing away.
	write := w.planned(alice, 9000, h("pizza"), p(dave), p(carol))
	rows, scopes := w.rows(write)
	require.Len(t, rows, 1, "carol is one already")
	require.Equal(t, control.GroupPut, rows[0].Type)
	require.Equal(t, dave, rows[0].Key)
	require.Equal(t, before, rows[0].Stamp)
	require.Empty(t, scopes[0])
	require.Empty(t, write.Also)
	require.NoError(t, w.commit(write))

	// Whatever changes roles names the group.
	for _, roles := range [][]string{{"king"}, {"moderator"}, {"moderator", "king"}, {"king"}, nil} {
		write = w.planned(alice, 9000, h("pizza"), p(dave, roles...))
		rows, scopes = w.rows(write)
		require.Equal(t, roles, rows[0].Roles)
		require.Equal(t, [][]string{{"g:pizza"}}, scopes)
		require.NoError(t, w.commit(write))
	}
	w.do(alice, 9000, h("pizza"), p(dave, "moderator", "", "king", "king"))
	require.Equal(t, nostr.Tags{{"d", "pizza"}, p(bob, "moderator"), p(dave, "moderator", "king"), p(alice, "admin")},
		sorted(w.state(39001, "pizza").Tags))
}

// sorted puts the p tags in the order of the test's keys.
func sorted(tags nostr.Tags) nostr.Tags {
	out := nostr.Tags{tags[0]}
	for _, key := range []string{bob, dave, alice} {
		for _, t := range tags[1:] {
			if t[1] == key {
				out = append(out, t)
			}
		}
	}
	return out
}

// 39001 is made anew exactly when it says something else.
func TestTheListOfAdminsFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	for _, c := range []struct {
		author string
		kind   int
		tags   []nostr.Tag
		listed bool
	}{
		{alice, 9000, list(p(dave)), false},
		{alice, 9000, list(p(dave, "king")), false},
		{alice, 9000, list(p(dave, "moderator")), true},
		{alice, 9000, list(p(dave, "moderator", "king")), true},
		{alice, 9000, list(p(dave)), true},
		{alice, 9001, list(p(dave)), false},
		{alice, 9001, list(p(bob)), true},
		{carol, 9022, nil, false},
		{alice, 9022, nil, true},
	} {
		write := w.planned(c.author, c.kind, append([]nostr.Tag{h("pizza")}, c.tags...)...)
		kinds := kindsOf(write.Also)
		if c.kind == 9022 {
			require.Equal(t, 9001, kinds[0])
			kinds = kinds[1:]
		}
		require.Equal(t, c.listed, len(kinds) == 1 && kinds[0] == 39001, "%v %v", c, kinds)
		require.NoError(t, w.commit(write))
	}
	require.Equal(t, nostr.Tags{{"d", "pizza"}}, w.state(39001, "pizza").Tags)
}

func TestTooManyPrivileged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	var err error
	for i := 0; i < group.MaxPrivileged && err == nil; i += 40 {
		var tags []nostr.Tag
		for n := range 40 {
			key, _ := nostr.GetPublicKey(fmt.Sprintf("%064x", 1000+i+n))
			tags = append(tags, p(key, "moderator"))
		}
		_, err = w.try(alice, 9000, append([]nostr.Tag{h("pizza")}, tags...)...)
	}
	refused(t, err, wire.Restricted, "at most 200")
}

func TestRemovingMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	write := w.planned(alice, 9001, h("pizza"), p(carol), p(outsider), p(bob))
	rows, scopes := w.rows(write)
	require.Equal(t, []string{carol, bob}, []string{rows[0].Key, rows[1].Key})
	require.Equal(t, [][]string{{"g:pizza/" + carol}, {"g:pizza"}}, scopes)
	require.NoError(t, w.commit(write))
	_, err := w.try(alice, 9001, h("pizza"), p(carol))
	refused(t, err, wire.Duplicate, "none of them")
}

func TestJoining(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		group []nostr.Tag
		with  []nostr.Tag
	}{
		{"open group", nil, nil},
		{"open group with a code that is not needed", nil, list(tag("code", "?"))},
		{"private group that is not closed", list(tag("private"), tag("hidden"), tag("restricted")), nil},
		{"closed group with a code", list(tag("closed")), list(tag("code", "x"))},
		{"closed group with one good code among others", list(tag("closed")), list(tag("code"), tag("code", "?"), tag("code", "x"))},
		{"hidden closed group with a code", list(tag("closed"), tag("hidden"), tag("private")), list(tag("code", "y"))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pizza", c.group...)
			w.do(bob, 9009, h("pizza"), tag("code", "x"), tag("code", "y"))
			for _, key := range []string{dave, outsider} { // a code is not used up
				write := w.planned(key, 9021, append([]nostr.Tag{h("pizza")}, c.with...)...)
				rows, scopes := w.rows(write)
				require.Equal(t, control.Row{Type: control.GroupPut, Group: "pizza", Key: key, Stamp: rows[0].Stamp}, rows[0])
				require.Empty(t, scopes[0])
				require.Equal(t, []int{9000}, kindsOf(write.Also))
				require.Equal(t, nostr.Tags{h("pizza"), p(key)}, write.Also[0].Tags)
				require.EqualValues(t, rows[0].Stamp, write.Also[0].CreatedAt)
				require.NoError(t, w.commit(write))
				_, err := w.try(key, 9021, append([]nostr.Tag{h("pizza")}, c.with...)...)
				refused(t, err, wire.Duplicate, "already")
			}
		})
	}
}

func TestLeaving(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza", tag("private"))
	said := w.do(carol, 9, h("pizza"))
	write := w.planned(carol, 9022, h("pizza"))
	_, scopes := w.rows(write)
	require.Equal(t, [][]string{{"g:pizza/" + carol}}, scopes)
	require.Equal(t, nostr.Tags{h("pizza"), p(carol)}, write.Also[0].Tags)
	require.NoError(t, w.commit(write))
	require.False(t, w.sees(said, carol))
	_, err := w.try(carol, 9022, h("pizza"))
	refused(t, err, wire.Duplicate, "not a member")
}

func TestVanishingEndsEveryMembership(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza", tag("private"))
	w.create("pasta", tag("private"))
	w.create("soup", tag("hidden"))
	w.create("cellar", tag("hidden"), tag("private"))
	w.create("gone", tag("hidden"))
	w.do(alice, 9008, h("gone"))
	w.create("left", tag("hidden"))
	w.do(carol, 9022, h("left"))
	said := w.do(carol, 9, h("pizza"))
	require.True(t, w.sees(said, carol))
	for _, book := range []*group.Book{w.book, w.rebuilt()} {
		change, err := book.Apply(1000, control.Row{Type: control.KeyVanished, Key: carol, Until: 1}, []string{carol})
		require.NoError(t, err)
		require.Equal(t, group.Change{Hidden: []string{"cellar", "soup"}}, change)
		require.Empty(t, book.Members(carol))
		require.Equal(t, []string{"cellar", "left", "pasta", "pizza", "soup"}, book.Members(bob))
		_, may := book.Sight(said)
		require.False(t, may([]string{carol}))
		require.True(t, may([]string{alice}))
	}
}

// A join that was planned before somebody was given a role must not take it away.
func TestJoinRacingAppointment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	joins := w.planned(dave, 9021, h("pizza"))
	plain := w.planned(alice, 9000, h("pizza"), p(dave))
	w.do(alice, 9000, h("pizza"), p(dave, "moderator"))
	require.ErrorIs(t, w.commit(joins), store.ErrMoved)
	require.ErrorIs(t, w.commit(plain), store.ErrMoved)
	_, err := w.plan(joins.Event)
	refused(t, err, wire.Duplicate, "already")
}

func TestTwoAdminsDemoteEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	w.do(alice, 9000, h("pizza"), p(dave, "admin"))
	one, other := w.planned(alice, 9000, h("pizza"), p(dave)), w.planned(dave, 9000, h("pizza"), p(alice))
	require.NoError(t, w.commit(one))
	require.ErrorIs(t, w.commit(other), store.ErrMoved)
	_, err := w.plan(other.Event)
	refused(t, err, wire.Restricted, "only an admin")
}

func TestJoinsDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	one, other, again := w.planned(dave, 9021, h("pizza")), w.planned(outsider, 9021, h("pizza")), w.planned(dave, 9021, h("pizza"))
	require.NoError(t, w.commit(one))
	require.NoError(t, w.commit(other))
	require.NoError(t, w.commit(again), "two joins of one key are one")
	require.Equal(t, w.book.Dump(), w.rebuilt().Dump())
}

// However many come and go in a second, what the relay tells has the time of the
// clock.
func TestComingAndGoingStaysInThePresent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	ahead := w.state(39001, "pizza").CreatedAt
	for range 50 {
		for _, c := range []asked{
			{alice, 9000, list(p(dave, "king"))}, {dave, 9022, nil}, {dave, 9021, nil}, {alice, 9001, list(p(dave))},
		} {
			write := w.planned(c.author, c.kind, pizza(c.tags...)...)
			for _, ev := range write.Also {
				require.EqualValues(t, w.now.Unix(), ev.CreatedAt)
			}
			rows, _ := w.rows(write)
			require.Equal(t, w.now.Unix(), rows[0].Stamp)
			require.NoError(t, w.commit(write))
		}
	}
	w.do(alice, 9000, h("pizza"), p(dave, "moderator"))
	require.Equal(t, ahead+1, w.state(39001, "pizza").CreatedAt)
	require.Equal(t, w.book.Dump(), w.rebuilt().Dump())
}

// Whom staff has removed comes back only when it is put again, code or not.
func TestWhoWasRemovedCannotJoin(t *testing.T) {
	t.Parallel()
	for name, tags := range map[string][]nostr.Tag{
		"open": nil, "closed": list(tag("closed")), "hidden": list(tag("hidden"), tag("closed")), "hidden and open": list(tag("hidden")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pizza", tags...)
			w.do(bob, 9009, pizza(tag("code", "x"))...)
			joins := pizza(tag("code", "x"))
			join := w.planned(dave, 9021, joins...)
			w.do(dave, 9021, joins...)
			w.do(dave, 9022, h("pizza"))
			w.do(dave, 9021, joins...) // who has left may come back
			w.do(bob, 9001, h("pizza"), p(dave))
			require.ErrorIs(t, w.commit(join), store.ErrMoved)
			for range 2 {
				_, err := w.try(dave, 9021, joins...)
				if len(tags) > 0 && tags[0][0] == "hidden" {
					refused(t, err, wire.Invalid, "no such group")
				} else {
					refused(t, err, wire.Restricted, "you were removed")
				}
				require.Equal(t, w.book.Dump(), w.rebuilt().Dump())
			}
			w.do(alice, 9000, h("pizza"), p(dave))
			w.do(dave, 9022, h("pizza"))
			w.do(dave, 9021, joins...)
			w.do(alice, 9000, h("pizza"), p(dave, "moderator"))
			w.do(alice, 9001, h("pizza"), p(dave))
			_, err := w.try(dave, 9021, joins...)
			require.Error(t, err, "nor does it help to have been moderator")
		})
	}
}
