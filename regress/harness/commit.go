package harness

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Commit appends events to the store, past every handler, and returns the
// position of the last.
func (r *Relay) Commit(t testing.TB, events ...*wire.Event) store.Position {
	var last store.Position
	for _, ev := range events {
		out := r.ledger.Append(r.ctx, []store.Write{{Event: ev}})
		require.NoError(t, out[0].Err)
		last = out[0].Position
	}
	return last
}

// Control appends a control row that names scopes, past every handler, and returns
// its position. It is in force when the follower has applied it.
func (r *Relay) Control(t testing.TB, row control.Row, scopes ...string) store.Position {
	data, err := control.Encode(row)
	require.NoError(t, err)
	return r.Write(t, store.Write{Controls: []store.Control{{Scopes: scopes, Data: data}}})
}

// Write appends one write, past every handler, and returns its last position.
func (r *Relay) Write(t testing.TB, w store.Write) store.Position {
	out := r.ledger.Append(r.ctx, []store.Write{w})
	require.NoError(t, out[0].Err)
	return out[0].Last
}
