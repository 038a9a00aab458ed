package group_test

import (
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// filter makes one from kinds and the values of h and d.
func filter(kinds []int, h, d []string) *wire.Filter {
	f := nostr.Filter{Kinds: kinds, Tags: nostr.TagMap{}}
	if h != nil {
		f.Tags["h"] = h
	}
	if d != nil {
		f.Tags["d"] = d
	}
	return wire.NewFilter(f)
}

func ids(list ...string) []string { return list }

// townhall is public, kitchen private, attic hidden, cellar hidden and private;
// ruin was deleted, and so was grave, which was hidden. alice made all.
func houses(t *testing.T) *world {
	w := newWorld(t)
	w.create("townhall")
	w.create("kitchen", tag("private"))
	w.create("attic", tag("hidden"))
	w.create("cellar", tag("hidden"), tag("private"))
	w.create("ruin")
	w.do(alice, 9008, h("ruin"))
	w.create("grave", tag("hidden"), tag("private"))
	w.do(alice, 9008, h("grave"))
	return w
}

// hiddenOf returns the hidden group that f asks for, "" for none.
func hiddenOf(f *wire.Filter) string {
	for _, id := range append(slices.Clone(f.Tags["h"]), f.Tags["d"]...) {
		if id == "attic" || id == "cellar" || id == "grave" {
			return id
		}
	}
	return ""
}

func TestFiltersThatAreClosed(t *testing.T) {
	t.Parallel()
	w := houses(t)
	meta, people := []int{39000, 39001, 39003}, []int{39002, 39005}
	const (
		open    = ""
		members = "only members"
		gone    = "deleted"
	)
	for _, c := range []struct {
		name    string
		filter  *wire.Filter
		mayRead string // of those who are not members
		lost    string
		member  string // what MayRead and LostIn tell a member
	}{
		{"everything", filter(nil, nil, nil), open, open, open},
		{"no group", filter([]int{9}, ids("nowhere"), nil), open, open, open},
		{"public", filter(nil, ids("townhall"), nil), open, open, open},
		{"private", filter([]int{9}, ids("kitchen"), nil), members, members, open},
		{"private and public", filter([]int{9}, ids("kitchen", "townhall"), nil), open, open, open},
		{"private and unknown", filter([]int{9}, ids("nowhere", "kitchen"), nil), open, open, open},
		{"hidden, where all read", filter([]int{9}, ids("attic"), nil), open, open, open},
		{"hidden and private", filter([]int{9}, ids("cellar"), nil), open, members, open},
		{"private and hidden", filter([]int{9}, ids("kitchen", "cellar"), nil), open, members, open},
		{"deleted", filter([]int{9}, ids("ruin"), nil), gone, gone, gone},
		{"deleted and private", filter(nil, ids("ruin", "kitchen"), nil), members, members, open},
		{"deleted and hidden", filter(nil, ids("grave"), nil), open, gone, open},
		{"no value", filter(nil, ids(), nil), open, open, open},

		{"metadata of a public group", filter(meta, nil, ids("townhall")), open, open, open},
		{"metadata of a private group", filter(meta, nil, ids("kitchen")), open, open, open},
		{"metadata of a hidden group", filter(meta, nil, ids("attic")), open, members, open},
		{"metadata of a deleted group", filter(meta, nil, ids("ruin")), gone, gone, gone},
		{"members of a public group", filter(people, nil, ids("townhall")), open, open, open},
		{"members of a private group", filter(people, nil, ids("kitchen")), members, members, open},
		{"members of a hidden group", filter(people, nil, ids("attic")), open, members, open},
		{"metadata and members of a private group", filter([]int{39000, 39002}, nil, ids("kitchen")), open, open, open},
		{"metadata and something else", filter([]int{39000, 30023}, nil, ids("ruin")), open, open, open},
		{"any kind with that d", filter(nil, nil, ids("ruin")), open, open, open},
		{"no kind with that d", filter([]int{}, nil, ids("ruin")), open, open, open},
		{"kinds of state, no d", filter(people, nil, nil), open, open, open},
		{"closed by h, open by d", filter(people, ids("kitchen"), ids("townhall")), members, members, open},
		{"open by h, closed by d", filter(people, ids("townhall"), ids("kitchen")), members, members, open},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			check := func(err error, want string, keys []string) {
				prefix := wire.Restricted
				if want == open {
					require.NoError(t, err)
					return
				}
				if len(keys) == 0 && want == members {
					prefix = wire.AuthRequired
				}
				refused(t, err, prefix, want)
			}
			one, changed := []*wire.Filter{c.filter}, hiddenOf(c.filter)
			for _, keys := range [][]string{nil, {dave}, {dave, boss, self}} {
				check(w.book.MayRead(keys, one), c.mayRead, keys)
				check(w.book.LostIn(changed, keys, one), c.lost, keys)
				require.NoError(t, w.book.MayRead(keys, append(one, filter(nil, nil, nil))), "one open filter is enough")
				require.NoError(t, w.book.LostIn(changed, keys, []*wire.Filter{filter(nil, nil, nil), c.filter}))
			}
			for _, keys := range [][]string{{carol}, {dave, bob}} {
				check(w.book.MayRead(keys, one), c.member, keys)
				if c.name == "deleted and hidden" {
					continue // nobody is a member any more
				}
				check(w.book.LostIn(changed, keys, one), c.member, keys)
			}
		})
	}
	require.NoError(t, w.book.MayRead(nil, nil))
}

// Whoever has a subscription that names a hidden group must not learn of it when
// something changes in another group.
func TestLossInOneGroupTellsNothingOfAnother(t *testing.T) {
	t.Parallel()
	w := houses(t)
	for _, c := range []struct {
		changed string
		h       []string
		lost    bool
	}{
		{"cellar", ids("cellar"), true},
		{"kitchen", ids("cellar"), false},
		{"kitchen", ids("kitchen", "cellar"), false},
		{"cellar", ids("kitchen", "cellar"), true},
		{"kitchen", ids("kitchen"), true},
		{"grave", ids("grave"), true},
		{"kitchen", ids("grave"), false},
		{"", ids("cellar"), false},
		{"", ids("kitchen"), true},
	} {
		err := w.book.LostIn(c.changed, []string{dave}, []*wire.Filter{filter([]int{9}, c.h, nil)})
		require.Equal(t, c.lost, err != nil, "%v", c)
	}
}

func TestWithoutGroupsNothingIsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.book.MayRead(nil, []*wire.Filter{filter(nil, ids("kitchen"), nil)}))
}

// What groups hide stays hidden when they are turned off.
func TestTurningGroupsOffOpensNothing(t *testing.T) {
	t.Parallel()
	w := houses(t)
	said := w.do(carol, 9, h("kitchen"))
	w.rules.Create = "none"
	w.book.SetRules(w.rules)
	require.False(t, w.sees(said, dave))
	require.True(t, w.sees(said, carol))
	refused(t, w.book.MayRead(nil, []*wire.Filter{filter(nil, ids("kitchen"), nil)}), wire.AuthRequired, "only members")
	require.True(t, w.book.Hidden())
}
