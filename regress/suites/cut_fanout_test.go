//go:build !nopause

package suites_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/wire"
)

// A revocation against fan-out, for the subscription that it ends and for one that
// it leaves: G3 and G4.

// TestARevocationCutsTheFanoutAtItsPosition parks the fan-out of an event from
// before the revocation at each of its points, and then the revocation at each of
// its own. What is taken by then was allowed; what is queued is not taken any more;
// what stands above the revocation never comes. Everything else does, in order.
func TestARevocationCutsTheFanoutAtItsPosition(t *testing.T) {
	t.Parallel()
	for _, c := range cuts() {
		for _, fanned := range fanoutPoints {
			for _, at := range c.points() {
				for _, taking := range []bool{false, true} {
					t.Run(fmt.Sprint(c.name, " x ", fanned, " x ", at, " x taken ", taking), func(t *testing.T) {
						t.Parallel()
						inCut(t, c, harness.Options{}, func(t *testing.T, w *cutWorld) { w.cutFanout(fanned, at, taking) })
					})
				}
			}
		}
	}
}

func (w *cutWorld) cutFanout(fanned, at pause.Point, taking bool) {
	t := w.t
	broad := one(len(w.broad) > 0)
	w.client.Send(reqOf("x", w.lost))
	if broad > 0 {
		w.client.Send(reqOf("broad", w.broad[0]))
	}
	if !w.all {
		w.other.Send(reqOf("x", w.lost))
	}
	w.client.Settle()
	w.Commit(t, w.event(1))
	fanout := w.fanout(fanned)
	require.True(t, fanout.parked())
	w.take(w.world)
	w.Commit(t, w.event(2), note(3, 1))
	w.taking(taking)
	fanout.finish(t)
	if w.apply != nil {
		w.Step(t) // a reload comes when the log is fanned out
	}
	cutting := w.inForce(w.world, at)
	w.taking(taking)
	cutting.finish(t)
	w.Step(t)
	w.rest()

	require.Equal(t, 1, w.closed("x"), w.got)
	first := taking && at == pause.FanoutBegun // taken before the permission was gone
	require.Equal(t, one(first), count(w.got, frame("x", w.event(1))))
	if w.apply == nil {
		require.Zero(t, count(w.got, frame("x", w.event(2))))
	}
	require.Equal(t, broad, count(w.got, frame("broad", note(3, 1))))
	require.Equal(t, broad*one(first), count(w.got, frame("broad", w.event(1))))
	w.Commit(t, w.event(4))
	w.Step(t)
	require.Empty(t, w.client.Settle())
	if w.event(1).Kind == 1 {
		w.otherKeeps(w.event(1), w.event(2), note(3, 1), w.event(4))
	} else {
		w.otherKeeps(w.event(1), w.event(2), w.event(4))
	}
	w.quiet(broad)
}

// TestWhatIsTakenBetweenTheRowsOfTheLogIsAllowed: the writer takes before each row is
// applied, so that whatever one row queues is taken unless the next forbids it.
func TestWhatIsTakenBetweenTheRowsOfTheLogIsAllowed(t *testing.T) {
	t.Parallel()
	for _, c := range cuts() {
		if c.apply != nil {
			continue
		}
		for _, step := range fanoutPoints[:2] {
			t.Run(c.name+" x "+string(step), func(t *testing.T) {
				t.Parallel()
				inCut(t, c, harness.Options{}, func(t *testing.T, w *cutWorld) { w.takeBetween(step) })
			})
		}
	}
}

