//go:build !nopause

package suites_test

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// An event on its way into the store against a revocation: G4.

// revocation is one after which an event of its author to the group pizza is
// refused.
type revocation struct {
	name   string
	commit func(w *world)
}

var revocations = []revocation{
	{"ban", func(w *world) { w.ban(secretKey) }},
	{"expulsion", func(w *world) { w.expel(pizza, secretKey) }},
	{"group deletion", func(w *world) {
		w.Write(w.t, store.Write{
			Controls: []store.Control{w.row(control.Row{Type: control.GroupDeleted, Group: pizza, Stamp: 10}, "g:"+pizza)},
			Erase:    &store.Erasure{Group: pizza, Self: publicKey(w.t, harness.Secret), Cause: store.CauseOperator},
		})
	}},
	{"kinds withdrawn", func(w *world) {
		w.Control(w.t, control.Row{Type: control.KindsDisallowed, Kinds: []int{1}}, "relay")
	}},
	{"vanishing", func(w *world) {
		key := publicKey(w.t, secretKey)
		w.Write(w.t, store.Write{
			Controls: []store.Control{w.row(control.Row{Type: control.KeyVanished, Key: key, Until: 1 << 40}, key)},
			Erase:    &store.Erasure{Author: key, Until: 1 << 40, Cause: store.CauseVanished},
		})
	}},
}

func (w *world) row(r control.Row, scopes ...string) store.Control {
	data, err := control.Encode(r)
	require.NoError(w.t, err)
	return store.Control{Scopes: scopes, Data: data}
}

// restricted runs test in a group whose members alone may post.
func restricted(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	joined(t, harness.Options{}, func(t *testing.T, w *world) {
		w.Control(t, control.Row{
			Type: control.GroupEdited, Group: pizza, Stamp: 5, Tags: nostr.Tags{{"name", pizza}, {"private"}, {"restricted"}},
		}, "g:"+pizza)
		w.Step(t)
		test(t, w)
	})
}

// toPizza is a signed event of the group.
func toPizza(t *testing.T, n int) (string, *wire.Event) {
	t.Helper()
	return publish(t, n, nostr.Tag{"h", pizza})
}

// TestAPermissionThatMovesDuringACommitIsAskedForAgain: the event was planned, and
// a revocation commits before it does.
func TestAPermissionThatMovesDuringACommitIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for _, r := range revocations {
		for _, at := range []pause.Point{pause.EventVerified, pause.EventPlanned} {
			t.Run(r.name+" x "+string(at), func(t *testing.T) {
				t.Parallel()
				restricted(t, func(t *testing.T, w *world) {
					msg, ev := toPizza(t, 1)
					submission := w.send(at, msg)
					require.True(t, submission.parked())
					r.commit(w)
					submission.finish(t)
					require.Empty(t, w.client.Settle(), "it waits until the revocation is in force here")
					w.Step(t)
					m := w.answer()
					require.False(t, m.OK)
					require.Regexp(t, "^(blocked|restricted): ", m.Text)
					require.False(t, w.stored(ev))
				})
			})
		}
	}
}

// TestAnEventBeforeARevocationIsStored is the pause after: it was committed first.
func TestAnEventBeforeARevocationIsStored(t *testing.T) {
	t.Parallel()
	restricted(t, func(t *testing.T, w *world) {
		msg, ev := toPizza(t, 1)
		submission := w.send(pause.EventCommitted, msg)
		require.True(t, submission.parked())
		w.expel(pizza, secretKey)
		submission.finish(t)
		require.True(t, w.answer().OK)
		w.Step(t)
		require.True(t, w.stored(ev))
		later, _ := toPizza(t, 2)
		w.client.Send(later)
		m := w.answer()
		require.False(t, m.OK)
		require.True(t, strings.HasPrefix(m.Text, "restricted: "), m.Text)
		w.quiet(0)
	})
}

// TestWhatOnlyWidensDelaysNobody: an invitation of somebody else moves no epoch.
func TestWhatOnlyWidensDelaysNobody(t *testing.T) {
	t.Parallel()
	restricted(t, func(t *testing.T, w *world) {
		msg, ev := toPizza(t, 1)
		submission := w.send(pause.EventPlanned, msg)
		require.True(t, submission.parked())
		w.Control(t, control.Row{Type: control.GroupPut, Group: pizza, Key: publicKey(t, strings.Repeat("7", 64)), Stamp: 11})
		submission.finish(t)
		require.True(t, w.answer().OK, "without a step of the follower")
		require.True(t, w.stored(ev))
		w.quiet(0)
	})
}

// stored reports whether the store has ev.
func (w *world) stored(ev *wire.Event) bool {
	snap, err := w.Store.Snapshot(w.t.Context())
	require.NoError(w.t, err)
	n, _, err := snap.Count(w.t.Context(), []*wire.Filter{wire.NewFilter(nostr.Filter{IDs: []string{ev.ID}})}, 0, nil)
	require.NoError(w.t, err)
	require.NoError(w.t, snap.Close())
	return n > 0
}
