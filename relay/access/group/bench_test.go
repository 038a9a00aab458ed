package group_test

import (
	"fmt"
	"testing"

	"fencepost/lifecycle"
	"fencepost/relay/access/control"
	"fencepost/relay/access/group"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// peopled returns a world whose private group pizza has n members besides alice.
func peopled(b *testing.B, n int) *world {
	w := newWorld(b)
	w.change(func(r *group.Rules) { r.MaxMembers = 0 })
	w.do(alice, 9007, h("pizza"), tag("private"))
	for i := range n {
		row := control.Row{Type: control.GroupPut, Group: "pizza", Key: fmt.Sprintf("%064x", i), Stamp: 1}
		if _, err := w.book.Apply(store.Position(100+i), row, nil); err != nil {
			b.Fatal(err)
		}
	}
	return w
}

// What a candidate reader costs in the fan-out, without and with groups.
func BenchmarkCandidate(b *testing.B) {
	for _, n := range []int{0, 10, 10_000} {
		w := peopled(b, n)
		_, may := w.book.Sight(w.event(alice, 9, h("pizza")))
		for name, keys := range map[string][]string{
			"member": {alice}, "stranger": {dave}, "nobody": nil,
		} {
			b.Run(fmt.Sprintf("members=%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				want := name == "member"
				for b.Loop() {
					if may(keys) != want {
						b.Fatal("wrong answer")
					}
				}
			})
		}
	}
}

// What an event costs once, however many candidates there are.
func BenchmarkSight(b *testing.B) {
	w := peopled(b, 10)
	for name, ev := range map[string]*wire.Event{
		"no-group":     w.event(alice, 1, tag("p", bob), tag("e", number(1))),
		"group":        w.event(alice, 9, h("pizza"), tag("p", bob)),
		"no-group-yet": w.event(alice, 9, h("pasta")),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if scopes, _ := w.book.Sight(ev); scopes != nil {
					lifecycle.NewGrant(scopes...)
				}
			}
		})
	}
}

// What one member costs in a group of many.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		w := peopled(b, n)
		w.do(dave, 9021, h("pizza"))
		for name, ev := range map[string]*wire.Event{
			"join":    w.event(outsider, 9021, h("pizza")),
			"put":     w.event(alice, 9000, h("pizza"), p(outsider)),
			"remove":  w.event(alice, 9001, h("pizza"), p(dave)),
			"message": w.event(dave, 9, h("pizza")),
		} {
			b.Run(fmt.Sprintf("members=%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := w.plan(ev); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
