//go:build !nopause

package suites_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/access"
	"fencepost/relay/access/control"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// cut is a permission that is taken away while its reader is subscribed.
type cut struct {
	name  string
	rules access.Rules
	given func(w *world) // what holds before; secretKey is the client's, otherKey that of another reader

	lost  string                              // of this filter nothing is left
	event func(n int) *wire.Event             // what it asks for
	still string                              // a filter of which all is left, "" when there is none
	broad []string                            // filters of which something is left, and nothing of what lost asks for
	all   bool                                // everybody loses it, so that the other reader does not ask for it
	brief bool                                // its way is that of another; not in meeting
	veil  bool                                // who asks again is not refused, and sees nothing
	take  func(w *world)                      // commits the row
	back  func(w *world)                      // gives the permission back, and is applied; nil: for good
	apply func(w *world, p pause.Point) *task // what take has committed; the follower when nil
}

// The filters of which something is left, of a group and of a kind.
var (
	broadOfGroups = []string{`{}`, `{"kinds":[9]}`, `{"authors":["` + storetest.Key(1) + `"]}`, `{"#h":["pizza"]},{"kinds":[1]}`, `{"#h":["pizza","pasta"]}`}
	broadOfKinds  = []string{`{}`, `{"kinds":[1,9]}`, `{"authors":["` + storetest.Key(1) + `"]}`, `{"kinds":[9]},{"kinds":[1]}`}
)

func inPizza(n int) *wire.Event { return post(n, pizza) }

func ofKind9(n int) *wire.Event { return note(n, 9) }

func public(n int) *wire.Event { return note(n, 1) }

// cuts returns the ways in which a reader loses what it reads.
func cuts() []cut {
	const toPizza, notes = `{"#h":["pizza"]}`, `{"kinds":[1]}`
	return []cut{
		{
			name: "member removed", lost: toPizza, event: inPizza, still: notes, broad: broadOfGroups,
			given: func(w *world) { w.found(pizza, secretKey, otherKey) },
			take:  func(w *world) { w.expel(pizza, secretKey) },
			back:  func(w *world) { w.enrol(pizza, secretKey) },
		},
		{
			name: "member removed from a hidden group", lost: toPizza, event: inPizza, still: notes, broad: broadOfGroups, veil: true,
			given: func(w *world) {
				w.found(pizza, secretKey, otherKey)
				w.edit(pizza, "private", "hidden")
				w.Step(w.t)
			},
			take: func(w *world) { w.expel(pizza, secretKey) },
			back: func(w *world) { w.enrol(pizza, secretKey) },
		},
		{
			name: "member vanished", lost: toPizza, event: inPizza, still: notes, broad: broadOfGroups[:4], brief: true,
			given: func(w *world) { w.found(pizza, secretKey, otherKey) },
			take:  func(w *world) { w.vanish(secretKey) },
			back:  func(w *world) { w.enrol(pizza, secretKey) },
		},
		{
			name: "member of a hidden group vanished", lost: toPizza, event: inPizza, still: notes, veil: true, brief: true,
			given: func(w *world) {
				w.found(pizza, secretKey, otherKey)
				w.edit(pizza, "private", "hidden")
				w.Step(w.t)
			},
			take: func(w *world) { w.vanish(secretKey) },
		},
		{
			name: "group turned private", lost: toPizza, event: inPizza, still: notes, broad: broadOfGroups,
			given: func(w *world) {
				w.found(pizza, otherKey)
				w.edit(pizza)
				w.Step(w.t)
			},
			take: func(w *world) { w.edit(pizza, "private") },
			back: func(w *world) { w.edit(pizza) },
		},
		{
			name: "group deleted", lost: toPizza, event: inPizza, still: notes, broad: broadOfGroups, all: true,
			given: func(w *world) { w.found(pizza, secretKey, otherKey) },
			take: func(w *world) {
				w.Control(w.t, control.Row{Type: control.GroupDeleted, Group: pizza, Stamp: 10}, "g:"+pizza)
			},
		},
		{
			name: "kinds withdrawn", lost: `{"kinds":[9]}`, event: ofKind9, still: notes, broad: broadOfKinds, all: true,
			given: func(*world) {},
			take: func(w *world) {
				w.Control(w.t, control.Row{Type: control.KindsDisallowed, Kinds: []int{9}}, access.ScopeRelay)
			},
			back: func(w *world) {
				w.Control(w.t, control.Row{Type: control.KindsDisallowed, Kinds: []int{9}, Undo: true}, access.ScopeRelay)
			},
		},
		{
			name: "relay membership ended", lost: notes, event: public, rules: access.Rules{Members: access.MembersAll},
			given: func(w *world) { w.admit(secretKey, otherKey) },
			take: func(w *world) {
				key := publicKey(w.t, secretKey)
				w.Control(w.t, control.Row{Type: control.MemberRemoved, Key: key}, key)
			},
		},
		{
			name: "membership demanded by a reload", lost: notes, event: public,
			given: func(w *world) { w.admit(otherKey) },
			take:  func(*world) {},
			apply: func(w *world, p pause.Point) *task {
				return w.startTo(p, func() { w.Rule(access.Rules{Members: access.MembersAll}) })
			},
		},
	}
}

