//go:build !nopause

package suites_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/wire"
)

// Who publishes, who reads and who revokes are on three relays that share a store and
// apply its log each at its own time: G4 across replicas.

// moderator is the secret key of who moderates.
const moderator = "0000000000000000000000000000000000000000000000000000000000000008"

// reqMessages depends on the group and asks for what is said there.
const reqMessages = `["REQ","x",{"kinds":[9],"#h":["` + pizza + `"]}]`

// three is the three relays, each with one client. The world is where the reader is.
type three struct {
	*world
	publishing world // its client holds otherKey
	revoking   world // its client holds moderator
}

// inThree runs test in a private and restricted group of which reader and publisher are
// members, and which all relays know.
func inThree(t *testing.T, test func(t *testing.T, w *three)) {
	t.Helper()
	inWorld(t, harness.Options{}, func(t *testing.T, reading *world) {
		beside := func() world {
			o := harness.Options{Control: harness.NewController(), Beside: reading.Relay}
			r := harness.New(t, o)
			return world{Relay: r, t: t, control: o.Control, client: r.Connect(t)}
		}
		w := &three{world: reading, publishing: beside(), revoking: beside()}
		w.client.Auth(t, secretKey)
		w.publishing.client.Auth(t, otherKey)
		w.revoking.client.Auth(t, moderator)
		w.revoke(9007, nostr.Tag{"private"}, nostr.Tag{"restricted"})
		w.revoke(9000, nostr.Tag{"p", publicKey(t, secretKey)}, nostr.Tag{"p", publicKey(t, otherKey)})
		w.publishing.Step(t)
		w.Step(t)
		w.revoking.client.Settle()
		test(t, w)
	})
}

// revoke has the admin change the group, which is in force where the admin is when it
// returns, and nowhere else.
func (w *three) revoke(kind int, tags ...nostr.Tag) {
	w.t.Helper()
	e := nostr.Event{Kind: kind, CreatedAt: nostr.Now(), Tags: append(nostr.Tags{{"h", pizza}}, tags...)}
	require.NoError(w.t, e.Sign(moderator))
	w.revoking.client.Send(string(wire.AppendEventMessage(nil, wire.NewEvent(e))))
	synctest.Wait()
	w.revoking.Step(w.t)
	m := w.revoking.answer()
	require.True(w.t, m.OK, m.Text)
}

// say is a message to the group by the holder of a key.
func (w *three) say(secret string, n int) (msg string, ev *wire.Event) {
	w.t.Helper()
	e := nostr.Event{Kind: 9, CreatedAt: nostr.Now(), Tags: nostr.Tags{{"h", pizza}}, Content: fmt.Sprint("message ", n)}
	require.NoError(w.t, e.Sign(secret))
	ev = wire.NewEvent(e)
	return string(wire.AppendEventMessage(nil, ev)), ev
}

// placesOfAnEvent are the places of an EVENT, in order. It is in the log at the last.
var placesOfAnEvent = []pause.Point{pause.EventVerified, pause.EventPlanned, pause.EventCommitted}

// TestAnEventAboveARevocationElsewhereReachesNobodyRevoked: the event is on its way on one
// relay, the reader is removed on another, and the reader's own applies both later. What
// comes above the removal is never sent; what came below only before it is applied.
func TestAnEventAboveARevocationElsewhereReachesNobodyRevoked(t *testing.T) {
	t.Parallel()
	for _, at := range placesOfAnEvent {
		for _, rival := range controlPoints {
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				inThree(t, func(t *testing.T, w *three) {
					w.open(reqMessages)
					w.open(req("broad", 9))
					msg, ev := w.say(otherKey, 1)
					event := w.publishing.send(at, msg)
					require.True(t, event.parked())
					w.revoke(9001, nostr.Tag{"p", publicKey(t, secretKey)})
					event.finish(t)
					require.True(t, w.publishing.answer().OK, "the publisher has lost nothing")

					revocation := w.applying(rival)
					got := w.client.Settle()
					revocation.finish(t)
					got = append(got, w.client.Settle()...)
					for _, f := range got {
						shown := f == frame("x", ev) || f == frame("broad", ev)
						require.False(t, shown && at != pause.EventCommitted, "an event above the revocation")
						require.False(t, shown && isGone(rival), "after the revocation was in force")
					}
					require.Contains(t, verbs(t, got), "CLOSED")
					w.quiet(1)
				})
			})
		}
	}
}

// TestAnEventOfWhoWasRevokedElsewhereIsNotTaken: its author is removed on another relay
// while it is on its way. The relay that has it learns of that from the store, and answers
// once it has applied the removal.
func TestAnEventOfWhoWasRevokedElsewhereIsNotTaken(t *testing.T) {
	t.Parallel()
	for _, at := range placesOfAnEvent {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			inThree(t, func(t *testing.T, w *three) {
				w.open(reqMessages)
				msg, ev := w.say(otherKey, 1)
				event := w.publishing.send(at, msg)
				require.True(t, event.parked())
				w.revoke(9001, nostr.Tag{"p", publicKey(t, otherKey)})
				event.finish(t)
				before := at == pause.EventCommitted
				if !before {
					require.Empty(t, w.publishing.client.Settle(), "it waits until the revocation is in force here")
					w.publishing.Step(t)
				}
				require.Equal(t, before, w.publishing.answer().OK)
				require.Equal(t, before, w.stored(ev))
				w.Step(t)
				want := []string{}
				if before {
					want = []string{frame("x", ev)}
				}
				require.ElementsMatch(t, want, w.client.Settle())
				w.quiet(1)
			})
		})
	}
}

// TestAReqShowsNothingAboveARevocationElsewhere: the REQ stands at each of its points,
// and the log gets a revocation and an event above it that its relay has not applied.
func TestAReqShowsNothingAboveARevocationElsewhere(t *testing.T) {
	t.Parallel()
	for _, at := range reqPoints {
		for _, first := range []bool{true, false} { // which of the two goes on first
			t.Run(fmt.Sprintf("%s, the REQ first: %t", at, first), func(t *testing.T) {
				t.Parallel()
				inThree(t, func(t *testing.T, w *three) {
					below, old := w.say(otherKey, 1)
					w.publishing.client.Send(below)
					require.True(t, w.publishing.answer().OK)
					w.Step(t)
					query := w.send(at, reqMessages)
					require.True(t, query.parked())
					w.revoke(9001, nostr.Tag{"p", publicKey(t, secretKey)})
					above, ev := w.say(otherKey, 2)
					w.publishing.client.Send(above)
					require.True(t, w.publishing.answer().OK)
					if first {
						query.release()
					}
					w.Step(t)
					query.finish(t)
					got := w.client.Settle()
					require.NotContains(t, got, frame("x", ev), "an event above the revocation")
					if !first {
						require.NotContains(t, got, frame("x", old), "after the revocation was in force")
					}
					assert.Equal(t, "CLOSED", verbs(t, got)[len(got)-1])
					w.quiet(0)
				})
			})
		}
	}
}
