package group_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
)

// A book knows the groups of a key, whatever brought it in and out.
func TestAKeyIsKeptWithItsGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	w.create("pasta")
	require.Equal(t, []string{"pasta", "pizza"}, w.book.Members(carol))
	w.do(alice, 9000, h("pizza"), p(carol, "admin"))
	w.do(carol, 9000, h("pizza"), p(carol, "king"), p(alice, "admin"), p(dave))
	require.Equal(t, []string{"pasta", "pizza"}, w.book.Members(carol))
	w.do(dave, 9021, h("pasta"))
	w.do(alice, 9001, h("pizza"), p(dave), p(bob))
	w.do(bob, 9022, h("pasta"))
	require.Equal(t, []string{"pasta"}, w.book.Members(dave))
	require.Empty(t, w.book.Members(bob))
	w.do(alice, 9008, h("pasta"))
	require.Empty(t, w.book.Members(dave))
	require.Equal(t, []string{"pizza"}, w.book.Members(alice))
	require.Equal(t, w.book.Dump(), w.rebuilt().Dump())
}

// What a request to vanish costs when the relay has n groups of others.
func BenchmarkVanish(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		w := newWorld(b)
		for i := range n {
			row := control.Row{Type: control.GroupCreated, Group: fmt.Sprint("g", i), Key: alice, Stamp: 1}
			if _, err := w.book.Apply(store.Position(1+i), row, nil); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("groups=%d", n), func(b *testing.B) {
			row := control.Row{Type: control.KeyVanished, Key: bob, Until: 1}
			for b.Loop() {
				if _, err := w.book.Apply(1_000_000, row, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
