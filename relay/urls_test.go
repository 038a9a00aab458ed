package relay_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay"
)

// What is signed for a relay is signed for its URL; a relay that does not know its own
// takes what the client says, and its operator must know that.
func TestARelayThatDoesNotKnowItsURLWarns(t *testing.T) {
	t.Parallel()
	for name, urls := range map[string][]string{"unknown": nil, "known": {"wss://relay.example"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			o := options(t.TempDir())
			o.Config.Relay.URLs = urls
			o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
			r, err := relay.New(t.Context(), o)
			require.NoError(t, err)
			require.NoError(t, run(t, r).stop())
			if urls != nil {
				require.NotContains(t, log.String(), "relay.urls")
				return
			}
			require.Contains(t, log.String(), "relay.urls is empty")
			require.Contains(t, log.String(), "AUTH")
			require.Contains(t, log.String(), "NIP-98")
		})
	}
}
