package group_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access/group"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

func TestEditingMetadata(t *testing.T) {
	t.Parallel()
	full := list(
		tag("name", "Pizza"), tag("picture", "p"), tag("banner", "b"), tag("about", "a"),
		tag("private"), tag("restricted"), tag("hidden"), tag("closed"), tag("livekit"), tag("closed-children"),
		tag("supported_kinds", "9"), tag("child", "x", "1"),
	)
	for _, c := range []struct {
		name  string
		given []nostr.Tag // at creation
		tags  []nostr.Tag
		want  nostr.Tags
	}{
		{"one text", full, list(tag("about", "new")), nostr.Tags{
			{"name", "Pizza"},
			{"picture", "p"},
			{"banner", "b"},
			{"about", "new"},
			{"private"},
			{"restricted"},
			{"hidden"},
			{"closed"},
			{"livekit"},
			{"closed-children"},
			{"supported_kinds", "9"},
			{"child", "x", "1"},
		}},
		{"the name alone", list(tag("private"), tag("about", "a")), list(tag("name", "new")), nostr.Tags{
			{"name", "new"}, {"about", "a"}, {"private"},
		}},
		{"a text that is empty", list(tag("about", "a"), tag("name", "n")), list(tag("about")), nostr.Tags{{"name", "n"}}},
		{"all of it keeps what opens a group", full, list(tag("name", "new"), tag("about", "a")), nostr.Tags{
			{"name", "new"}, {"about", "a"}, {"private"}, {"restricted"}, {"hidden"}, {"closed"},
		}},
		{"negations", full, list(tag("public"), tag("unrestricted"), tag("visible"), tag("open"), tag("no-livekit")), nostr.Tags{
			{"name", "Pizza"},
			{"picture", "p"},
			{"banner", "b"},
			{"about", "a"},
			{"closed-children"},
			{"supported_kinds", "9"},
			{"child", "x", "1"},
		}},
		{"negations of what is not set", nil, list(tag("public"), tag("open"), tag("livekit")), nostr.Tags{{"livekit"}}},
		{"flags", nil, list(tag("closed"), tag("private", "ignored")), nostr.Tags{{"private"}, {"closed"}}},
		{"no kinds", nil, list(tag("supported_kinds")), nostr.Tags{{"supported_kinds"}}},
		{"kinds", list(tag("supported_kinds")), list(tag("supported_kinds", "11", "9", "11")), nostr.Tags{{"supported_kinds", "11", "9"}}},
		{"all kinds again", list(tag("supported_kinds")), list(tag("name", "n"), tag("open")), nostr.Tags{{"name", "n"}}},
		{"children are replaced", list(tag("child", "x"), tag("closed-children")), list(tag("child", "z"), tag("child", "y", "2", "suggested")), nostr.Tags{
			{"child", "z"}, {"child", "y", "2", "suggested"},
		}},
		{"children are kept", list(tag("child", "x"), tag("closed-children")), list(tag("about", "a")), nostr.Tags{
			{"about", "a"}, {"closed-children"}, {"child", "x"},
		}},
		{"no children", list(tag("child", "x")), list(tag("closed-children")), nostr.Tags{{"closed-children"}}},
		{"no list of children", list(tag("child", "x"), tag("closed-children")), list(tag("child")), nil},
		{"what is not known", nil, list(tag("name", "n"), tag("colour", "red"), tag("d", "x"), tag("p", alice)), nostr.Tags{{"name", "n"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pizza", c.given...)
			write := w.planned(alice, 9002, append([]nostr.Tag{h("pizza")}, c.tags...)...)
			rows, scopes := w.rows(write)
			require.Len(t, rows, 1)
			require.Equal(t, c.want, rows[0].Tags)
			require.Equal(t, [][]string{{"g:pizza"}}, scopes)
			require.Equal(t, []int{39000}, kindsOf(write.Also))
			require.Equal(t, append(nostr.Tags{{"d", "pizza"}}, c.want...), write.Also[0].Tags)
			require.NoError(t, w.commit(write))
			require.Equal(t, w.book.Dump(), w.rebuilt().Dump())
		})
	}
}

// created_at of 39000 rises with every edit, whatever the clock does.
func TestMetadataIsNewerEachTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.change(func(r *group.Rules) { r.MaxAge = 0 })
	w.create("pizza")
	last := w.state(39000, "pizza").CreatedAt
	for _, step := range []int{0, 0, 5, -100, 0, 0, 200} {
		w.now = w.now.Add(time.Duration(step) * time.Second)
		w.do(alice, 9002, h("pizza"), tag("name", fmt.Sprint(w.count)))
		require.Greater(t, w.state(39000, "pizza").CreatedAt, last)
		last = w.state(39000, "pizza").CreatedAt
	}
	require.EqualValues(t, w.now.Unix(), last)
}

