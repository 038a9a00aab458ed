//go:build !nopause

package suites_test

import (
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// otherKey is a second reader's secret key; secretKey is the first one's.
const otherKey = "0000000000000000000000000000000000000000000000000000000000000004"

// Two groups that only members read.
const (
	pizza = "pizza"
	pasta = "pasta"
)

func publicKey(t *testing.T, secret string) string {
	t.Helper()
	key, err := nostr.GetPublicKey(secret)
	require.NoError(t, err)
	return key
}

// found makes a private group, of which the holders of these keys are members.
func (w *world) found(id string, secrets ...string) {
	w.t.Helper()
	w.Control(w.t, control.Row{
		Type: control.GroupCreated, Group: id, Key: storetest.Key(7), Stamp: 1, Tags: nostr.Tags{{"name", id}, {"private"}},
	}, "g:"+id)
	for i, secret := range secrets {
		w.Control(w.t, control.Row{Type: control.GroupPut, Group: id, Key: publicKey(w.t, secret), Stamp: int64(2 + i)})
	}
	w.Step(w.t)
}

// expel commits the row that ends a membership. It is not applied.
func (w *world) expel(id, secret string) store.Position {
	w.t.Helper()
	return w.Control(w.t, control.Row{Type: control.GroupRemoved, Group: id, Key: publicKey(w.t, secret), Stamp: 10}, "g:"+id)
}

// ban commits the row that bans the holder of a key. It is not applied.
func (w *world) ban(secret string) store.Position {
	w.t.Helper()
	key := publicKey(w.t, secret)
	return w.Control(w.t, control.Row{Type: control.KeyBanned, Key: key}, key)
}

// post is event number n of a group.
func post(n int, group string) *wire.Event { return note(n, 9, nostr.Tag{"h", group}) }

// reqGroup returns a REQ that depends on a group.
func reqGroup(id, group string) string { return fmt.Sprintf(`["REQ",%q,{"#h":[%q]}]`, id, group) }

// joined runs test with a client that reads two private groups.
func joined(t *testing.T, o harness.Options, test func(t *testing.T, w *world)) {
	t.Helper()
	inWorld(t, o, func(t *testing.T, w *world) {
		w.found(pizza, secretKey, otherKey)
		w.found(pasta, secretKey)
		w.client.Auth(t, secretKey)
		test(t, w)
	})
}

// applying runs the follower to the end of the log, until somebody parks at p.
func (w *world) applying(p pause.Point) *task {
	return w.startTo(p, func() { w.Step(w.t) })
}

// controlPoints are the places of a revocation, in order; "" is the whole of it.
// At the first the follower has the row and nothing has changed, at the others the
// permission is gone.
var controlPoints = []pause.Point{pause.FanoutBegun, pause.ControlChanged, pause.EvictSelected, pause.Evicted, ""}

// isGone reports whether the permission is gone when a revocation stands at p.
func isGone(p pause.Point) bool { return p != pause.FanoutBegun }

// quiet is settled for a client that may not see everything.
func (w *world) quiet(subscriptions int) {
	w.t.Helper()
	for left := true; left; {
		w.Step(w.t)
		left = len(w.client.Settle()) > 0
	}
	require.Empty(w.t, w.client.Trace.Settled(), w.client.Trace.Transcript())
	require.Equal(w.t, subscriptions, w.Index.Len(), "handles in the index")
	usage := w.client.Conn.Usage()
	require.Equal(w.t, subscriptions, usage.Subscriptions)
	require.Zero(w.t, usage.Frames)
	require.Zero(w.t, usage.Bytes)
	if subscriptions == 0 {
		require.Zero(w.t, usage.Reserved)
	}
}

// answer returns the one answer to an EVENT or AUTH that is waited for.
func (w *world) answer() wire.RelayMessage {
	w.t.Helper()
	frames := w.client.Settle()
	require.Len(w.t, frames, 1)
	m, err := wire.DecodeRelay([]byte(frames[0]))
	require.NoError(w.t, err)
	require.Equal(w.t, "OK", m.Verb)
	return m
}
