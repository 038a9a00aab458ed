//go:build !nopause

package suites_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Requests of NIP-29 as clients send them, two at a time: each is decided about from
// the state in which it is committed, and takes effect before it is answered (G4,
// G9).

// adminKey is the secret key of whoever has made the group.
const adminKey = "0000000000000000000000000000000000000000000000000000000000000005"

// request is a moderation event of a group, or a join or leave.
func request(t *testing.T, secret string, kind int, tags ...nostr.Tag) string {
	t.Helper()
	msg, _ := signed(t, secret, nostr.Event{
		Kind: kind, CreatedAt: nostr.Timestamp(time.Now().Unix()), Tags: append(nostr.Tags{{"h", pizza}}, tags...),
	})
	return msg
}

// administered runs test in a private group of adminKey, whose connection is the
// second one.
func administered(t *testing.T, test func(t *testing.T, w *world, admin *harness.Client)) {
	t.Helper()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.Control(t, control.Row{
			Type: control.GroupCreated, Group: pizza, Key: publicKey(t, adminKey), Stamp: 1, Tags: nostr.Tags{{"name", pizza}, {"private"}},
		}, "g:"+pizza)
		w.Commit(t, post(1, pizza))
		w.Step(t)
		w.client.Login(publicKey(t, secretKey))
		test(t, w, w.Connect(t))
	})
}

// race parks the first message at a point of EVENT, has the second go by as far as
// it gets, and returns both verdicts once all is in force.
func (w *world) race(at pause.Point, a *harness.Client, first string, b *harness.Client, second string) (x, y wire.RelayMessage) {
	w.t.Helper()
	parked := w.startTo(at, func() { a.Send(first) })
	require.Equal(w.t, at != "", parked.parked())
	w.calm() // what is committed is in force
	b.Send(second)
	w.calm()
	parked.finish(w.t)
	w.calm()
	return okOf(w.t, a), okOf(w.t, b)
}

// rowsOf returns the types of the control rows from the third on, in order.
func (w *world) rowsOf() (types []control.Type) {
	w.t.Helper()
	entries, err := w.Store.ReadControl(w.t.Context(), 1, 100)
	require.NoError(w.t, err)
	for _, e := range entries {
		row, err := control.Decode(e.Control.Data)
		require.NoError(w.t, err)
		types = append(types, row.Type)
	}
	return types
}

// TestAJoinAgainstTheDeletionOfItsGroup: the join is committed before, and then it
// was one; or it is refused. Nothing of the group is read afterwards.
func TestAJoinAgainstTheDeletionOfItsGroup(t *testing.T) {
	t.Parallel()
	for _, at := range eventPoints {
		for _, joinParked := range []bool{false, true} {
			t.Run(fmt.Sprint(at, " x join parked ", joinParked), func(t *testing.T) {
				t.Parallel()
				administered(t, func(t *testing.T, w *world, admin *harness.Client) {
					join, deletion := request(t, secretKey, 9021), request(t, adminKey, 9008)
					var joined, deleted wire.RelayMessage
					committed := at == pause.EventCommitted || at == "" // the parked one is
					if joinParked {
						joined, deleted = w.race(at, w.client, join, admin, deletion)
						require.Equal(t, committed, joined.OK, joined.Text)
					} else {
						deleted, joined = w.race(at, admin, deletion, w.client, join)
						require.Equal(t, !committed, joined.OK, joined.Text)
					}
					require.True(t, deleted.OK, deleted.Text)
					want := []control.Type{control.GroupDeleted}
					if joined.OK {
						want = []control.Type{control.GroupPut, control.GroupDeleted}
					} else {
						require.True(t, strings.HasPrefix(joined.Text, "blocked: "), joined.Text)
					}
					require.Equal(t, want, w.rowsOf())
					requireClosed(t, w.open(reqGroup("x", pizza)), "x", wire.Restricted)
					require.Equal(t, []string{eose("x")}, w.open(req("x", 9)))
					w.quiet(1)
				})
			})
		}
	}
}

