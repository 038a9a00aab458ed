package group_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access/control"
	"fencepost/relay/access/group"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

func (w *world) parentOf(id string) nostr.Tag {
	for _, t := range w.state(39000, id).Tags {
		if t[0] == "parent" {
			return t
		}
	}
	return nil
}

func scopeNames(terms []store.Term) (out []string) {
	for _, t := range terms {
		if !strings.Contains(t.Scope, "/") {
			out = append(out, t.Scope)
		}
	}
	return out
}

func TestPlacingAGroupUnderAnother(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		parent []nostr.Tag // of the parent, which alice made
		author string      // who makes the child and places it
		want   nostr.Tag
		text   string // of the refusal
	}{
		{"admin of both", nil, alice, tag("parent", "food", alice), ""},
		{"stranger to the parent", nil, dave, nil, "only an admin of the parent"},
		{"moderator of the parent", nil, bob, nil, "only an admin of the parent"},
		{"operator", nil, boss, tag("parent", "food", boss), ""},
		{"listed", list(tag("child", "pizza")), dave, tag("parent", "food", dave), ""},
		{"listed and closed", list(tag("child", "pizza"), tag("closed-children")), dave, tag("parent", "food", dave), ""},
		{"not listed and closed", list(tag("child", "pasta"), tag("closed-children")), alice, nil, "does not list this one"},
		{"not listed and closed, operator", list(tag("closed-children")), boss, nil, "does not list this one"},
		{"hidden from the author", list(tag("hidden"), tag("child", "pizza")), dave, nil, ""},
		{"hidden, member", list(tag("hidden"), tag("child", "pizza")), carol, tag("parent", "food", carol), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, atOnce := range []bool{true, false} {
				w := newWorld(t)
				w.create("food", c.parent...)
				var write store.Write
				var err error
				if atOnce {
					write, err = w.plan(w.event(c.author, 9007, h("pizza"), tag("parent", "food")))
				} else {
					w.do(c.author, 9007, h("pizza"), tag("name", "Pizza"))
					write, err = w.plan(w.event(c.author, 9002, h("pizza"), tag("about", "x"), tag("parent", "food")))
				}
				if c.text != "" {
					refused(t, err, wire.Restricted, c.text)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, []string{"g:pizza", "g:food"}, scopeNames(write.Terms))
				_, scopes := w.rows(write)
				if c.want == nil {
					require.Equal(t, [][]string{{"g:pizza"}}, scopes)
				} else {
					require.Equal(t, [][]string{{"g:pizza", "g:food"}}, scopes)
				}
				require.NoError(t, w.commit(write))
				require.Equal(t, c.want, w.parentOf("pizza"))
			}
		})
	}
}

func TestAParentThatIsNotThereMakesARoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("gone")
	w.do(alice, 9008, h("gone"))
	for i, parent := range []string{"never", "gone", "a b", ""} {
		id := fmt.Sprint("pizza", i)
		w.do(alice, 9007, h(id), tag("name", "x"), tag("parent", parent))
		require.Nil(t, w.parentOf(id))
	}
	w.do(alice, 9007, h("never"), tag("parent", "pizza0"))
	require.Equal(t, tag("parent", "pizza0", alice), w.parentOf("never"))
}

func TestMovingAGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []string{"food", "drink", "pizza"} {
		w.create(id)
	}
	w.do(alice, 9000, h("pizza"), p(dave, "admin"))
	w.do(alice, 9002, h("pizza"), tag("parent", "food"))

	// Who only repeats the parent need not be its admin, and attests nothing.
	w.do(dave, 9002, h("pizza"), tag("name", "Pizza"), tag("parent", "food"))
	require.Equal(t, tag("parent", "food", alice), w.parentOf("pizza"))
	w.do(alice, 9000, h("food"), p(dave, "admin"))
	w.do(dave, 9002, h("pizza"), tag("parent", "food"))
	require.Equal(t, tag("parent", "food", dave), w.parentOf("pizza"))

	_, err := w.try(dave, 9002, h("pizza"), tag("parent", "drink"))
	refused(t, err, wire.Restricted, "only an admin of the parent")
	w.do(alice, 9002, h("pizza"), tag("parent", "drink"))
	require.Equal(t, tag("parent", "drink", alice), w.parentOf("pizza"))

	w.do(dave, 9002, h("pizza"), tag("about", "x"))
	require.Equal(t, tag("parent", "drink", alice), w.parentOf("pizza"), "what is not said stays")
	w.do(dave, 9002, h("pizza"), tag("parent", ""))
	require.Nil(t, w.parentOf("pizza"))
	w.do(alice, 9002, h("pizza"), tag("parent", "drink"))
	w.do(dave, 9002, h("pizza"), tag("name", "Pizza"), tag("about", "x"))
	require.Nil(t, w.parentOf("pizza"), "all of the metadata, without a parent")
	require.Equal(t, w.book.Dump(), w.rebuilt().Dump())
}

func TestCyclesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []string{"a", "b", "c"} {
		w.create(id)
	}
	w.do(alice, 9002, h("b"), tag("parent", "a"))
	w.do(alice, 9002, h("c"), tag("parent", "b"))
	for _, id := range []string{"b", "c"} {
		_, err := w.try(alice, 9002, h("a"), tag("parent", id))
		refused(t, err, wire.Invalid, "close a cycle")
		_, err = w.try(boss, 9002, h("a"), tag("parent", id))
		refused(t, err, wire.Invalid, "close a cycle")
	}
}

