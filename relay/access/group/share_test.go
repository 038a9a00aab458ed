package group_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Share is whether any group has both, looked up the slow way.
func TestSharingAGroupIsBeingInOneTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	w.create("pasta")
	w.do(alice, 9001, h("pizza"), p(bob))
	w.do(dave, 9021, h("pasta"))
	check := func() {
		t.Helper()
		for _, one := range []string{alice, bob, carol, dave, outsider} {
			for _, other := range []string{alice, bob, carol, dave, outsider} {
				naive := slices.ContainsFunc(w.book.Members(one), func(id string) bool {
					return slices.Contains(w.book.Members(other), id)
				})
				require.Equal(t, naive, w.book.Share(one, other))
			}
		}
	}
	check()
	require.True(t, w.book.Share(alice, dave))
	require.False(t, w.book.Share(alice, outsider))
	w.do(alice, 9008, h("pasta"))
	check()
	require.False(t, w.book.Share(alice, dave))
}
