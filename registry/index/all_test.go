package index_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/registry/index"
)

func TestAllHandlesAreFoundWhateverTheyAskFor(t *testing.T) {
	t.Parallel()
	x, c := index.New(), newConn(t)
	require.Empty(t, x.All(nil))
	a, b := reserve(t, c, "a", nostr.Filter{Kinds: []int{1}}), reserve(t, c, "b", nostr.Filter{Kinds: []int{}})
	x.Add(a)
	x.Add(b)
	require.ElementsMatch(t, []*lifecycle.Handle{a, a, b}, x.All([]*lifecycle.Handle{a}))
	x.Remove(a)
	require.Equal(t, []*lifecycle.Handle{b}, x.All(nil))
}
