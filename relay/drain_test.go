package relay_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/relay/config"
)

// A request whose body never ends is neither waited for nor a fault of the drain.
func TestARequestThatNeverEndsDoesNotHoldUpTheDrain(t *testing.T) {
	t.Parallel()
	for name, timeout := range map[string]time.Duration{"long": time.Minute, "over at once": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, t.TempDir(), func(c *config.Config) { c.Network.DrainTimeout = timeout })
			c := r.dialTCP(t)
			_, err := io.WriteString(c, "GET /"+get+"Content-Length: 1000\r\n\r\nabc")
			require.NoError(t, err)
			r.metric(t, "fencepost_connections") // a later connection was answered, so the relay has the first

			began := time.Now()
			require.NoError(t, r.stop())
			require.Less(t, time.Since(began), 50*time.Second)
		})
	}
}
