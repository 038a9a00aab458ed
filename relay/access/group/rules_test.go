package group_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access/control"
	"fencepost/relay/access/group"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// kindsOf returns the kinds of the events that the relay signs.
func kindsOf(events []*wire.Event) []int {
	out := []int{}
	for _, ev := range events {
		out = append(out, ev.Kind)
	}
	return out
}

// planned returns what follows from a request that is allowed.
func (w *world) planned(author string, kind int, tags ...nostr.Tag) store.Write {
	write, err := w.plan(w.event(author, kind, tags...))
	require.NoError(w.t, err)
	return write
}

func (w *world) rows(write store.Write) (rows []control.Row, scopes [][]string) {
	for _, c := range write.Controls {
		row, err := control.Decode(c.Data)
		require.NoError(w.t, err)
		row.Version = 0
		rows, scopes = append(rows, row), append(scopes, c.Scopes)
	}
	return rows, scopes
}

func TestCreationMakesTheCreatorTheFirstAdmin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	write := w.planned(alice, 9007, h("pizza"), tag("name", "Pizza"), tag("private"), tag("supported_kinds", "9", "11"))
	rows, scopes := w.rows(write)
	stamp := w.now.Unix()
	metadata := nostr.Tags{{"name", "Pizza"}, {"private"}, {"supported_kinds", "9", "11"}}
	require.Equal(t, []control.Row{{
		Type: control.GroupCreated, Group: "pizza", Key: alice, Tags: metadata, Stamp: stamp,
	}}, rows)
	require.Equal(t, [][]string{{"g:pizza"}}, scopes)
	require.Equal(t, []store.Term{{Scope: "g:pizza"}}, write.Terms)

	require.Equal(t, []int{9000, 39000, 39001, 39003}, kindsOf(write.Also))
	for _, ev := range write.Also {
		require.Equal(t, self, ev.PubKey)
		require.EqualValues(t, stamp, ev.CreatedAt)
	}
	require.Equal(t, nostr.Tags{h("pizza"), p(alice, "admin")}, write.Also[0].Tags)
	require.Equal(t, append(nostr.Tags{{"d", "pizza"}}, metadata...), write.Also[1].Tags)
	require.Equal(t, nostr.Tags{{"d", "pizza"}, p(alice, "admin")}, write.Also[2].Tags)
	require.Equal(t, "role", write.Also[3].Tags[1][0])

	require.NoError(t, w.commit(write))
	w.do(alice, 9002, h("pizza"), tag("name", "Pasta"))
}

func TestWhoMayCreateGroups(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		create group.Creation
		author string
		ok     bool
	}{
		{group.CreateAnyone, alice, true},
		{group.CreateAnyone, boss, true},
		{group.CreateOperator, alice, false},
		{group.CreateOperator, boss, true},
		{group.CreateOperator, self, true},
	} {
		w := newWorld(t)
		w.change(func(r *group.Rules) { r.Create = c.create })
		_, err := w.try(c.author, 9007, h("pizza"))
		require.Equal(t, c.ok, err == nil, "%v: %v", c, err)
	}
}

func TestGroupsThatAreOffMeanNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.change(func(r *group.Rules) { r.Create = group.CreateNone })
	for _, ev := range []*wire.Event{
		w.event(alice, 9, h("pizza")), w.event(alice, 9007, h("pizza")), w.event(alice, 39000, tag("d", "pizza")),
		w.event(alice, 9, many("h", 100, number)...),
	} {
		require.False(t, w.book.Names(ev))
		effect, err := w.book.Plan(context.Background(), nil, ev, false)
		require.NoError(t, err)
		require.Empty(t, effect)
	}
	require.False(t, w.book.Hidden())
}

func TestAnHTagOfNoGroupIsAnOrdinaryTag(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	for _, tags := range [][]nostr.Tag{
		{h("pasta")}, {h("a b"), h("c d")}, {h("a"), h("b")}, {tag("h")}, nil, {tag("previous", "00000000")},
	} {
		ev := w.do(dave, 1, tags...)
		require.False(t, w.book.Names(ev))
		require.True(t, w.sees(ev))
	}
	require.Equal(t, []store.Term{{Scope: "g:pasta"}}, w.book.Terms(w.event(dave, 1, h("pasta"))))
}

// An event that was judged before its h tag was that of a group is judged again.
func TestEventRacingTheCreationOfItsGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	write := w.planned(dave, 1, h("pizza"))
	w.do(alice, 9007, h("pizza"), tag("restricted"))
	require.ErrorIs(t, w.commit(write), store.ErrMoved)
	_, err := w.plan(write.Event)
	refused(t, err, wire.Restricted, "only members")
}

func TestOrdinaryEventsOfAGroup(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		given  []nostr.Tag
		author string
		kind   int
	}{
		{"stranger in a group that all may write in", list(tag("private")), dave, 9},
		{"member of a restricted group", list(tag("restricted")), carol, 9},
		{"supported kind", list(tag("supported_kinds", "9", "11")), carol, 11},
		{"deletion where nothing is supported", list(tag("supported_kinds")), carol, 5},
		{"request where nothing is supported", list(tag("supported_kinds")), bob, 9009},
		{"any kind", nil, dave, 30023},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pizza", c.given...)
			w.do(c.author, c.kind, h("pizza"), tag("code", "x"))
		})
	}
}

