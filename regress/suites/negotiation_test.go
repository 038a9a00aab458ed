//go:build !nopause

package suites_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/handlers"
	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/negentropy"
	"fencepost/relay/wire"
)

// Negotiations (NIP-77) against their own end and against permissions that are taken
// away: G1, G2 and G4 for what is no subscription.

var negotiating = harness.Options{Handlers: handlers.Limits{
	NegRecords: 100, NegSessions: 4, NegHeld: 1000, NegFrame: negentropy.MinFrame, NegIdle: time.Minute,
}}

// emptyHanded is the first message of a client that has nothing: the answer lists all.
var emptyHanded = negentropy.NewClient(negentropy.NewSet(nil), negentropy.MinFrame).Start()

func negOpen(id, filter string) string {
	return fmt.Sprintf(`["NEG-OPEN",%q,%s,"%x"]`, id, filter, emptyHanded)
}

// negNext asks for the same once more.
func negNext(id string) string { return fmt.Sprintf(`["NEG-MSG",%q,"%x"]`, id, emptyHanded) }

// listed returns the ids that a NEG-MSG lists.
func listed(t *testing.T, frame string) (ids []string) {
	t.Helper()
	m, err := wire.DecodeRelay([]byte(frame))
	require.NoError(t, err)
	require.Equal(t, "NEG-MSG", m.Verb, frame)
	client := negentropy.NewClient(negentropy.NewSet(nil), negentropy.MinFrame)
	next, err := client.Next(m.Message)
	require.NoError(t, err)
	require.Nil(t, next)
	for _, id := range client.Need {
		ids = append(ids, hex.EncodeToString(id[:]))
	}
	return ids
}

func requireNegErr(t *testing.T, frames []string, id string) {
	t.Helper()
	require.Len(t, frames, 1)
	require.True(t, strings.HasPrefix(frames[0], fmt.Sprintf(`["NEG-ERR",%q,"`, id)), frames[0])
}

// TestAnEndedNegotiationIsNotAnswered parks the answer to NEG-OPEN while the client ends
// the negotiation or begins another one of its id.
func TestAnEndedNegotiationIsNotAnswered(t *testing.T) {
	t.Parallel()
	for _, rival := range []string{`["NEG-CLOSE","x"]`, negOpen("x", `{"kinds":[7]}`), `["NEG-MSG","x",0]`, `["NEG-MSG","x","61"]`} {
		for _, queued := range []bool{false, true} {
			t.Run(fmt.Sprint(rival, " x queued ", queued), func(t *testing.T) {
				t.Parallel()
				inWorld(t, negotiating, func(t *testing.T, w *world) {
					w.Commit(t, note(1, 1), note(2, 7))
					opening := w.send(pause.NegCollected, negOpen("x", `{}`))
					require.True(t, opening.parked())
					if queued && !strings.Contains(rival, "MSG") {
						opening.finish(t) // and nobody takes it
					}
					w.client.Send(rival)
					opening.finish(t)
					got := w.client.Settle()
					switch {
					case strings.Contains(rival, "CLOSE"):
						require.Empty(t, got)
					case strings.Contains(rival, "OPEN"):
						require.Len(t, got, 1)
						require.Equal(t, []string{note(2, 7).ID}, listed(t, got[0]))
					default:
						requireNegErr(t, got, "x")
					}
					w.client.Send(`["NEG-CLOSE","x"]`)
					w.quiet(0)
					require.Zero(t, w.Handlers.Held())
				})
			})
		}
	}
}

// TestANegotiationTellsNothingThatWasTakenAway parks the first answer when its events are
// collected, or asks once more, while a permission is taken away.
func TestANegotiationTellsNothingThatWasTakenAway(t *testing.T) {
	t.Parallel()
	for _, c := range cuts() {
		for _, at := range c.points() {
			for _, collecting := range []bool{false, true} {
				t.Run(fmt.Sprint(c.name, " x ", at, " x collecting ", collecting), func(t *testing.T) {
					t.Parallel()
					inCut(t, c, negotiating, func(t *testing.T, w *cutWorld) { w.cutNegotiation(at, collecting) })
				})
			}
		}
	}
}