// Two edits that would close a cycle together cannot both commit, in any order,
// however long the cycle is.
func TestEditsThatCloseACycleTogether(t *testing.T) {
	t.Parallel()
	for n := 2; n <= 5; n++ {
		for first := range n {
			w := newWorld(t)
			id := func(i int) string { return fmt.Sprint("g", i%n) }
			for i := range n {
				w.create(id(i))
			}
			plans := make([]store.Write, n)
			for i := range n {
				plans[i] = w.planned(alice, 9002, h(id(i)), tag("parent", id(i+1)))
			}
			committed := 0
			for i := range n {
				if w.commit(plans[(first+i)%n]) == nil {
					committed++
				}
			}
			require.Less(t, committed, n)
			for range 3 { // and again, one after the other
				for i := range n {
					_, _ = w.try(alice, 9002, h(id(i)), tag("parent", id(i+1))) // the last is refused
				}
			}
			requireNoCycle(t, w)
		}
	}
}

// What is above the new parent counts as well.
func TestEditRacingAChangeAboveItsParent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		w.create(id)
	}
	w.do(alice, 9002, h("c"), tag("parent", "b"))
	write := w.planned(alice, 9002, h("d"), tag("parent", "c"))
	require.Equal(t, []string{"g:d", "g:c", "g:b"}, scopeNames(write.Terms))
	w.do(alice, 9002, h("b"), tag("parent", "d"))
	require.ErrorIs(t, w.commit(write), store.ErrMoved)
	_, err := w.plan(write.Event)
	refused(t, err, wire.Invalid, "close a cycle")
}

func requireNoCycle(t require.TestingT, w *world) {
	above := map[string]string{}
	for _, ev := range w.events {
		if parent, ok := ev.Tag("parent"); ok && ev.Kind == 39000 {
			above[ev.D()] = parent
		}
	}
	for id := range above {
		at := id
		for range len(above) + 1 {
			at = above[at]
		}
		require.Empty(t, at, "there is a cycle over %s: %v", id, above)
	}
}

func TestNestingHasABound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do(alice, 9007, h("g0"))
	for i := 1; i <= group.MaxDepth; i++ {
		w.do(alice, 9007, h(fmt.Sprint("g", i)), tag("parent", fmt.Sprint("g", i-1)))
	}
	_, err := w.try(alice, 9007, h("deeper"), tag("parent", fmt.Sprint("g", group.MaxDepth)))
	refused(t, err, wire.Invalid, "too deep")
}

func TestChildrenHaveABound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do(alice, 9007, h("food"))
	for i := range group.MaxChildren {
		w.do(alice, 9007, h(fmt.Sprint("g", i)), tag("parent", "food"))
	}
	_, err := w.try(alice, 9007, h("more"), tag("parent", "food"))
	refused(t, err, wire.Restricted, "as many children")
	w.do(alice, 9002, h("g7"), tag("parent", "food"), tag("about", "stays"))
}

func TestChildrenOfADeletedGroupBecomeRoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("food")
	for _, id := range []string{"pizza", "pasta"} {
		w.do(alice, 9007, h(id), tag("name", id), tag("private"), tag("parent", "food"))
	}
	w.do(alice, 9007, h("deeper"), tag("parent", "pizza"))
	before := w.state(39000, "pizza").CreatedAt
	write := w.planned(alice, 9008, h("food"))
	require.Equal(t, []string{"g:food", "g:pasta", "g:pizza"}, scopeNames(write.Terms))
	rows, scopes := w.rows(write)
	require.Equal(t, []control.Type{control.GroupEdited, control.GroupEdited, control.GroupDeleted},
		[]control.Type{rows[0].Type, rows[1].Type, rows[2].Type})
	require.Equal(t, [][]string{{"g:pasta"}, {"g:pizza"}, {"g:food"}}, scopes)

	require.NoError(t, w.commit(write))
	require.Equal(t, nostr.Tags{{"d", "pizza"}, {"name", "pizza"}, {"private"}}, w.state(39000, "pizza").Tags)
	require.Greater(t, w.state(39000, "pizza").CreatedAt, before)
	require.Equal(t, tag("parent", "pizza", alice), w.parentOf("deeper"))
	require.Equal(t, w.book.Dump(), w.rebuilt().Dump())
}

// A child that comes, or is edited, while its parent is being deleted must not be
// lost or overwritten.
func TestDeletionRacingAChild(t *testing.T) {
	t.Parallel()
	for name, rival := range map[string]func(w *world){
		"a child comes":     func(w *world) { w.do(alice, 9007, h("pasta"), tag("parent", "food")) },
		"a child is edited": func(w *world) { w.do(alice, 9002, h("pizza"), tag("private")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("food")
			w.do(alice, 9007, h("pizza"), tag("parent", "food"))
			write := w.planned(alice, 9008, h("food"))
			arrives := w.planned(alice, 9007, h("soup"), tag("parent", "food"))
			rival(w)
			require.ErrorIs(t, w.commit(write), store.ErrMoved)
			write, err := w.plan(write.Event)
			require.NoError(t, err)
			require.NoError(t, w.commit(write))
			require.ErrorIs(t, w.commit(arrives), store.ErrMoved)
			requireNoCycle(t, w)
			require.Nil(t, w.parentOf("pizza"))
		})
	}
}

// A row of a deleted parent clears its children even without rows of their own.
func TestDeletionRowAloneMakesRoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("food")
	w.do(alice, 9007, h("pizza"), tag("parent", "food"))
	_, err := w.book.Apply(1000, control.Row{Type: control.GroupDeleted, Group: "food"}, nil)
	require.NoError(t, err)
	require.NotContains(t, w.book.Dump(), "pizza under")
	write := w.planned(alice, 9002, h("pizza"), tag("about", "x"))
	rows, _ := w.rows(write)
	require.Equal(t, nostr.Tags{{"about", "x"}}, rows[0].Tags)
}
