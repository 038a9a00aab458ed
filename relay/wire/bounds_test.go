package wire_test

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

func TestValidSub(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"": false, "x": true, "\x00": true, "\xff": false,
		strings.Repeat("😀", 64): true, strings.Repeat("x", 65): false,
	} {
		require.Equal(t, want, wire.ValidSub(id), id)
	}
}

func TestValuesCountsWhatIsKept(t *testing.T) {
	t.Parallel()
	f := wire.NewFilter(nostr.Filter{
		IDs: []string{hexA}, Authors: []string{hexA, hexB}, Kinds: []int{1, 1, 2}, Tags: nostr.TagMap{"t": {"a", "b"}, "e": {}},
	})
	require.Equal(t, 7, f.Values())
	require.Zero(t, wire.NewFilter(nostr.Filter{}).Values())
}

func TestWeightCountsFiltersTagNamesAndValues(t *testing.T) {
	t.Parallel()
	full := wire.NewFilter(nostr.Filter{
		IDs: []string{"a"}, Authors: []string{"b", "c"}, Kinds: []int{1, 2, 3},
		Tags: nostr.TagMap{"t": {"x", "y"}, "e": {}},
	})
	empty := wire.NewFilter(nostr.Filter{})

	require.Zero(t, wire.Weight(nil))
	require.Equal(t, 1, wire.Weight([]*wire.Filter{empty}))
	require.Equal(t, 8+2+1, wire.Weight([]*wire.Filter{full}))
	require.Equal(t, 11+1+11, wire.Weight([]*wire.Filter{full, empty, full}))
	long := wire.NewFilter(nostr.Filter{Tags: nostr.TagMap{"t": {strings.Repeat("x", 640), "y"}}})
	require.Equal(t, 1+1+2+9, wire.Weight([]*wire.Filter{long}))
}