func (w *cutWorld) cutNegotiation(at pause.Point, collecting bool) {
	t := w.t
	w.Commit(t, w.event(1), w.event(2), note(3, 7))
	w.Step(t)
	before := []string{w.event(1).ID, w.event(2).ID, note(3, 7).ID}
	asking := w.send(pause.NegCollected, negOpen("x", `{"kinds":[1,7,9]}`))
	require.True(t, asking.parked())
	if !collecting {
		asking.finish(t)
		require.ElementsMatch(t, before, listed(t, w.client.Settle()[0]))
	}
	w.take(w.world)
	cutting := w.inForce(w.world, at)
	if collecting {
		asking.finish(t)
	} else {
		w.client.Send(negNext("x"))
	}
	w.negEnds(isGone(at) || w.apply != nil, cutting, before)
}

// TestANegotiationOfWhatIsClosedWhileItIsCollectedIsRefused: it would be of nothing, and
// a client that has the events would send them all.
func TestANegotiationOfWhatIsClosedWhileItIsCollectedIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range cuts() {
		for _, at := range c.points() {
			t.Run(fmt.Sprint(c.name, " x ", at), func(t *testing.T) {
				t.Parallel()
				inCut(t, c, negotiating, func(t *testing.T, w *cutWorld) {
					got, cutting := w.judged(at, negOpen("x", w.lost))
					switch {
					case !isGone(at):
						require.ElementsMatch(t, []string{w.event(1).ID, w.event(2).ID}, listed(t, got[0]))
					case w.veil:
						require.Empty(t, listed(t, got[0]))
					default:
						requireNegErr(t, got, "x")
					}
					cutting.finish(t)
					w.client.Send(`["NEG-CLOSE","x"]`)
					w.quiet(0)
					require.Zero(t, w.Handlers.Held())
				})
			})
		}
	}
}

// negEnds expects an answer from before the cut, or the end when that is in force, and
// nothing more of it afterwards.
func (w *cutWorld) negEnds(gone bool, cutting *task, before []string) {
	t := w.t
	got := w.client.Settle()
	if gone {
		requireNegErr(t, got, "x")
	} else {
		require.ElementsMatch(t, before, listed(t, got[0]))
	}
	cutting.finish(t)
	w.client.Send(negNext("x"))
	requireNegErr(t, w.client.Settle(), "x")
	w.quiet(0)
}

// TestWhatOthersLoseEndsNoNegotiation: the answers rest on nothing that was taken away.
func TestWhatOthersLoseEndsNoNegotiation(t *testing.T) {
	t.Parallel()
	joined(t, negotiating, func(t *testing.T, w *world) {
		w.Commit(t, post(1, pizza), note(2, 1))
		w.Step(t)
		w.client.Send(negOpen("x", `{"kinds":[1,9]}`))
		require.Len(t, listed(t, w.client.Settle()[0]), 2)
		w.expel(pizza, otherKey)
		w.ban(otherKey)
		w.Step(t)
		w.client.Send(negNext("x"))
		require.Len(t, listed(t, w.client.Settle()[0]), 2)
	})
}

// TestHiddenEventsAreInNoNegotiation: who may not see them does not learn their ids.
func TestHiddenEventsAreInNoNegotiation(t *testing.T) {
	t.Parallel()
	inWorld(t, negotiating, func(t *testing.T, w *world) {
		w.found(pizza, otherKey)
		w.Commit(t, post(1, pizza), note(2, 1), note(3, 1059))
		w.Step(t)
		w.client.Send(negOpen("x", `{}`))
		ids := listed(t, w.client.Settle()[0])
		require.Contains(t, ids, note(2, 1).ID)
		require.NotContains(t, ids, post(1, pizza).ID)
		require.NotContains(t, ids, note(3, 1059).ID)
	})
}

// TestAQueuedAnswerOfANegotiationIsNotTakenAfterARevocation: nobody takes what is queued
// until the permission is gone.
func TestAQueuedAnswerOfANegotiationIsNotTakenAfterARevocation(t *testing.T) {
	t.Parallel()
	for _, c := range cuts() {
		for _, at := range c.points() {
			t.Run(fmt.Sprint(c.name, " x ", at), func(t *testing.T) {
				t.Parallel()
				inCut(t, c, negotiating, func(t *testing.T, w *cutWorld) {
					w.Commit(t, w.event(1), note(3, 7))
					w.Step(t)
					w.send("", negOpen("x", `{"kinds":[1,7,9]}`)).finish(t) // and nobody takes the answer
					w.take(w.world)
					cutting := w.inForce(w.world, at)
					got := w.client.Settle()
					if isGone(at) || w.apply != nil {
						requireNegErr(t, got, "x")
					} else {
						require.Len(t, listed(t, got[0]), 2)
					}
					cutting.finish(t)
					w.client.Send(negNext("x"))
					requireNegErr(t, w.client.Settle(), "x")
					w.quiet(0)
				})
			})
		}
	}
}
