package group_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
)

// asked is a request of somebody about the group pizza.
type asked struct {
	author string
	kind   int
	tags   []nostr.Tag
}

// What was planned before something else was committed is decided again exactly
// when it rests on that: alice and dave are admins, bob is moderator, carol and keys[8]
// are members, outsider is none.
func TestWhatADecisionRestsOn(t *testing.T) {
	t.Parallel()
	var (
		eve     = keys[8]
		leaves  = asked{carol, 9022, nil}
		removed = asked{alice, 9001, list(p(carol))}
		joins   = asked{outsider, 9021, nil}
		posts   = asked{carol, 9, nil}
	)
	for _, c := range []struct {
		name          string
		first, second asked
		again         bool
	}{
		{"post and leave of another", asked{eve, 9022, nil}, posts, false},
		{"post and join of another", joins, posts, false},
		{"post and leave of its author", leaves, posts, true},
		{"post and removal of its author", removed, posts, true},
		{"post and removal of a moderator", asked{alice, 9001, list(p(bob))}, posts, true},
		{"post and edit", asked{alice, 9002, list(tag("restricted"))}, posts, true},
		{"edit and leave of a member", leaves, asked{alice, 9002, list(tag("about", "x"))}, false},
		{"edit and leave of an admin", asked{dave, 9022, nil}, asked{alice, 9002, list(tag("about", "x"))}, true},
		{"edit and removal of its author", asked{alice, 9001, list(p(dave))}, asked{dave, 9002, list(tag("about", "x"))}, true},
		{"pins and leave of a member", leaves, asked{bob, 9010, list(tag("a", "1:x:"))}, false},
		{"invitation and leave of a member", leaves, asked{bob, 9009, list(tag("code", "x"))}, false},
		{"deletion of the group and leave of a member", leaves, asked{alice, 9008, nil}, false},
		{"join and leave of another", leaves, joins, false},
		{"join and promotion of the same key", asked{alice, 9000, list(p(outsider, "king"))}, joins, true},
		{"leave and promotion of the same key", asked{alice, 9000, list(p(carol, "moderator"))}, leaves, true},
		{"promotion and leave of the same key", leaves, asked{alice, 9000, list(p(carol, "moderator"))}, true},
		{"put among others and leave of the same key", leaves, asked{alice, 9000, list(p(outsider), p(carol))}, true},
		{"put and leave of another", leaves, asked{alice, 9000, list(p(outsider))}, false},
		{"removal and leave of the same key", leaves, removed, false},
		{"removal by a moderator and promotion", asked{alice, 9000, list(p(carol, "moderator"))}, asked{bob, 9001, list(p(carol))}, true},
		{"removal by a moderator and demotion of it", asked{alice, 9000, list(p(bob))}, asked{bob, 9001, list(p(carol))}, true},
		{"leave and removal of the same key", removed, leaves, true},
		{"two admins remove each other", asked{alice, 9001, list(p(dave))}, asked{dave, 9001, list(p(alice))}, true},
		{"one admin leaves, the other demotes itself", asked{dave, 9022, nil}, asked{alice, 9000, list(p(alice, "king"))}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pizza")
			w.do(alice, 9000, h("pizza"), p(dave, "admin"), p(eve))
			second := w.planned(c.second.author, c.second.kind, pizza(c.second.tags...)...)
			w.do(c.first.author, c.first.kind, pizza(c.first.tags...)...)
			if c.again {
				require.ErrorIs(t, w.commit(second), store.ErrMoved)
			} else {
				require.NoError(t, w.commit(second))
			}
			require.Equal(t, w.book.Dump(), w.rebuilt().Dump())
		})
	}
}

// Somebody who is placed under a hidden group must know of it still.
func TestPlacementRestsOnTheMembershipAbove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza", tag("hidden"), tag("child", "pasta"))
	w.do(carol, 9007, h("pasta"))
	write := w.planned(carol, 9002, h("pasta"), tag("parent", "pizza"))
	w.do(carol, 9022, h("pizza"))
	require.ErrorIs(t, w.commit(write), store.ErrMoved)
}

// Grants end with whatever takes something away, even when its row names nothing.
func TestALossEndsGrantsWhateverItsRowNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza", tag("private"))
	grant := w.grant(w.event(carol, 9, h("pizza")))
	_, err := w.book.Apply(1000, control.Row{Type: control.GroupRemoved, Group: "pizza", Key: carol, Stamp: 1}, nil)
	require.NoError(t, err)
	require.False(t, grant.Holds())
}

// A deleted group keeps no keys, and what is decided about it needs none.
func TestTermsOfADeletedGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	w.do(carol, 9022, h("pizza"))
	w.do(alice, 9008, h("pizza"))
	require.Equal(t, []store.Term{{Scope: "g:pizza", Epoch: w.at}}, w.book.Terms(w.event(carol, 9, h("pizza"))))
}
