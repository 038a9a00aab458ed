package cluster_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/regress/cluster"
	"fencepost/relay/client"
	"fencepost/relay/wire"
)

// ear is one connection with a subscription that is live.
type ear struct {
	conn   *client.Client
	stored []*wire.Event
}

// dial connects to a replica until the test ends.
func dial(t testing.TB, r *cluster.Replica) *client.Client {
	t.Helper()
	conn, err := r.Dial(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() }) // its peer may be gone
	return conn
}

// listen subscribes and waits for EOSE.
func listen(t testing.TB, r *cluster.Replica, filters []*wire.Filter) *ear {
	t.Helper()
	e := &ear{conn: dial(t, r)}
	e.open(t, "s", filters)
	return e
}

// open opens a subscription and waits for its EOSE; what is stored is kept.
func (e *ear) open(t testing.TB, id string, filters []*wire.Filter) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), cluster.Patience)
	defer cancel()
	require.NoError(t, e.conn.Send(ctx, wire.AppendReq(nil, id, filters)))
	for {
		m, err := e.conn.Next(ctx)
		require.NoError(t, err)
		switch m.Verb {
		case "EVENT":
			e.stored = append(e.stored, m.Event)
		case "EOSE":
			return
		case "CLOSED":
			require.Fail(t, "CLOSED", m.Text)
		}
	}
}

// next returns the next event.
func (e *ear) next(t testing.TB) *wire.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), cluster.Patience)
	defer cancel()
	for {
		m, err := e.conn.Next(ctx)
		require.NoError(t, err)
		require.NotEqual(t, "CLOSED", m.Verb, m.Text)
		if m.Verb == "EVENT" {
			return m.Event
		}
	}
}

// publish publishes an event, which must be accepted. It is sent again when the relay had
// an error.
func publish(t testing.TB, r *cluster.Replica, e *wire.Event) {
	t.Helper()
	conn := dial(t, r)
	require.NoError(t, insist(t.Context(), conn, e))
	require.NoError(t, conn.Close())
}

// insist publishes an event again while the relay has an error.
func insist(ctx context.Context, conn *client.Client, e *wire.Event) error {
	ctx, cancel := context.WithTimeout(ctx, cluster.Patience)
	defer cancel()
	for {
		err := conn.Publish(ctx, e)
		var refusal *client.Refusal
		if !errors.As(err, &refusal) || !strings.HasPrefix(refusal.Text, "error: ") {
			return err
		}
	}
}
