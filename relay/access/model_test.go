package access_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"fencepost/lifecycle"
	"fencepost/relay/access"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// model is the slow obvious way: it reads all rows again for each question.
type model struct {
	rules access.Rules
	rows  []control.Row
}

// last returns the type of the newest row of one of types that concerns what ok
// accepts, "" for none.
func (m *model) last(ok func(control.Row) bool, types ...control.Type) control.Row {
	for i := len(m.rows) - 1; i >= 0; i-- {
		for _, typ := range types {
			if m.rows[i].Type == typ && ok(m.rows[i]) {
				return m.rows[i]
			}
		}
	}
	return control.Row{}
}

func ofKey(key string) func(control.Row) bool {
	return func(r control.Row) bool { return r.Key == key }
}

func (m *model) isBanned(key string) bool {
	return m.last(ofKey(key), control.KeyBanned, control.KeyUnbanned, control.MemberPut).Type == control.KeyBanned
}

func (m *model) isMember(key string) bool {
	last := m.last(ofKey(key), control.KeyBanned, control.KeyVanished, control.MemberPut, control.MemberRemoved)
	return last.Type == control.MemberPut || key == m.rules.Operator || key == self
}

func (m *model) isOn(list control.Type, kind int) bool {
	last := m.last(func(r control.Row) bool { return r.Kinds[0] == kind }, list)
	return last.Type == list && !last.Undo
}

func (m *model) takes(kind int) bool {
	listing := false
	for _, other := range modelKinds {
		listing = listing || m.isOn(control.KindsAllowed, other)
	}
	return !m.isOn(control.KindsDisallowed, kind) && (!listing || m.isOn(control.KindsAllowed, kind))
}

func (m *model) inGroup(id, key string) (exists, member bool) {
	for _, r := range m.rows {
		if r.Group != id || r.Type != control.GroupPut && r.Type != control.GroupRemoved {
			continue
		}
		exists = exists || r.Type == control.GroupPut
		if r.Key == key {
			member = r.Type == control.GroupPut
		}
	}
	return exists, member
}

// isGone reports whether the event is banned, which removes it from the store in
// the same commit.
func (m *model) isGone(ev *wire.Event) bool {
	ofEvent := func(r control.Row) bool { return r.ID == ev.ID }
	return m.last(ofEvent, control.EventBanned, control.EventUnbanned).Type == control.EventBanned
}

// maySee asks each rule in turn.
func (m *model) maySee(held []string, ev *wire.Event) bool {
	for _, r := range m.rows {
		if r.Type == control.KeyVanished && (&store.Erasure{Author: r.Key, Until: r.Until}).Selects(ev) {
			return false
		}
	}
	if m.isGone(ev) {
		return false
	}
	if ev.PubKey != self && !m.takes(ev.Kind) {
		return false
	}
	key, member, party, inside := false, false, false, false
	id, grouped := ev.Tag("h")
	for _, k := range held {
		if m.isBanned(k) {
			continue
		}
		key = true
		member = member || m.isMember(k)
		party = party || k == ev.PubKey || ev.Tags.FindWithValue("p", k) != nil
		_, in := m.inGroup(id, k)
		inside = inside || in
	}
	if exists, _ := m.inGroup(id, ""); grouped && exists && !inside {
		return false
	}
	private := ev.Kind == 4 || ev.Kind == 14 || ev.Kind == 1059 || ev.Kind == 21059
	return (m.rules.Require != access.RequireAll || key) &&
		(m.rules.Members != access.MembersAll || member) && (!private || party)
}

var (
	modelKeys  = keys(alice, bob, carol, boss)
	modelKinds = []int{1, 4, 9, 1059}
	modelPool  = poolOfEvents()
	readers    = [][]string{nil, {alice}, {bob}, {carol}, {boss}, {alice, bob}, {carol, bob}}
)

func poolOfEvents() (pool []*wire.Event) {
	for i, kind := range modelKinds {
		for j, author := range append(modelKeys, self) {
			to := nostr.Tag{"p", modelKeys[(i+j)%len(modelKeys)]}
			pool = append(pool,
				at(event(author, kind, to), 100),
				at(event(author, kind, to, nostr.Tag{"h", fmt.Sprint("group", j%2)}), 200))
		}
	}
	return append(pool, at(event(alice, 62), 100))
}

// drawRow returns a row with the scopes that whoever writes it gives it.
func drawRow(t *rapid.T, i int) (r control.Row, scopes []string) {
	key := rapid.SampledFrom(modelKeys).Draw(t, "key")
	group := rapid.SampledFrom(keys("group0", "group1")).Draw(t, "group")
	kind := []int{rapid.SampledFrom(modelKinds).Draw(t, "kind")}
	undo := rapid.Bool().Draw(t, "undo")
	stamp := int64(i + 1)
	switch rapid.IntRange(0, 10).Draw(t, "type") {
	case 0:
		return control.Row{Type: control.KeyBanned, Key: key}, keys(key)
	case 1:
		return control.Row{Type: control.KeyUnbanned, Key: key}, nil
	case 2:
		until := rapid.SampledFrom([]int64{50, 100, 150}).Draw(t, "until")
		return control.Row{Type: control.KeyVanished, Key: key, Until: until}, keys(key)
	case 3:
		return control.Row{Type: control.MemberPut, Key: key, Stamp: stamp}, keys(key)
	case 4:
		return control.Row{Type: control.MemberRemoved, Key: key, Stamp: stamp}, keys(key)
	case 5:
		return control.Row{Type: control.KindsDisallowed, Kinds: kind, Undo: undo}, keys("relay")
	case 6:
		return control.Row{Type: control.KindsAllowed, Kinds: kind, Undo: undo}, keys("relay")
	case 7:
		ev := rapid.SampledFrom(modelPool).Draw(t, "event")
		return control.Row{Type: control.EventBanned, ID: ev.ID}, nil
	case 8:
		ev := rapid.SampledFrom(modelPool).Draw(t, "event")
		return control.Row{Type: control.EventUnbanned, ID: ev.ID}, nil
	case 9:
		var names []string
		if undo { // the first row of a group makes it private
			names = keys("g:" + group)
		}
		return control.Row{Type: control.GroupPut, Group: group, Key: key, Stamp: stamp}, names
	default:
		return control.Row{Type: control.GroupRemoved, Group: group, Key: key, Stamp: stamp}, keys("g:" + group)
	}
}