// A key may create so many groups; what was deleted does not count.
func TestGroupsOfOneKeyAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.change(func(r *group.Rules) { r.MaxPerKey = 2 })
	for _, author := range []string{alice, dave} {
		for i := range 2 {
			w.do(author, 9007, h(fmt.Sprint(author[:8], i)))
		}
		_, err := w.try(author, 9007, h("more"))
		refused(t, err, wire.RateLimited, "as one key may")
	}
	for i := range 5 { // the operator may
		w.do(boss, 9007, h(fmt.Sprint("boss", i)))
	}
	w.do(alice, 9022, h(alice[:8]+"1")) // its group still
	_, err := w.try(alice, 9007, h("more"))
	refused(t, err, wire.RateLimited, "as one key may")
	w.do(alice, 9008, h(alice[:8]+"0"))
	w.do(alice, 9007, h("more"))
	require.Equal(t, w.book.Dump(), w.rebuilt().Dump())
}

// What changes nothing is answered so, and nothing is written.
func TestRequestsThatChangeNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("food")
	w.create("pizza", tag("private"), tag("supported_kinds"), tag("about", "a"), tag("parent", "food"), tag("child", "x"))
	w.do(bob, 9010, pizza(tag("a", "1:x:"))...)
	before := w.book.Dump()
	for _, c := range []asked{
		{alice, 9002, list(tag("private"))},
		{alice, 9002, list(tag("open"), tag("about", "a"), tag("parent", "food"))},
		{alice, 9002, list(tag("supported_kinds"), tag("child", "x"))},
		{alice, 9002, list(tag("name"), tag("about", "a"), tag("supported_kinds"), tag("parent", "food"), tag("child", "x"))},
		{alice, 9000, list(p(bob, "moderator"), p(carol))},
		{bob, 9010, list(tag("a", "1:x:"))},
	} {
		_, err := w.try(c.author, c.kind, pizza(c.tags...)...)
		refused(t, err, wire.Duplicate, "already")
	}
	require.Equal(t, before, w.book.Dump())
	w.do(bob, 9010, pizza()...)
	_, err := w.try(bob, 9010, pizza()...)
	refused(t, err, wire.Duplicate, "already")
}

// Turning a group private or hidden, or back, makes the relay look at all
// subscriptions.
func TestTurningAGroupIsNotDoneAllTheTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza", tag("private"))
	w.create("pasta")
	w.do(alice, 9002, pizza(tag("public"))...) // creation does not count
	for _, flag := range []string{"private", "hidden"} {
		_, err := w.try(alice, 9002, pizza(tag(flag), tag("name", "x"))...)
		refused(t, err, wire.RateLimited, "once in 10 seconds")
	}
	w.do(alice, 9002, h("pasta"), tag("private"))
	w.do(alice, 9002, pizza(tag("closed"), tag("restricted"), tag("public"))...)
	stamp := int64(w.state(39000, "pasta").CreatedAt)
	w.now = time.Unix(stamp+9, 0)
	_, err := w.try(alice, 9002, h("pasta"), tag("hidden"))
	refused(t, err, wire.RateLimited, "once in 10 seconds")
	w.now = time.Unix(stamp+10, 0)
	w.do(alice, 9002, h("pasta"), tag("hidden"), tag("public"))
	require.Equal(t, w.book.Dump(), w.rebuilt().Dump())
}

func TestOfTwoEditsAtOnceOneIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	one, other := w.planned(alice, 9002, h("pizza"), tag("private")), w.planned(alice, 9002, h("pizza"), tag("name", "x"))
	require.NoError(t, w.commit(one))
	require.ErrorIs(t, w.commit(other), store.ErrMoved)
	again, err := w.plan(other.Event)
	require.NoError(t, err)
	require.NoError(t, w.commit(again))
	require.Equal(t, nostr.Tags{{"d", "pizza"}, {"name", "x"}, {"private"}}, w.state(39000, "pizza").Tags)
}
