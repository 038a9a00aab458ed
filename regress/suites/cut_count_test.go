//go:build !nopause

package suites_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/wire"
)

// COUNT and AUTH against the permissions that change meanwhile: G4.

// TestACOUNTDuringARevocationCountsWhatIsLeft: its snapshot is open when the
// permission goes. It waits for that, and then reveals nothing that REQ would hide.
func TestACOUNTDuringARevocationCountsWhatIsLeft(t *testing.T) {
	t.Parallel()
	for _, c := range cuts() {
		for _, at := range c.points() {
			for _, closed := range []bool{false, true} {
				t.Run(fmt.Sprint(c.name, " x ", at, " x closed ", closed), func(t *testing.T) {
					t.Parallel()
					inCut(t, c, harness.Options{}, func(t *testing.T, w *cutWorld) { w.countDuring(at, closed) })
				})
			}
		}
	}
}

func (w *cutWorld) countDuring(at pause.Point, closed bool) {
	t := w.t
	w.Commit(t, w.event(1), w.event(2), note(3, 7))
	w.Step(t)
	msg := `["COUNT","c",{"kinds":[1,7,9]}]`
	if closed {
		msg = `["COUNT","c",` + w.lost + `]`
	}
	counting := w.send(pause.ReqSnapshot, msg)
	require.True(t, counting.parked())
	w.take(w.world)
	cutting := w.inForce(w.world, at)
	counting.finish(t)
	if cutting.parked() && w.apply == nil {
		require.Empty(t, w.client.Take(), "the snapshot may hold what comes after the revocation")
	}
	cutting.finish(t)
	got := w.client.Settle()
	nothing := w.still == "" // is left to a reader from whom this is taken
	switch {
	case closed && w.veil:
		require.Equal(t, []string{`["COUNT","c",{"count":0}]`}, got)
	case closed || nothing:
		requireClosed(t, got, "c", wire.Restricted)
	default:
		require.Equal(t, []string{`["COUNT","c",{"count":1}]`}, got)
	}
	w.quiet(0)
}

// TestACOUNTOfWhatIsClosedWhileItIsCountedIsRefused: its filter is judged when the
// permission goes, and none of its events is. All of them are hidden then; that there are
// none would be true neither before nor after.
func TestACOUNTOfWhatIsClosedWhileItIsCountedIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range cuts() {
		for _, at := range c.points() {
			t.Run(fmt.Sprint(c.name, " x ", at), func(t *testing.T) {
				t.Parallel()
				inCut(t, c, harness.Options{}, func(t *testing.T, w *cutWorld) {
					got, cutting := w.judged(at, `["COUNT","c",`+w.lost+`]`)
					switch {
					case !isGone(at):
						require.Equal(t, []string{`["COUNT","c",{"count":2}]`}, got)
					case w.veil:
						require.Equal(t, []string{`["COUNT","c",{"count":0}]`}, got)
					default:
						requireClosed(t, got, "c", wire.Restricted)
					}
					cutting.finish(t)
					w.quiet(0)
				})
			})
		}
	}
}

// judged sends msg, which asks for two events, and has the cut come to at when its
// filter is judged and no event is. It returns what the client is told.
func (w *cutWorld) judged(at pause.Point, msg string) (got []string, cutting *task) {
	w.t.Helper()
	w.Commit(w.t, w.event(1), w.event(2), note(3, 7))
	w.Step(w.t)
	asking := w.send(pause.QueryJudged, msg)
	require.True(w.t, asking.parked())
	w.take(w.world)
	cutting = w.inForce(w.world, at)
	asking.finish(w.t)
	return w.client.Settle(), cutting
}

// TestAuthBetweenItsKeyAndItsAnswerShowsNothingTwice parks AUTH where the connection
// has the key and the client does not know it, and the fan-out at each of its
// points. What is fanned out then may be seen; what comes after the answer must be.
func TestAuthBetweenItsKeyAndItsAnswerShowsNothingTwice(t *testing.T) {
	t.Parallel()
	for _, fanned := range fanoutPoints[:3] { // nobody gets to the last one without the key
		for _, authFirst := range []bool{false, true} {
			t.Run(fmt.Sprint(fanned, " x AUTH first ", authFirst), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
					w.found(pizza, secretKey)
					w.open(req("broad", 9))
					w.Commit(t, post(1, pizza), post(2, pizza))
					fanout := w.fanout(fanned)
					auth := w.send(pause.AuthAdded, authMessage(t, w))
					require.True(t, fanout.parked() && auth.parked())
					if authFirst {
						auth.finish(t)
					}
					fanout.finish(t)
					auth.finish(t)
					w.Commit(t, post(3, pizza))
					w.Step(t)
					got := slices.DeleteFunc(w.client.Settle(), func(f string) bool { return f[:5] == `["OK"` })
					require.Equal(t, []string{
						frame("broad", post(1, pizza)), frame("broad", post(2, pizza)), frame("broad", post(3, pizza)),
					}, got)
					w.quiet(1)
				})
			})
		}
	}
}