func (w *cutWorld) takeBetween(step pause.Point) {
	t := w.t
	broad := one(len(w.broad) > 0)
	w.client.Send(reqOf("x", w.lost))
	if broad > 0 {
		w.client.Send(reqOf("broad", w.broad[0]))
	}
	w.client.Settle()
	w.Commit(t, w.event(1))
	w.take(w.world)
	w.Commit(t, w.event(2), note(3, 1))
	if w.back != nil {
		w.back(w.world)
		w.Commit(t, w.event(4))
	}
	var stops []*harness.Stop
	for range 6 {
		stops = append(stops, w.control.Arm(step))
	}
	following := start(func() { w.Step(t) })
	for _, stop := range stops {
		w.taking(stop.Parked())
		stop.Release()
		synctest.Wait()
	}
	following.finish(t)
	w.rest()
	require.Equal(t, 1, w.closed("x"))
	require.Equal(t, 1, count(w.got, frame("x", w.event(1))))
	require.Equal(t, broad, count(w.got, frame("broad", w.event(1))))
	require.Zero(t, count(w.got, frame("broad", w.event(2))))
	require.Equal(t, broad*one(w.back != nil), count(w.got, frame("broad", w.event(4))))
	w.quiet(broad)
}

// TestAFanoutAfterARevocationReachesNobodyWhoLostIt: it stands at each of its
// points, and the reader asks again or not at all.
func TestAFanoutAfterARevocationReachesNobodyWhoLostIt(t *testing.T) {
	t.Parallel()
	for _, c := range cuts() {
		for _, fanned := range fanoutPoints[:3] { // nobody gets to the last one
			for _, again := range []string{"", c.lost, c.still} {
				t.Run(fmt.Sprint(c.name, " x ", fanned, " x ", again), func(t *testing.T) {
					t.Parallel()
					inCut(t, c, harness.Options{}, func(t *testing.T, w *cutWorld) {
						w.open(reqOf("x", w.lost))
						w.take(w.world)
						w.inForce(w.world, "").finish(t)
						w.rest()
						require.Equal(t, 1, w.closed("x"))
						w.Commit(t, w.event(1))
						fanout := w.fanout(fanned)
						require.True(t, fanout.parked())
						if again != "" {
							w.client.Send(reqOf("x", again))
						}
						fanout.finish(t)
						w.rest()
						require.Zero(t, count(w.got, frame("x", w.event(1))))
						w.quiet(w.Index.Len())
					})
				})
			}
		}
	}
}

// TestBroadSubscriptionsStayAcrossARevocation: they see nothing of what was taken
// away, everything else, and what is given back from then on. Asked again they have
// all of it.
func TestBroadSubscriptionsStayAcrossARevocation(t *testing.T) {
	t.Parallel()
	for _, c := range cuts() {
		for _, filters := range c.broad {
			t.Run(c.name+" x "+filters, func(t *testing.T) {
				t.Parallel()
				inCut(t, c, harness.Options{}, func(t *testing.T, w *cutWorld) {
					if strings.Contains(filters, pasta) {
						w.found(pasta, secretKey, otherKey)
					}
					w.stayBroad(filters)
				})
			})
		}
	}
}

func (w *cutWorld) stayBroad(filters string) {
	t := w.t
	w.client.Send(reqOf("broad", filters))
	w.client.Settle()
	apart := public
	switch {
	case strings.Contains(filters, pasta):
		apart = func(n int) *wire.Event { return post(n, pasta) }
	case filters == `{"kinds":[9]}`:
		apart = func(n int) *wire.Event { return post(n, "open") }
	}
	sees := func(want ...string) {
		t.Helper()
		w.Step(t)
		require.Equal(t, want, slices.DeleteFunc(w.client.Settle(), func(f string) bool { return !strings.HasPrefix(f, `["EVENT"`) }))
	}
	w.Commit(t, w.event(1), apart(0))
	sees(frame("broad", w.event(1)), frame("broad", apart(0)))
	w.take(w.world)
	w.Commit(t, w.event(2), apart(10))
	sees(frame("broad", apart(10)))
	if w.back != nil {
		w.back(w.world)
		w.Commit(t, w.event(3))
		sees(frame("broad", w.event(3)))
		w.client.Send(reqOf("broad", filters))
		sees(
			frame("broad", apart(10)), frame("broad", w.event(3)), frame("broad", w.event(2)), frame("broad", w.event(1)),
			frame("broad", apart(0)),
		)
	}
	w.quiet(1)
}