func drawRules(t *rapid.T) access.Rules {
	return access.Rules{
		Require:  rapid.SampledFrom([]access.Require{access.RequireNeeded, access.RequireWrite, access.RequireAll}).Draw(t, "require"),
		Members:  rapid.SampledFrom([]access.Members{access.MembersNone, access.MembersWrite, access.MembersAll}).Draw(t, "members"),
		Operator: boss,
	}
}

// decision is what somebody was told once.
type decision struct {
	grant *lifecycle.Grant
	ev    *wire.Event
	held  []string
}

// TestWhatIsSeenIsWhatAllRowsSayTogether compares the policy with the model after
// every row, holds each yes against its grant (G4: what turned into a no does not
// hold), and rebuilds the policy from the rows (the fold is one of positions alone).
func TestWhatIsSeenIsWhatAllRowsSayTogether(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules := drawRules(t)
		x, m := newWorld(rules, withGroups(newFakeGroups())), &model{rules: rules}
		var given []decision
		for i := range rapid.IntRange(1, 25).Draw(t, "rows") {
			if rapid.IntRange(0, 9).Draw(t, "reload") == 0 {
				m.rules = drawRules(t)
				x.SetRules(m.rules)
			} else {
				row, scopes := drawRow(t, i)
				if exists, _ := m.inGroup(row.Group, ""); row.Type == control.GroupPut && !exists {
					scopes = keys("g:" + row.Group) // a rule begins
				}
				m.rows = append(m.rows, row)
				x.put(t, row, scopes...)
			}
			given = compare(t, x, m, given)
		}
		requireSameAfterRestart(t, x, m)
	})
}

func compare(t *rapid.T, x *world, m *model, given []decision) (now []decision) {
	for _, d := range given {
		if d.grant.Holds() && !m.maySee(d.held, d.ev) {
			t.Fatalf("the grant holds by which %v may see kind %d of %s", d.held, d.ev.Kind, d.ev.PubKey)
		}
	}
	for _, ev := range modelPool {
		s := x.Sight(ev)
		for _, held := range readers {
			may, err := s.Decide(context.Background(), held)
			require.NoError(t, err)
			if want := m.maySee(held, ev); may != want {
				t.Fatalf("%v sees kind %d of %s: %v, want %v", held, ev.Kind, ev.PubKey, may, want)
			}
			if may {
				now = append(now, decision{s.Grant, ev, held})
			}
		}
	}
	compareFilters(t, x, m)
	return now
}

var modelFilters = []nostr.Filter{
	{},
	kinds(1), kinds(4), kinds(1, 9), kinds(1059),
	{Kinds: []int{1}, Authors: keys(alice)},
	{Authors: keys(bob)},
	{Kinds: []int{4, 1059}, Authors: keys(alice)},
	{Kinds: []int{4}, Tags: nostr.TagMap{"p": keys(bob)}},
	{Tags: nostr.TagMap{"h": keys("group0")}},
	{Kinds: []int{9}, Tags: nostr.TagMap{"h": keys("group0", "group1")}},
}

// compareFilters holds that a refused filter has nothing to show, and that a store
// which is asked nothing shows nothing that is hidden.
func compareFilters(t *rapid.T, x *world, m *model) {
	for _, filter := range modelFilters {
		for _, held := range readers {
			asked := filters(filter)
			refused := x.MayRead(held, asked)
			visible, _ := x.Visible(context.Background(), held, asked)
			for _, ev := range modelPool {
				if !wire.MatchesAny(asked, ev) || m.isGone(ev) {
					continue
				}
				may := m.maySee(held, ev)
				if refused != nil && may && ev.PubKey != self {
					t.Fatalf("%v may not ask for %v (%v) and may see kind %d of %s", held, filter, refused, ev.Kind, ev.PubKey)
				}
				if shown := visible == nil || visible(ev); refused == nil && shown != may {
					t.Fatalf("%v asks for %v: kind %d of %s is shown: %v", held, filter, ev.Kind, ev.PubKey, shown)
				}
			}
		}
	}
}

func requireSameAfterRestart(t *rapid.T, x *world, m *model) {
	y := newWorld(m.rules, withGroups(newFakeGroups()))
	for i := range x.rows {
		_, err := y.Apply(&x.rows[i])
		require.NoError(t, err)
	}
	compare(t, y, m, nil)
	require.Equal(t, x.BannedKeys(), y.BannedKeys())
	require.Equal(t, x.AllowedKeys(), y.AllowedKeys())
	require.Equal(t, x.BannedEvents(), y.BannedEvents())
	require.Equal(t, x.AllowedKinds(), y.AllowedKinds())
	require.Equal(t, x.DisallowedKinds(), y.DisallowedKinds())
	for _, author := range modelKeys {
		ev := event(author, 1, nostr.Tag{"h", "group0"})
		if x.MaySubmit(keys(bob), ev) != nil {
			continue
		}
		a, errA := x.Plan(context.Background(), keys(bob), ev)
		b, errB := y.Plan(context.Background(), keys(bob), ev)
		require.Equal(t, errA, errB)
		require.Equal(t, a.Terms, b.Terms)
	}
}
