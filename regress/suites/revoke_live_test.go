//go:build !nopause

package suites_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/access"
	"fencepost/relay/wire"
)

// A decision to show a live event against the revocation that comes after it: G4.

// closedToStrangers are rules under which nobody reads without a key.
var closedToStrangers = access.Rules{Require: access.RequireAll}

// TestALiveEventThatWasAllowedBeforeARevocationIsNotTaken parks the fan-out at each
// of its points and the reload of the rules at each of its own.
func TestALiveEventThatWasAllowedBeforeARevocationIsNotTaken(t *testing.T) {
	t.Parallel()
	for _, at := range fanoutPoints {
		for _, rival := range controlPoints[1:] {
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
					w.open(req("x", 1))
					w.Commit(t, note(1, 1))
					fanout := w.fanout(at)
					require.True(t, fanout.parked())
					reload := w.startTo(rival, func() { w.Rule(closedToStrangers) })
					fanout.finish(t)
					if rival == pause.ControlChanged || rival == pause.EvictSelected {
						require.Empty(t, w.client.Settle(), "the subscription stands, its frame is not taken")
					}
					reload.finish(t)
					requireClosed(t, w.client.Settle(), "x", wire.AuthRequired)
					w.quiet(0)
				})
			})
		}
	}
}

// TestAQueuedFrameIsNotTakenAfterARevocation is the pause after: the frame is in
// the queue when the permission goes.
func TestAQueuedFrameIsNotTakenAfterARevocation(t *testing.T) {
	t.Parallel()
	for _, at := range controlPoints {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			joined(t, harness.Options{}, func(t *testing.T, w *world) {
				w.open(reqGroup("x", pizza))
				w.open(req("broad", 9))
				w.Commit(t, post(1, pizza), post(2, pasta))
				w.Step(t)
				w.expel(pizza, secretKey)
				revocation := w.applying(at)
				got := w.client.Settle()
				want := []string{frame("broad", post(2, pasta))} // what is still allowed
				if !isGone(at) {
					want = append(want, frame("x", post(1, pizza)), frame("broad", post(1, pizza)))
				}
				revocation.finish(t)
				got = append(got, w.client.Settle()...)
				closed := slices.IndexFunc(got, func(f string) bool { return strings.HasPrefix(f, `["CLOSED"`) })
				require.GreaterOrEqual(t, closed, 0)
				requireClosed(t, got[closed:closed+1], "x", wire.Restricted)
				require.ElementsMatch(t, want, slices.Delete(got, closed, closed+1))
				w.Commit(t, post(3, pizza), post(4, pasta))
				w.Step(t)
				require.Equal(t, []string{frame("broad", post(4, pasta))}, w.client.Settle())
				w.quiet(1)
			})
		})
	}
}

// TestARevocationCostsNoOtherReaderAFrame: they wait for the same decision, and
// keep their frames and their order.
func TestARevocationCostsNoOtherReaderAFrame(t *testing.T) {
	t.Parallel()
	joined(t, harness.Options{}, func(t *testing.T, w *world) {
		other := w.Connect(t)
		other.Auth(t, otherKey)
		other.Send(reqGroup("x", pizza))
		other.Settle()
		w.open(reqGroup("x", pizza))
		w.Commit(t, post(1, pizza), post(2, pizza))
		w.Step(t)
		w.expel(pizza, secretKey)
		w.Commit(t, post(3, pizza))
		w.Step(t)
		requireClosed(t, w.client.Settle(), "x", wire.Restricted)
		require.Equal(t, []string{frame("x", post(1, pizza)), frame("x", post(2, pizza)), frame("x", post(3, pizza))}, other.Settle())
		other.Check(t)
		other.Disconnect(t)
		w.quiet(0)
	})
}

// TestAHeldFrameIsNotTakenAfterARevocation: the frame waits for the end of the
// replay, at each point where frames are held.
func TestAHeldFrameIsNotTakenAfterARevocation(t *testing.T) {
	t.Parallel()
	for _, at := range []pause.Point{pause.ReqBegun, pause.ReqSnapshot, pause.ReqPage, pause.ReqReplayed} {
		for _, rival := range controlPoints {
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				joined(t, harness.Options{}, func(t *testing.T, w *world) {
					w.Commit(t, post(1, pasta))
					w.Step(t)
					replay := w.send(at, req("broad", 9))
					require.True(t, replay.parked())
					w.Commit(t, post(2, pizza), post(3, pasta))
					w.Step(t) // they are held
					w.expel(pizza, secretKey)
					revocation := w.applying(rival)
					revocation.finish(t)
					replay.finish(t)
					require.Equal(t, []string{
						frame("broad", post(1, pasta)), eose("broad"), frame("broad", post(3, pasta)),
					}, w.client.Settle())
					w.quiet(1)
				})
			})
		}
	}
}

// outside is a decision from elsewhere.
type outside struct {
	closed atomic.Bool
	asked  atomic.Int32
}

func (o *outside) MaySee(context.Context, []string, *wire.Event) (bool, error) {
	o.asked.Add(1)
	return !o.closed.Load(), nil
}

// TestADecisionAboutAQueuedFrameIsTakenAgain: a second revocation comes while the
// frame is decided about, before and after the question was put.
func TestADecisionAboutAQueuedFrameIsTakenAgain(t *testing.T) {
	t.Parallel()
	for _, at := range []pause.Point{pause.DecideChosen, pause.DecideDone, ""} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			elsewhere := &outside{}
			inWorld(t, harness.Options{Outside: elsewhere}, func(t *testing.T, w *world) {
				elsewhere.closed.Store(false)
				w.open(req("x", 1))
				w.Commit(t, note(1, 1))
				w.Step(t)
				stop := w.control.Arm(at)
				require.Empty(t, w.client.Take(), "nobody has decided yet")
				synctest.Wait()
				require.Equal(t, at != "", stop.Parked())
				elsewhere.closed.Store(true)
				w.Policy.Moved()
				stop.Release()
				synctest.Wait()
				require.Empty(t, w.client.Settle())
				elsewhere.closed.Store(false)
				w.Policy.Moved()
				w.Commit(t, note(2, 1))
				w.Step(t)
				require.Equal(t, []string{frame("x", note(2, 1))}, w.client.Settle())
				w.quiet(1)
			})
		})
	}
}

// TestAGenerationEndsWhileItsFrameIsDecidedAbout: CLOSE and a newer REQ come first.
func TestAGenerationEndsWhileItsFrameIsDecidedAbout(t *testing.T) {
	t.Parallel()
	for _, at := range []pause.Point{pause.DecideChosen, pause.DecideDone} {
		for msg, left := range map[string]int{closing("x"): 0, req("x", 2): 1} {
			t.Run(string(at)+" x "+msg, func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{Outside: &outside{}}, func(t *testing.T, w *world) {
					w.open(req("x", 1))
					w.Commit(t, note(1, 1))
					w.Step(t)
					stop := w.control.Arm(at)
					require.Empty(t, w.client.Take())
					synctest.Wait()
					require.True(t, stop.Parked())
					w.client.Send(msg)
					stop.Release()
					for _, f := range w.client.Settle() {
						require.Equal(t, eose("x"), f)
					}
					w.quiet(left)
				})
			})
		}
	}
}
