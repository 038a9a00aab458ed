package storm_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/regress/race"
	"fencepost/relay"
	"fencepost/relay/config"
)

// TestStormAgainstFencepost holds the storm against the whole relay in this
// process, so that the race detector sees both sides.
func TestStormAgainstFencepost(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*config.Config)
		storm  func(*race.Options)
	}{
		{name: "as it comes"},
		{name: "CLOSE acknowledged", change: func(c *config.Config) { c.Subscriptions.CloseAck = true }},
		{name: "ephemeral events", storm: func(o *race.Options) { o.Kind = 20_007 }},
		{name: "a hold of one frame", change: func(c *config.Config) { c.Queue.HoldFrames = 1 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := config.Default()
			c.Listen, c.Data = "127.0.0.1:0", filepath.Join(t.TempDir(), "data")
			if tc.change != nil {
				tc.change(&c)
			}
			o := race.Options{
				URL: "ws://" + startRelay(t, c), Connections: 10, Subscriptions: 3, Publishers: 2, Topics: 16,
				Rate: 100, Duration: duration(), Patience: time.Minute, Kind: 1,
			}
			if tc.storm != nil {
				tc.storm(&o)
			}
			judged := 0
			for o.Seed = 1; judged == 0 && o.Seed <= 10; o.Seed++ { // a starved machine judges none
				r, err := race.Run(t.Context(), o)
				require.NoError(t, err)
				require.False(t, r.Failed(), "%+v", r)
				require.Zero(t, r.Refused+r.Unanswered+r.Malformed+r.Cut+r.Ended, "%+v", r)
				judged += r.Judged
			}
			require.Positive(t, judged)
		})
	}
}

// duration is the length of one storm: half a minute in the long size.
func duration() time.Duration {
	if os.Getenv("FENCEPOST_TEST_FULL") != "" {
		return 30 * time.Second
	}
	return 1500 * time.Millisecond
}

// startRelay runs a relay until the test ends and returns its address.
func startRelay(t *testing.T, c config.Config) string {
	t.Helper()
	r, err := relay.New(t.Context(), relay.Options{Config: c, Logger: slog.New(slog.DiscardHandler), Version: "test"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return r.Addr().String()
}
