package kill_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/client"
	"fencepost/relay/wire"
)

// event returns a signed event of now by key number n (from 1).
func event(t testing.TB, n, kind int, content string, tags ...nostr.Tag) *wire.Event {
	t.Helper()
	e := nostr.Event{Kind: kind, CreatedAt: nostr.Now(), Content: content, Tags: tags}
	require.NoError(t, e.Sign(fmt.Sprintf("%064x", n)))
	return wire.NewEvent(e)
}

// stored returns what a REQ gives before its EOSE.
func stored(t *testing.T, c *client.Client, f nostr.Filter) []*wire.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, c.Send(ctx, wire.AppendReq(nil, "stored", []*wire.Filter{wire.NewFilter(f)})))
	var out []*wire.Event
	for {
		m, err := c.Next(ctx)
		require.NoError(t, err)
		switch {
		case m.Sub != "stored":
		case m.Verb == "EVENT":
			out = append(out, m.Event)
		case m.Verb == "EOSE":
			require.NoError(t, c.Send(ctx, wire.AppendClose(nil, "stored")))
			return out
		default:
			require.Fail(t, "no EOSE", "%+v", m)
		}
	}
}

// next returns the next message that is of one of the verbs.
func next(t *testing.T, c *client.Client, verbs ...string) wire.RelayMessage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		m, err := c.Next(ctx)
		require.NoError(t, err)
		if strings.Contains(strings.Join(verbs, " "), m.Verb) {
			return m
		}
	}
}
