package group_test

import (
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access/control"
	"fencepost/relay/access/group"
)

// What a row may have closed, and to whom.
func TestWhoseSubscriptionsARowCloses(t *testing.T) {
	t.Parallel()
	staff := []string{alice, bob, carol}
	slices.Sort(staff)
	edit := func(tags ...string) control.Row {
		row := control.Row{Type: control.GroupEdited, Group: "pizza", Stamp: 1}
		for _, t := range tags {
			row.Tags = append(row.Tags, nostr.Tag{t})
		}
		return row
	}
	put := func(key string, roles ...string) control.Row {
		return control.Row{Type: control.GroupPut, Group: "pizza", Key: key, Roles: roles, Stamp: 1}
	}
	created := func(id string, tags ...string) control.Row {
		row := edit(tags...)
		row.Type, row.Group, row.Key = control.GroupCreated, id, alice
		return row
	}
	for _, c := range []struct {
		name  string
		given []nostr.Tag
		row   control.Row
		want  group.Change
	}{
		{"new group", nil, created("pasta"), group.Change{Group: "pasta"}},
		{"new private group", nil, created("pasta", "private"), group.Change{Group: "pasta", Everyone: true}},
		{"new hidden group", nil, created("pasta", "private", "hidden"), group.Change{Group: "pasta"}},
		{"new member", nil, put(dave), group.Change{Group: "pizza"}},
		{"promotion", nil, put(carol, "admin"), group.Change{Group: "pizza"}},
		{"demotion", nil, put(bob, "king"), group.Change{Group: "pizza", Keys: []string{bob}}},
		{"removal", nil, control.Row{Type: control.GroupRemoved, Group: "pizza", Key: carol, Stamp: 1}, group.Change{Group: "pizza", Keys: []string{carol}}},
		{"invitation", nil, control.Row{Type: control.GroupInvite, Group: "pizza", Codes: []string{"x"}}, group.Change{Group: "pizza"}},
		{"pins", nil, control.Row{Type: control.GroupPinned, Group: "pizza", Stamp: 1}, group.Change{Group: "pizza"}},
		{"turned private", nil, edit("private"), group.Change{Group: "pizza", Everyone: true}},
		{"turned hidden", nil, edit("hidden"), group.Change{Group: "pizza", Everyone: true}},
		{"stays private", list(tag("private")), edit("private", "closed", "restricted"), group.Change{Group: "pizza"}},
		{"turned public", list(tag("private"), tag("hidden")), edit(), group.Change{Group: "pizza"}},
		{"hidden group turned private", list(tag("hidden")), edit("private", "hidden"), group.Change{Group: "pizza", Everyone: true}},
		{"deletion", nil, control.Row{Type: control.GroupDeleted, Group: "pizza"}, group.Change{Group: "pizza", Everyone: true}},
		{"deletion of a private group", list(tag("private")), control.Row{Type: control.GroupDeleted, Group: "pizza"}, group.Change{Group: "pizza", Everyone: true}},
		{"deletion of a hidden group that all read", list(tag("hidden")), control.Row{Type: control.GroupDeleted, Group: "pizza"}, group.Change{Group: "pizza", Everyone: true}},
		{"deletion of a hidden and private group", list(tag("hidden"), tag("private")), control.Row{Type: control.GroupDeleted, Group: "pizza"}, group.Change{Group: "pizza", Keys: staff}},
		{"row of something else", nil, control.Row{Type: control.KeyBanned, Key: dave}, group.Change{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pizza", c.given...)
			got, err := w.book.Apply(1000, c.row, nil)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestRowsThatDoNotFitChangeNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	w.create("gone")
	w.do(alice, 9008, h("gone"))
	before := w.book.Dump()
	rows := []control.Row{{Type: control.GroupCreated, Group: "pizza", Key: dave, Stamp: 1}, {Type: control.GroupCreated, Group: "gone", Key: dave, Stamp: 1}}
	for _, id := range []string{"gone", "never"} {
		for _, typ := range []control.Type{
			control.GroupEdited, control.GroupDeleted, control.GroupPut, control.GroupRemoved,
			control.GroupInvite, control.GroupPinned, "group.renamed",
		} {
			rows = append(rows, control.Row{Type: typ, Group: id, Key: dave, Codes: []string{"x"}, Stamp: 1})
		}
	}
	rows = append(rows, control.Row{Type: "group.renamed", Group: "pizza"})
	for _, row := range rows {
		change, err := w.book.Apply(1000, row, []string{"g:" + row.Group})
		require.ErrorIs(t, err, group.ErrRow, "%s %s", row.Type, row.Group)
		require.Zero(t, change)
	}
	require.Equal(t, before, w.book.Dump())
}

func TestScopesOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	before := w.book.Dump()
	_, err := w.book.Apply(1000, control.Row{Type: control.KeyBanned, Key: dave}, []string{"relay", dave, "g:never"})
	require.NoError(t, err)
	require.Equal(t, before, w.book.Dump())
}