func TestTimelineReferences(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	w.create("pasta")
	here, there := w.do(carol, 9, h("pizza")), w.do(carol, 9, h("pasta"))
	w.do(dave, 9, h("pizza"), tag("previous", here.ID[:8], here.ID[:8]), tag("previous"))
	_, err := w.try(dave, 9, h("pizza"), tag("previous", here.ID[:8], there.ID[:8]))
	refused(t, err, wire.Invalid, "no event of this group")

	w.failed = errors.New("disk")
	_, err = w.try(dave, 9, h("pizza"), tag("previous", here.ID[:8]))
	require.ErrorIs(t, err, w.failed)
	require.NotErrorAs(t, err, new(wire.Reason))
	_, err = w.try(alice, 9005, h("pizza"), tag("e", here.ID))
	require.ErrorIs(t, err, w.failed)
}

func TestDeletingEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	w.create("pasta")
	one, two, there := w.do(carol, 9, h("pizza")), w.do(dave, 9, h("pizza")), w.do(dave, 9, h("pasta"))
	_, err := w.try(bob, 9005, h("pizza"), tag("e", one.ID), tag("e", there.ID))
	refused(t, err, wire.Invalid, "no event of this group")
	_, err = w.try(bob, 9005, h("pizza"), tag("e", one.ID), tag("e", one.ID))
	refused(t, err, wire.Invalid, "named twice")
	_, err = w.try(bob, 9005, h("pizza"), tag("e", w.state(39000, "pizza").ID))
	refused(t, err, wire.Invalid, "no event of this group")

	write := w.planned(bob, 9005, h("pizza"), tag("e", one.ID), tag("e", two.ID))
	require.Equal(t, []string{one.ID, two.ID}, write.Ban)
	require.Empty(t, write.Controls)
	require.Empty(t, write.Also)
}

func TestDeletingAnInvitationEndsItsCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza", tag("closed"))
	kept, ended := w.do(bob, 9009, h("pizza"), tag("code", "kept")), w.do(bob, 9009, h("pizza"), tag("code", "x"), tag("code", "y"))
	joins := w.planned(dave, 9021, h("pizza"), tag("code", "x"))
	w.do(bob, 9005, h("pizza"), tag("e", ended.ID))
	require.ErrorIs(t, w.commit(joins), store.ErrMoved)
	_, err := w.plan(joins.Event)
	refused(t, err, wire.Restricted, "not valid")
	w.do(dave, 9021, h("pizza"), tag("code", "x"), tag("code", "kept"))
	require.Contains(t, w.events, kept.ID)
}

func TestPins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	w.create("pasta")
	one, two, there := w.do(carol, 9, h("pizza")), w.do(dave, 9, h("pizza")), w.do(dave, 9, h("pasta"))
	_, err := w.try(bob, 9010, h("pizza"), tag("e", one.ID), tag("e", there.ID))
	refused(t, err, wire.Invalid, "no event of this group")

	article := tag("a", "30023:"+dave+":x", "wss://elsewhere")
	w.do(bob, 9010, h("pizza"), tag("e", two.ID), article, tag("e", one.ID))
	require.Equal(t, nostr.Tags{{"d", "pizza"}, {"e", two.ID}, article, {"e", one.ID}}, w.state(39005, "pizza").Tags)

	// The list is replaced, also twice in a second.
	w.do(alice, 9010, h("pizza"), article, tag("e", one.ID))
	first := w.state(39005, "pizza")
	w.do(bob, 9005, h("pizza"), tag("e", one.ID))
	require.Equal(t, nostr.Tags{{"d", "pizza"}, article}, w.state(39005, "pizza").Tags, "what is deleted is pinned no longer")
	require.Greater(t, w.state(39005, "pizza").CreatedAt, first.CreatedAt)
	w.do(bob, 9010, h("pizza"))
	require.Equal(t, nostr.Tags{{"d", "pizza"}}, w.state(39005, "pizza").Tags)

	a, b := w.planned(bob, 9010, h("pizza"), article), w.planned(alice, 9010, h("pizza"), tag("e", two.ID))
	require.NoError(t, w.commit(a))
	require.ErrorIs(t, w.commit(b), store.ErrMoved, "of two lists made at once one is made again")
}

func TestDeletingAGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	w.change(func(r *group.Rules) { r.MaxGroups = 1 })
	said := w.do(carol, 9, h("pizza"))
	write := w.planned(alice, 9008, h("pizza"))
	require.Equal(t, &store.Erasure{Group: "pizza", Self: self, Cause: store.CauseOperator}, write.Erase)
	rows, scopes := w.rows(write)
	require.Equal(t, []control.Row{{Type: control.GroupDeleted, Group: "pizza"}}, rows)
	require.Equal(t, [][]string{{"g:pizza"}}, scopes)
	joins := w.planned(dave, 9021, h("pizza"))
	posts := w.planned(dave, 9, h("pizza"))

	require.NoError(t, w.commit(write))
	for _, reader := range [][]string{nil, {alice}, {boss}, {self}, {carol, alice}} {
		require.False(t, w.sees(said, reader...))
	}
	for _, late := range []store.Write{joins, posts} {
		require.ErrorIs(t, w.commit(late), store.ErrMoved)
		_, err := w.plan(late.Event)
		refused(t, err, wire.Blocked, "was deleted")
	}
	w.do(dave, 9007, h("pasta")) // there is room again
}

func TestAnErrorOfSigningIsNoRefusal(t *testing.T) {
	t.Parallel()
	broken := errors.New("no key")
	w := newWorld(t)
	b, err := group.New(group.Options{
		Self: self, Sign: func(*nostr.Event) error { return broken }, Now: func() time.Time { return w.now }, Find: w.find, Prefixed: w.prefixed, Rules: w.rules,
	})
	require.NoError(t, err)
	_, err = b.Plan(context.Background(), nil, w.event(alice, 9007, h("pizza")), false)
	require.ErrorIs(t, err, broken)
	require.NotErrorAs(t, err, new(wire.Reason))

	_, err = group.New(group.Options{Self: self})
	require.Error(t, err)
}
