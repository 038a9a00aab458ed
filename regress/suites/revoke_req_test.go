//go:build !nopause

package suites_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/wire"
)

// REQ and what it replays against a revocation: G4.

// TestAREQThatWasJudgedBeforeARevocationIsEnded parks the REQ at each of its
// points and the revocation at each of its own. It ends with CLOSED once, and
// nothing of the group comes after the permission is gone.
func TestAREQThatWasJudgedBeforeARevocationIsEnded(t *testing.T) {
	t.Parallel()
	for _, at := range append([]pause.Point{pause.ReqJudged}, append(reqPoints, pause.ReqDecided)...) {
		for _, rival := range controlPoints {
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				joined(t, harness.Options{}, func(t *testing.T, w *world) {
					w.Commit(t, post(1, pizza))
					w.Step(t)
					query := w.send(at, reqGroup("x", pizza))
					require.True(t, query.parked())
					w.expel(pizza, secretKey)
					revocation := w.applying(rival)
					query.release()
					got := w.client.Settle()
					if isGone(rival) {
						require.NotContains(t, got, frame("x", post(1, pizza)))
					}
					revocation.finish(t)
					query.finish(t)
					got = append(got, w.client.Settle()...)
					require.NotEmpty(t, got)
					requireClosed(t, got[len(got)-1:], "x", wire.Restricted)
					for _, f := range got[:len(got)-1] { // from before it was in force
						require.Contains(t, []string{frame("x", post(1, pizza)), eose("x")}, f)
					}
					w.Commit(t, post(2, pizza))
					w.Step(t)
					require.Empty(t, w.client.Settle())
					w.quiet(0)
				})
			})
		}
	}
}

// TestAREQAfterARevocationIsRefused is the pause after: the permission is gone
// before the REQ is judged, wherever the revocation stands.
func TestAREQAfterARevocationIsRefused(t *testing.T) {
	t.Parallel()
	for _, at := range controlPoints[1:] {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			joined(t, harness.Options{}, func(t *testing.T, w *world) {
				w.open(reqGroup("older", pizza)) // so that there is somebody to evict
				w.expel(pizza, secretKey)
				revocation := w.applying(at)
				w.client.Send(reqGroup("x", pizza))
				revocation.finish(t)
				require.Equal(t, []string{"CLOSED", "CLOSED"}, verbs(t, w.client.Settle()))
				w.quiet(0)
			})
		})
	}
}

// TestAREQThatARevocationDoesNotConcernGoesOn: of the same reader, judged again or
// not.
func TestAREQThatARevocationDoesNotConcernGoesOn(t *testing.T) {
	t.Parallel()
	for _, at := range append([]pause.Point{pause.ReqJudged}, append(reqPoints, pause.ReqDecided)...) {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			joined(t, harness.Options{}, func(t *testing.T, w *world) {
				w.Commit(t, post(1, pasta))
				w.Step(t)
				query := w.send(at, reqGroup("x", pasta))
				require.True(t, query.parked())
				w.expel(pizza, secretKey)
				w.Step(t)
				query.finish(t)
				require.Equal(t, []string{frame("x", post(1, pasta)), eose("x")}, w.client.Settle())
				w.quiet(1)
			})
		})
	}
}

// TestAStoredEventThatWasAllowedBeforeARevocationIsNotTaken: a broad subscription
// stays, and the event that was about to be queued for it is passed over.
func TestAStoredEventThatWasAllowedBeforeARevocationIsNotTaken(t *testing.T) {
	t.Parallel()
	for _, at := range []pause.Point{pause.ReqStarted, pause.ReqSnapshot, pause.ReqPage, pause.ReqDecided, pause.ReqReplayed} {
		for _, rival := range controlPoints {
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				joined(t, harness.Options{}, func(t *testing.T, w *world) {
					w.Commit(t, post(1, pasta), post(2, pizza))
					w.Step(t)
					query := w.send(at, req("broad", 9))
					require.True(t, query.parked())
					w.expel(pizza, secretKey)
					w.applying(rival).finish(t)
					query.finish(t)
					require.Equal(t, []string{frame("broad", post(1, pasta)), eose("broad")}, w.client.Settle())
					w.quiet(1)
				})
			})
		}
	}
}

// TestAQueryShowsNothingFromAfterARevocation: the snapshot holds what was posted
// after the reader was expelled, and this relay has not applied that yet.
func TestAQueryShowsNothingFromAfterARevocation(t *testing.T) {
	t.Parallel()
	for _, msg := range []string{reqGroup("x", pizza), req("broad", 9)} {
		t.Run(msg, func(t *testing.T) {
			t.Parallel()
			joined(t, harness.Options{}, func(t *testing.T, w *world) {
				w.Commit(t, post(1, pizza))
				w.Step(t)
				w.expel(pizza, secretKey)
				w.Commit(t, post(2, pizza), post(3, pasta))
				w.client.Send(msg)
				w.client.Send(`["COUNT","c",{"kinds":[9]}]`)
				require.Empty(t, w.client.Settle(), "until the permissions are those of the snapshot")
				w.Step(t)
				got := w.client.Settle()
				require.Contains(t, got, `["COUNT","c",{"count":1}]`)
				require.NotContains(t, got, frame("x", post(2, pizza)))
				require.NotContains(t, got, frame("broad", post(2, pizza)))
				w.quiet(w.Index.Len())
			})
		})
	}
}

// TestTheLogThatIsReadAgainIsReadUnderTheRulesOfItsEnd: the hold overflowed, and
// the log goes on behind a revocation that this relay has not applied yet.
func TestTheLogThatIsReadAgainIsReadUnderTheRulesOfItsEnd(t *testing.T) {
	t.Parallel()
	o := harness.Options{Limits: harness.DefaultLimits()}
	o.Limits.HoldFrames = 1
	joined(t, o, func(t *testing.T, w *world) {
		query := w.send(pause.ReqReplayed, req("broad", 9))
		require.True(t, query.parked())
		w.Commit(t, post(1, pizza), post(2, pizza))
		w.Step(t) // the hold overflows
		w.expel(pizza, secretKey)
		w.Commit(t, post(3, pizza), post(4, pasta))
		query.release()
		require.Equal(t, []string{eose("broad")}, w.client.Settle())
		w.Step(t)
		require.Equal(t, []string{frame("broad", post(4, pasta))}, w.client.Settle())
		w.quiet(1)
	})
}

// TestTheRulesOfAReloadHoldForWhatIsOpen: who has not authenticated is cut off when
// that becomes necessary.
func TestTheRulesOfAReloadHoldForWhatIsOpen(t *testing.T) {
	t.Parallel()
	for _, at := range append([]pause.Point{pause.ReqJudged}, append(reqPoints, "")...) {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
				w.Commit(t, note(1, 1))
				w.Step(t)
				query := w.send(at, req("x", 1))
				require.Equal(t, at != "", query.parked())
				if at == "" {
					w.client.Settle()
				}
				w.Rule(closedToStrangers)
				query.finish(t)
				requireClosed(t, w.client.Settle(), "x", wire.AuthRequired)
				w.quiet(0)
			})
		})
	}
}
