package main_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	main "fencepost/cmd/fencepost"
	"fencepost/relay"
	"fencepost/relay/config"
	"fencepost/relay/wire"
)

// startRelay returns the URL of a relay that ends with the test.
func startRelay(t *testing.T) string {
	c := config.Default()
	c.Listen, c.Data = "127.0.0.1:0", t.TempDir()
	r, err := relay.New(t.Context(), relay.Options{Config: c, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return "ws://" + r.Addr().String()
}

func TestPublishAndSubscribe(t *testing.T) {
	t.Parallel()
	url := startRelay(t)
	const secret = "NOSTR_SECRET_KEY=0000000000000000000000000000000000000000000000000000000000000001"

	got := main.RunWith(t.Context(), strings.NewReader(""), []string{secret},
		"publish", url, "hello", "--kind", "7", "--tag", "t,demo", "--tag", "r,a b,c")
	require.Zero(t, got.Code, got.Stderr)
	ev, err := wire.DecodeEvent([]byte(strings.TrimSpace(got.Stdout)))
	require.NoError(t, err)
	require.NoError(t, ev.Verify())
	require.Equal(t, "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798", ev.PubKey)
	require.Equal(t, 7, ev.Kind)

	stored := main.Run(t.Context(), strings.NewReader(""), "subscribe", "--stored", url, `{"#t":["demo"]}`)
	require.Zero(t, stored.Code, stored.Stderr)
	require.Equal(t, got.Stdout, stored.Stdout)

	none := main.Run(t.Context(), strings.NewReader(""), "subscribe", "--stored", url, `{"#t":["other"]}`)
	require.Empty(t, none.Stdout)
	closed := main.Run(t.Context(), strings.NewReader(""), "subscribe", url, `{"search":"x"}`)
	require.Contains(t, closed.Stderr, "subscription closed: unsupported:")
	require.Equal(t, 1, closed.Code)
	require.Contains(t, main.Run(t.Context(), strings.NewReader(""), "subscribe", url, `{"x":1}`).Stderr, "filter: ")
	refused := main.Run(t.Context(), strings.NewReader(""), "publish", url, "x", "--kind", "22242")
	require.Contains(t, refused.Stderr, "refused: invalid:")
}
