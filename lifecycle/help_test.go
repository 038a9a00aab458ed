package lifecycle_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

func limits() lifecycle.Limits {
	return lifecycle.Limits{
		QueueFrames: 64, QueueBytes: 1 << 16, HoldFrames: 8, HoldBytes: 1 << 14,
		Subscriptions: 4, Weight: 1 << 16, Queries: 2, Pending: 8, PendingBytes: 1 << 16, RoomTimeout: time.Second,
	}
}

func newConn(t testing.TB, change ...func(*lifecycle.Options)) *lifecycle.Conn {
	o := lifecycle.Options{ID: 1, Limits: limits()}
	for _, f := range change {
		f(&o)
	}
	c := lifecycle.NewConn(t.Context(), o)
	t.Cleanup(func() {
		c.Finish()
		require.NoError(t, c.Group().Wait(context.Background()))
	})
	return c
}

// event returns an event that is told apart by its content. Nothing here looks
// at ids or signatures.
func event(n int) *wire.Event {
	return wire.NewEvent(nostr.Event{Kind: 1, Content: fmt.Sprint("event ", n)})
}

func reserve(t testing.TB, c *lifecycle.Conn, id string) *lifecycle.Handle {
	h, _, err := c.Reserve(t.Context(), id, nil)
	require.NoError(t, err)
	require.NotNil(t, h)
	return h
}

// goLive reserves id and brings it to live after position a, its EOSE taken.
func goLive(t testing.TB, c *lifecycle.Conn, id string) *lifecycle.Handle {
	h := reserve(t, c, id)
	h.Begin(0)
	ok, err := h.GoLive(wire.HintFinish)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []string{"EOSE " + id}, take(c))
	return h
}

// take drains the queue and returns each frame as "VERB id" or "EVENT id n".
func take(c *lifecycle.Conn) []string {
	frames, _ := c.Take(nil, 1<<30)
	out := make([]string, 0, len(frames))
	for _, f := range frames {
		out = append(out, brief(f))
	}
	return out
}

func brief(f lifecycle.Frame) string {
	m, err := wire.DecodeRelay(f.AppendTo(nil))
	if err != nil { // test events have no valid id
		text := string(f.AppendTo(nil))
		_, n, _ := strings.Cut(text, `"content":"event `)
		n, _, _ = strings.Cut(n, `"`)
		return "EVENT " + f.Handle().ID() + " " + n
	}
	return strings.TrimSpace(m.Verb + " " + m.Sub)
}
