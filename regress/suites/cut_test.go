//go:build !nopause

package suites_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
)

// The third ordering: a revocation over real permissions against a REQ of the same
// id, CLOSE, and what is fanned out. It stands before (the row is read and not in
// force), between (the permission is gone, nobody is chosen; handles are chosen; one
// is evicted) and after: G3 and G4. The trace of every client is judged by the
// permissions of the moment at which a frame is taken.

// newerPoints are the places of the REQ that comes meanwhile; "" is the whole of it.
var newerPoints = slices.Concat([]pause.Point{pause.ReqJudged}, reqPoints, []pause.Point{pause.ReqDecided, ""})

// order is who goes on first when both are parked, and whether the writer takes at
// every stop or only in the end.
type order struct{ rivalFirst, taking bool }

func (o order) String() string {
	first, takes := "revocation first", "taken in the end"
	if o.rivalFirst {
		first = "rival first"
	}
	if o.taking {
		takes = "taken at every stop"
	}
	return first + ", " + takes
}

var (
	orders  = []order{{false, false}, {false, true}, {true, false}, {true, true}}
	takings = []order{{false, true}, {true, true}}
)

// meet subscribes the readers, with one event stored and one queued, and lets the
// revocation come to at and then the rival to its point.
func (w *cutWorld) meet(at, rival pause.Point, o order, msg string) {
	w.t.Helper()
	w.Commit(w.t, public(100), w.event(2))
	w.Step(w.t)
	w.client.Send(reqOf("x", w.lost))
	if !w.all {
		w.other.Send(reqOf("x", w.lost))
	}
	w.rest()
	w.Commit(w.t, w.event(3))
	w.Step(w.t)
	w.take(w.world)
	w.Commit(w.t, w.event(4), public(101))

	cutting := w.inForce(w.world, at)
	require.Equal(w.t, at != "", cutting.parked())
	w.taking(o.taking)
	meanwhile := w.send(rival, msg)
	w.taking(o.taking)
	if o.rivalFirst {
		meanwhile.release()
	}
	cutting.finish(w.t)
	w.Step(w.t) // a reload leaves the log to the follower
	w.taking(o.taking)
	meanwhile.finish(w.t)
	w.rest()
}

// meeting runs test for every cut that with accepts, place of it, rival point and
// order.
func meeting(t *testing.T, rivals []pause.Point, orders []order, with func(c cut) bool, test func(t *testing.T, w *cutWorld, at, rival pause.Point, o order)) {
	for _, c := range cuts() {
		if c.brief || !with(c) {
			continue
		}
		for _, at := range c.points() {
			for _, rival := range rivals {
				for _, first := range orders {
					t.Run(fmt.Sprint(c.name, " x ", at, " x ", rival, " x ", first), func(t *testing.T) {
						t.Parallel()
						inCut(t, c, harness.Options{}, func(t *testing.T, w *cutWorld) { test(t, w, at, rival, first) })
					})
				}
			}
		}
	}
}

// isCut reports whether a revocation that stands at p has ended the older generation.
func isCut(p pause.Point) bool { return p == pause.Evicted || p == "" }

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// TestARevocationSparesTheNewerGeneration: the REQ asks for what the reader may
// still see. It gets all of its own, stays in the index, and the CLOSED of the older
// generation never reaches it.
func TestARevocationSparesTheNewerGeneration(t *testing.T) {
	t.Parallel()
	may := func(c cut) bool { return c.still != "" }
	meeting(t, newerPoints, orders, may, func(t *testing.T, w *cutWorld, at, rival pause.Point, o order) {
		w.meet(at, rival, o, reqOf("x", w.still))
		older := o.taking && (isCut(at) || rival == pause.ReqJudged && !o.rivalFirst)
		require.Equal(t, one(older), w.closed("x"), w.got)

		w.Commit(t, w.event(5), public(102))
		w.Step(t)
		require.Equal(t, []string{frame("x", public(102))}, w.client.Settle())
		w.otherKeeps(w.kept()...)
		w.quiet(1)
	})
}

// TestARevocationEndsTheNewerGenerationThatDependsOnIt: the REQ asks for the same
// again. It is refused, or ended, once; nothing of it is left.
func TestARevocationEndsTheNewerGenerationThatDependsOnIt(t *testing.T) {
	t.Parallel()
	may := func(c cut) bool { return !c.veil }
	meeting(t, newerPoints, takings, may, func(t *testing.T, w *cutWorld, at, rival pause.Point, o order) {
		w.meet(at, rival, o, reqOf("x", w.lost))
		judged := at == pause.FanoutBegun && rival == pause.ReqJudged // before the permission was gone
		older := o.taking && (isCut(at) || judged && !o.rivalFirst)
		require.Equal(t, 1+one(older), w.closed("x"), w.got)

		w.Commit(t, w.event(5), public(102))
		w.Step(t)
		require.Empty(t, w.client.Settle())
		w.otherKeeps(w.kept()...)
		w.quiet(0)
	})
}

// TestARevocationAgainstCLOSELeavesNothing: CLOSED comes once, or not at all when
// CLOSE was read first.
func TestARevocationAgainstCLOSELeavesNothing(t *testing.T) {
	t.Parallel()
	every := func(cut) bool { return true }
	meeting(t, closePoints, orders, every, func(t *testing.T, w *cutWorld, at, rival pause.Point, o order) {
		w.meet(at, rival, o, closing("x"))
		came := o.taking && (isCut(at) || rival == pause.CloseRead && !o.rivalFirst)
		require.Equal(t, one(came), w.closed("x"), w.got)

		w.Commit(t, w.event(5), public(102))
		w.Step(t)
		require.Empty(t, w.client.Settle())
		w.otherKeeps(w.kept()...)
		w.quiet(0)
	})
}

// tally counts what is ended, by the prefix of the reason.
type tally map[string]int

// SubscriptionEnded implements access.Metrics.
func (c tally) SubscriptionEnded(reason string) { c[reason]++ }

// TestACutIsCountedOnce: a generation that CLOSE or a newer REQ has ended first is
// none of the revocation's.
func TestACutIsCountedOnce(t *testing.T) {
	t.Parallel()
	for _, at := range controlPoints {
		for _, msg := range []string{"", closing("x"), req("x", 1)} {
			t.Run(fmt.Sprint(at, " x ", msg), func(t *testing.T) {
				t.Parallel()
				ended := tally{}
				joined(t, harness.Options{Cuts: ended}, func(t *testing.T, w *world) {
					clear(ended)
					w.open(reqGroup("x", pizza))
					w.expel(pizza, secretKey)
					cutting := w.applying(at)
					if msg != "" {
						w.client.Send(msg)
					}
					cutting.finish(t)
					require.Equal(t, one(msg == "" || isCut(at)), ended["restricted"])
					w.client.Settle()
					w.quiet(one(msg == req("x", 1)))
				})
			})
		}
	}
}