// enrol makes the holder of a key a member. It is not applied.
func (w *world) enrol(id, secret string) {
	w.Control(w.t, control.Row{Type: control.GroupPut, Group: id, Key: publicKey(w.t, secret), Stamp: 20})
}

// vanish commits the row of a request to vanish, from before everything here. It is
// not applied.
func (w *world) vanish(secret string) {
	key := publicKey(w.t, secret)
	w.Control(w.t, control.Row{Type: control.KeyVanished, Key: key, Until: 1}, key)
}

// edit gives the group exactly these flags. It is not applied.
func (w *world) edit(id string, flags ...string) {
	tags := nostr.Tags{{"name", id}}
	for _, f := range flags {
		tags = append(tags, nostr.Tag{f})
	}
	w.Control(w.t, control.Row{Type: control.GroupEdited, Group: id, Tags: tags, Stamp: 5}, "g:"+id)
}

// admit makes the holders of these keys members of the relay.
func (w *world) admit(secrets ...string) {
	for _, s := range secrets {
		w.Control(w.t, control.Row{Type: control.MemberPut, Key: publicKey(w.t, s)}, publicKey(w.t, s))
	}
	w.Step(w.t)
}

// inForce lets the cut take effect until somebody parks at p.
func (c *cut) inForce(w *world, p pause.Point) *task {
	if c.apply != nil {
		return c.apply(w, p)
	}
	return w.applying(p)
}

// points are the places at which the cut can stand: before, between, after.
func (c *cut) points() []pause.Point {
	if c.apply != nil {
		return controlPoints[1:]
	}
	return controlPoints
}

// cutWorld is a world with a second reader, who keeps what the client loses unless
// all do.
type cutWorld struct {
	*world
	cut
	other *harness.Client
	got   []string // what the client has taken
}

// inCut runs test with both readers authenticated and nothing asked for.
func inCut(t *testing.T, c cut, o harness.Options, test func(t *testing.T, w *cutWorld)) {
	t.Helper()
	o.Rules = c.rules
	inWorld(t, o, func(t *testing.T, w *world) {
		c.given(w)
		x := &cutWorld{world: w, cut: c, other: w.Connect(t)}
		w.client.Login(publicKey(t, secretKey))
		x.other.Login(publicKey(t, otherKey))
		test(t, x)
	})
}

// taking takes what is queued for the client, if it is to.
func (w *cutWorld) taking(yes bool) {
	if yes {
		w.got = append(w.got, w.client.Take()...)
	}
}

// rest takes everything that is left for the client.
func (w *cutWorld) rest() { w.got = append(w.got, w.client.Settle()...) }

// closed counts the CLOSEDs among what the client has taken, all of which must be
// restricted: of id.
func (w *cutWorld) closed(id string) (n int) {
	w.t.Helper()
	for _, f := range w.got {
		if strings.HasPrefix(f, `["CLOSED"`) {
			requireClosed(w.t, []string{f}, id, wire.Restricted)
			n++
		}
	}
	return n
}

// otherKeeps checks that the other reader, subscribed as x, has got these events in
// this order, and lets it go.
func (w *cutWorld) otherKeeps(events ...*wire.Event) {
	w.t.Helper()
	var want []string
	for _, ev := range events {
		want = append(want, frame("x", ev))
	}
	got := slices.DeleteFunc(w.other.Settle(), func(f string) bool { return f == eose("x") })
	if w.all {
		want = nil
	}
	require.Equal(w.t, want, got)
	w.other.Check(w.t)
	w.other.Disconnect(w.t)
}

func reqOf(id, filters string) string { return fmt.Sprintf(`["REQ",%q,%s]`, id, filters) }

// kept is what the other reader, who asks for what lost asks for, gets of the events
// of meet and of what tests commit afterwards.
func (w *cutWorld) kept() []*wire.Event {
	if w.event(1).Kind == public(1).Kind {
		return []*wire.Event{public(100), public(2), public(3), public(4), public(101), public(5), public(102)}
	}
	return []*wire.Event{w.event(2), w.event(3), w.event(4), w.event(5)}
}
