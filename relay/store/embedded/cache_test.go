package embedded_test

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
)

// A string is 16 bytes and a list 24, however little they hold.
func TestCacheWeighsListsAndStrings(t *testing.T) {
	t.Parallel()
	const n = 100_000
	for name, c := range map[string]struct {
		tags nostr.Tags
		text string
		most int
	}{
		"empty values of one tag": {nostr.Tags{make(nostr.Tag, n)}, "", 16 * n},
		"empty tags":              {make(nostr.Tags, n), "", 24 * n},
		"content":                 {nil, strings.Repeat("x", n), 2 * n},
	} {
		weight := embedded.Weight(storetest.Draft{Kind: 1, Tags: c.tags, Content: c.text}.Event())
		require.Greater(t, weight, c.most, name)
	}
}