// TestAJoinAgainstAnExpulsion: an admin expels somebody whose join is on its way.
// Who was no member is not expelled, and who joins afterwards is one.
func TestAJoinAgainstAnExpulsion(t *testing.T) {
	t.Parallel()
	for _, at := range eventPoints {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			administered(t, func(t *testing.T, w *world, admin *harness.Client) {
				expel := request(t, adminKey, 9001, nostr.Tag{"p", publicKey(t, secretKey)})
				joined, expelled := w.race(at, w.client, request(t, secretKey, 9021), admin, expel)
				require.True(t, joined.OK, joined.Text)
				// Between its commit and its answer the join is a row like another.
				require.Equal(t, at == pause.EventCommitted || at == "", expelled.OK, expelled.Text)
				if expelled.OK {
					require.Equal(t, []control.Type{control.GroupPut, control.GroupRemoved}, w.rowsOf())
					requireClosed(t, w.open(reqGroup("x", pizza)), "x", wire.Restricted)
					w.quiet(0)
					return
				}
				require.Equal(t, []control.Type{control.GroupPut}, w.rowsOf())
				require.Contains(t, w.open(reqGroup("x", pizza)), frame("x", post(1, pizza)))
				w.quiet(1)
			})
		})
	}
}

// TestJoinPostAndAskInOneBurst: each message finds what the one before it did, and a
// leave at the end takes it all away again.
func TestJoinPostAndAskInOneBurst(t *testing.T) {
	t.Parallel()
	for _, at := range eventPoints {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			administered(t, func(t *testing.T, w *world, _ *harness.Client) {
				w.edit(pizza, "private", "restricted")
				w.Step(t)
				mine, ev := toPizza(t, 1)
				burst := w.startTo(at, func() {
					w.client.Send(request(t, secretKey, 9021))
					w.client.Send(mine)
				})
				burst.finish(t)
				w.calm()
				require.Equal(t, []string{"OK", "OK"}, verbs(t, w.client.Take()))
				require.True(t, w.stored(ev), "who has joined may write")
				require.Contains(t, w.open(reqGroup("x", pizza)), frame("x", ev))

				left := w.verdict(w.client, request(t, secretKey, 9022))
				require.True(t, left.OK, left.Text)
				late, lateEvent := toPizza(t, 2)
				require.False(t, w.verdict(w.client, late).OK)
				require.False(t, w.stored(lateEvent))
				w.quiet(0)
			})
		})
	}
}

// TestALeaveEndsItsOwnSubscriptionsBeforeItIsAnswered: CLOSED, and then OK.
func TestALeaveEndsItsOwnSubscriptionsBeforeItIsAnswered(t *testing.T) {
	t.Parallel()
	for _, at := range controlPoints {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			administered(t, func(t *testing.T, w *world, _ *harness.Client) {
				require.True(t, w.verdict(w.client, request(t, secretKey, 9021)).OK)
				w.open(reqGroup("x", pizza))
				w.client.Send(request(t, secretKey, 9022))
				w.Commit(t, post(2, pizza))
				require.Empty(t, w.client.Settle(), "it is not in force")
				// The request and the relay's 9001 stand before the row.
				for range 2 {
					w.control.Arm(pause.FanoutBegun).Release()
				}
				leaving := w.applying(at)
				early := w.client.Settle()
				if at == "" {
					early = early[:len(early)-1]
				}
				require.NotContains(t, verbs(t, early), "OK", "before the permission is gone everywhere")
				leaving.finish(t)
				w.quiet(0)
			})
		})
	}
}

// TestAGroupThatIsDeletedTakesNothingMore: a post is parked at each of its points
// while an admin deletes the group.
func TestAGroupThatIsDeletedTakesNothingMore(t *testing.T) {
	t.Parallel()
	for _, at := range eventPoints {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			administered(t, func(t *testing.T, w *world, admin *harness.Client) {
				msg, ev := toPizza(t, 1)
				posted, deleted := w.race(at, w.client, msg, admin, request(t, adminKey, 9008))
				require.True(t, deleted.OK, deleted.Text)
				require.Equal(t, at == pause.EventCommitted || at == "", posted.OK, posted.Text)
				left := store.Erasure{Group: pizza, Self: harness.Self, Cause: store.CauseOperator}
				_, err := w.Store.Erase(t.Context(), left, 100) // as a relay does
				require.NoError(t, err)
				require.False(t, w.stored(ev))
				require.False(t, w.verdict(w.client, msg).OK)
				require.Equal(t, []string{eose("x")}, w.open(req("x", ev.Kind)))
				w.quiet(1)
			})
		})
	}
}
