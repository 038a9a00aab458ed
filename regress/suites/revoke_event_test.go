//go:build !nopause

package suites_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/access"
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

// TestAnEventOfWhoMayNotPublishAnyMoreIsNotStored: it has nothing to do with a
// group, and its author, the relay or its kind loses the permission on the way.
func TestAnEventOfWhoMayNotPublishAnyMoreIsNotStored(t *testing.T) {
	t.Parallel()
	for _, r := range []revocation{
		revocations[0], revocations[3],
		{"membership ended", func(w *world) {
			key := publicKey(w.t, secretKey)
			w.Control(w.t, control.Row{Type: control.MemberRemoved, Key: key}, key)
		}},
	} {
		for _, at := range eventPoints {
			t.Run(r.name+" x "+string(at), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{Rules: access.Rules{Members: access.MembersWrite}}, func(t *testing.T, w *world) {
					w.admit(secretKey)
					msg, ev := publish(t, 1)
					publication := w.send(at, msg)
					require.Equal(t, at != "", publication.parked())
					r.commit(w)
					publication.finish(t)
					w.calm()
					committed := at == pause.EventCommitted || at == ""
					require.Equal(t, committed, okOf(t, w.client).OK)
					require.Equal(t, committed, w.stored(ev))
					later, none := publish(t, 2)
					require.False(t, w.verdict(w.client, later).OK)
					require.False(t, w.stored(none))
				})
			})
		}
	}
}

// joining is a request to become a member of the relay with an invite code (NIP-43).
func joining(t *testing.T, secret, code string) string {
	t.Helper()
	msg, _ := signed(t, secret, nostr.Event{
		Kind: 28934, CreatedAt: nostr.Timestamp(time.Now().Unix()), Tags: nostr.Tags{{"-"}, {"claim", code}},
	})
	return msg
}

// claimed runs test with a relay of members only, a code for one, and its first use
// parked at a point.
func claimed(t *testing.T, at pause.Point, test func(t *testing.T, w *world, code string, first *task)) {
	t.Helper()
	inWorld(t, harness.Options{Rules: access.Rules{Members: access.MembersWrite}}, func(t *testing.T, w *world) {
		code, write, err := w.Policy.CreateClaim(1, time.Time{})
		require.NoError(t, err)
		w.Write(t, write)
		w.Step(t)
		w.client.Login(publicKey(t, secretKey))
		first := w.send(at, joining(t, secretKey, code))
		w.calm() // what is committed is in force
		test(t, w, code, first)
	})
}

// TestOneClaimAdmitsOne: two join with the same code at once.
func TestOneClaimAdmitsOne(t *testing.T) {
	t.Parallel()
	for _, at := range eventPoints {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			claimed(t, at, func(t *testing.T, w *world, code string, first *task) {
				other := w.Connect(t)
				other.Login(publicKey(t, otherKey))
				second := w.verdict(other, joining(t, otherKey, code))
				first.finish(t)
				w.calm()
				was := at == pause.EventCommitted || at == "" // the first one is committed
				require.Equal(t, was, okOf(t, w.client).OK)
				require.Equal(t, !was, second.OK, second.Text)
				member := otherKey
				if was {
					member = secretKey
				}
				require.Equal(t, []string{publicKey(t, member)}, w.Policy.AllowedKeys())
			})
		})
	}
}

// TestWhoIsBannedMeanwhileDoesNotJoin: or joins first, and is no member by the ban.
func TestWhoIsBannedMeanwhileDoesNotJoin(t *testing.T) {
	t.Parallel()
	for _, at := range eventPoints {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			claimed(t, at, func(t *testing.T, w *world, _ string, first *task) {
				w.ban(secretKey)
				first.finish(t)
				w.calm()
				if ok := okOf(t, w.client); at == pause.EventVerified || at == pause.EventPlanned {
					require.False(t, ok.OK, "it joined after the ban")
				}
				require.Empty(t, w.Policy.AllowedKeys())
				require.Equal(t, publicKey(t, secretKey), w.Policy.BannedKeys()[0].Value, "to join would end the ban")
			})
		})
	}
}
