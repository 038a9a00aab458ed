package wire_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

func TestSinceAndUntilAreInclusive(t *testing.T) {
	t.Parallel()
	since, until := nostr.Timestamp(10), nostr.Timestamp(12)
	f := wire.NewFilter(nostr.Filter{Since: &since, Until: &until})
	for at, want := range map[nostr.Timestamp]bool{9: false, 10: true, 11: true, 12: true, 13: false} {
		require.Equal(t, want, f.Matches(wire.NewEvent(nostr.Event{CreatedAt: at})), at)
	}
}
