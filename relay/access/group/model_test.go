package group_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"fencepost/relay/access/control"
	"fencepost/relay/access/group"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

var people = []string{alice, bob, carol, dave, boss}

// draw makes a well-formed request or message about one of a few groups.
func draw(rt *rapid.T, w *world) *wire.Event {
	id := rapid.SampledFrom([]string{"g0", "g1", "g2", "g3"})
	kind := rapid.SampledFrom([]int{9, 9, 9000, 9000, 9001, 9002, 9002, 9007, 9007, 9008, 9009, 9010, 9021, 9022}).Draw(rt, "kind")
	tags := []nostr.Tag{h(id.Draw(rt, "group"))}
	switch kind {
	case 9000, 9001:
		targets := rapid.SliceOfNDistinct(rapid.SampledFrom(people), 1, 3, rapid.ID[string]).Draw(rt, "targets")
		for _, key := range targets {
			t := p(key)
			if role := rapid.SampledFrom([]string{"", "king", "moderator", "admin"}).Draw(rt, "role"); role != "" && kind == 9000 {
				t = append(t, role)
			}
			tags = append(tags, t)
		}
	case 9002, 9007:
		for _, pair := range [][2]string{{"private", "public"}, {"restricted", "unrestricted"}, {"hidden", "visible"}, {"closed", "open"}} {
			if n := rapid.IntRange(0, 2).Draw(rt, pair[0]); n < 2 {
				tags = append(tags, tag(pair[n]))
			}
		}
		tags = append(tags, tag("about", rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "about")))
		if rapid.Bool().Draw(rt, "placed") {
			tags = append(tags, tag("parent", id.Draw(rt, "parent")))
		}
	case 9009, 9021:
		tags = append(tags, tag("code", rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "code")))
	case 9010:
		tags = append(tags, tag("a", rapid.SampledFrom([]string{"1:x:", "2:x:"}).Draw(rt, "pin")))
	}
	return w.event(rapid.SampledFrom(people).Draw(rt, "author"), kind, tags...)
}

// Requests, of which a few are planned at once, are granted and refused as the
// naive fold says, and what a book says of itself agrees with it.
func TestTheBookIsTheFoldOfItsRows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		w.change(func(r *group.Rules) { r.MaxGroups = 3; r.MaxAge = 0 })
		for range rapid.IntRange(1, 25).Draw(rt, "rounds") {
			var writes []store.Write
			for range rapid.IntRange(1, 3).Draw(rt, "at once") {
				writes = append(writes, judge(rt, w, draw(rt, w)))
			}
			for _, write := range writes {
				settle(rt, w, write)
			}
			w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{-1, 0, 1, 2, 12}).Draw(rt, "seconds")) * time.Second)
			check(rt, w)
		}
	})
}

// judge plans and compares the decision. The zero Write is a refusal.
func judge(rt *rapid.T, w *world, ev *wire.Event) store.Write {
	write, err := w.plan(ev)
	allowed := fold(w.log).allows(ev, w.rules.MaxGroups)
	require.Equal(rt, allowed, err == nil, "%d %s of %s: %v", ev.Kind, ev.Tags, ev.PubKey[:8], err)
	if err != nil {
		var reason wire.Reason
		require.ErrorAs(rt, err, &reason)
		return store.Write{}
	}
	return write
}

// settle commits, after planning again as often as it takes.
func settle(rt *rapid.T, w *world, write store.Write) {
	for write.Event != nil {
		if err := w.commit(write); err == nil {
			checkMetadata(rt, w, write)
			return
		}
		write = judge(rt, w, write.Event)
	}
}

// checkMetadata: exactly one 39000 goes with each change of the metadata. That it
// is newer than the one before is asserted by world.put.
func checkMetadata(rt *rapid.T, w *world, write store.Write) {
	var changed, told []string
	rows, _ := w.rows(write)
	for _, row := range rows {
		if row.Type == control.GroupCreated || row.Type == control.GroupEdited {
			changed = append(changed, fmt.Sprint(row.Group, row.Stamp, row.Tags))
		}
	}
	for _, ev := range write.Also {
		if ev.Kind == 39000 {
			told = append(told, fmt.Sprint(ev.D(), ev.CreatedAt, ev.Tags[1:]))
		}
	}
	require.Equal(rt, changed, told)
}

func check(rt *rapid.T, w *world) {
	require.Equal(rt, w.book.Dump(), w.rebuilt().Dump(), "a book that was rebuilt is another one")
	requireNoCycle(rt, w)
	n := fold(w.log)
	for _, ev := range w.events {
		for _, reader := range append(slices.Clone(people), outsider, self) {
			require.Equal(rt, n.shows(ev, reader), w.sees(ev, reader), "%d %s to %s", ev.Kind, ev.Tags, reader[:8])
		}
	}
	for id, g := range n {
		if g.dead {
			require.Nil(rt, w.state(39000, id))
			continue
		}
		require.Equal(rt, append(nostr.Tags{{"d", id}}, g.tags...), w.state(39000, id).Tags)
		for _, t := range w.state(39001, id).Tags[1:] {
			require.Equal(rt, g.members[t[1]], []string(t[2:]))
		}
		checkRefusals(rt, w, id, g)
	}
}

// checkRefusals: a REQ for one group is refused to those who see nothing of it,
// unless it is hidden.
func checkRefusals(rt *rapid.T, w *world, id string, g *naiveGroup) {
	f := []*wire.Filter{filter(nil, ids(id), nil)}
	for _, reader := range people {
		_, member := g.members[reader]
		closed := g.has("private") && !member
		require.Equal(rt, closed && !g.has("hidden"), w.book.MayRead([]string{reader}, f) != nil)
		require.Equal(rt, closed, w.book.LostIn(id, []string{reader}, f) != nil)
	}
}
