package index_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

// tester is a *testing.T, *testing.B or *rapid.T.
type tester interface {
	require.TestingT
	Helper()
	Context() context.Context
	Cleanup(func())
}

// newConn returns a connection that takes any number of subscriptions.
func newConn(tb tester) *lifecycle.Conn {
	tb.Helper()
	const many = 1 << 30
	c := lifecycle.NewConn(tb.Context(), lifecycle.Options{ID: 1, Limits: lifecycle.Limits{
		QueueFrames: many, QueueBytes: many, HoldFrames: 1, HoldBytes: many, Subscriptions: many, Weight: many,
		Queries: 1, Pending: 1, PendingBytes: many, RoomTimeout: time.Minute,
	}})
	tb.Cleanup(func() { c.Finish() })
	return c
}

func reserve(tb tester, c *lifecycle.Conn, id string, filters ...nostr.Filter) *lifecycle.Handle {
	tb.Helper()
	prepared := make([]*wire.Filter, len(filters))
	for i, f := range filters {
		prepared[i] = wire.NewFilter(f)
	}
	h, _, err := c.Reserve(tb.Context(), id, prepared)
	require.NoError(tb, err)
	require.NotNil(tb, h)
	return h
}

// many reserves n handles, the filter of each made by filter.
func many(tb testing.TB, n int, filter func(i int) nostr.Filter) []*lifecycle.Handle {
	tb.Helper()
	c := newConn(tb)
	handles := make([]*lifecycle.Handle, n)
	for i := range handles {
		handles[i] = reserve(tb, c, strconv.Itoa(i), filter(i))
	}
	return handles
}

func event(id, author string, kind int, tags ...nostr.Tag) *wire.Event {
	return wire.NewEvent(nostr.Event{ID: id, PubKey: author, Kind: kind, Tags: tags})
}
