package group_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access/control"
	"fencepost/relay/wire"
)

// tells makes what the relay has told of a group.
func (d *desk) tells(kind int, id string, createdAt int64, tags ...nostr.Tag) {
	ev := nostr.Event{Kind: kind, CreatedAt: nostr.Timestamp(createdAt), Tags: append(nostr.Tags{{"d", id}}, tags...)}
	seal(self, &ev)
	d.set(func() { d.told[place(kind, id)] = wire.NewEvent(ev) })
}

// A key that vanished is taken out of what the relay has told, although no request
// about the group does it.
func TestWhatNamesAVanishedKeyIsToldAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		stop := d.run()
		now := time.Now().Unix()
		d.create("food")
		d.create("pizza")
		d.row(control.Row{Type: control.GroupPut, Group: "pizza", Key: bob, Roles: []string{"admin"}})
		d.row(control.Row{Type: control.GroupEdited, Group: "pizza", Tags: nostr.Tags{{"name", "x"}, {"parent", "food", bob}}})
		d.create("soup")
		d.row(control.Row{Type: control.GroupPut, Group: "soup", Key: bob, Roles: []string{"moderator"}})
		d.tells(39001, "soup", now+5, p(alice, "admin"), p(bob, "moderator"))
		d.tells(39000, "pizza", now+5, tag("name", "x"), tag("parent", "food", bob))
		d.tells(39001, "pizza", now+5, p(bob, "admin"), p(alice, "admin"))
		d.row(control.Row{Type: control.KeyVanished, Key: bob, Until: 1})
		pass(5 * time.Second)
		requireTold := func(staff ...nostr.Tag) {
			t.Helper()
			require.Equal(t, nostr.Tags{{"d", "pizza"}, {"name", "x"}, {"parent", "food", ""}}, d.told[place(39000, "pizza")].Tags)
			require.Equal(t, append(nostr.Tags{{"d", "pizza"}}, staff...), d.told[place(39001, "pizza")].Tags)
		}
		requireTold(p(alice, "admin"))
		require.Equal(t, nostr.Tags{{"d", "soup"}, p(alice, "admin")}, d.told[place(39001, "soup")].Tags)
		require.Greater(t, int64(d.told[place(39001, "pizza")].CreatedAt), now+5)
		require.NotContains(t, d.told, place(39001, "food"), "it named nobody who vanished")

		// A change that was told with an earlier created_at is told again.
		d.row(control.Row{Type: control.GroupPut, Group: "pizza", Key: alice, Roles: []string{"admin", "king"}})
		pass(5 * time.Second)
		requireTold(p(alice, "admin", "king"))
		stop()

		// After a start nothing is told that is told already.
		lists := len(d.lists)
		rebuilt := newDesk(t)
		rebuilt.told, rebuilt.stored = d.told, d.stored
		for _, row := range d.rows {
			rebuilt.row(row)
		}
		require.Equal(t, d.book.Dump(), rebuilt.book.Dump())
		defer rebuilt.run()()
		pass(5 * time.Second)
		require.Len(t, d.lists, lists)
		require.Empty(t, rebuilt.lists)
		rebuilt.tells(39001, "pizza", now+50, p(bob, "admin"))
		rebuilt.row(control.Row{Type: control.GroupEdited, Group: "pizza", Tags: nostr.Tags{{"name", "y"}}})
		pass(5 * time.Second)
		require.Equal(t, nostr.Tags{{"d", "pizza"}, p(alice, "admin", "king")}, d.told[place(39001, "pizza")].Tags)
		require.Equal(t, nostr.Tags{{"d", "pizza"}, {"name", "y"}}, d.told[place(39000, "pizza")].Tags)
	})
}
