//go:build !nopause

package suites_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/wire"
)

// Eviction against same-id replacement, CLOSE, fan-out and itself: G3.

var revoked = wire.Because(wire.Restricted, "no longer a member")

// TestEvictionSparesTheNewerGeneration parks the evictor before and between, and
// lets a REQ with the same id come to each of its points meanwhile.
func TestEvictionSparesTheNewerGeneration(t *testing.T) {
	t.Parallel()
	for _, at := range []pause.Point{pause.EvictSelected, pause.Evicted} {
		for _, rival := range append(reqPoints, "") {
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) { evictDuringReplacement(t, w, at, rival) })
			})
		}
	}
}

func evictDuringReplacement(t *testing.T, w *world, at, rival pause.Point) {
	stored, live := note(1, 2), note(2, 2)
	w.Commit(t, stored)
	w.Step(t)
	w.open(req("x", 1))
	older := w.handle("x", note(1, 1))

	var evicted bool
	evictor := w.startTo(at, func() { evicted = w.Evict(older, revoked) })
	require.True(t, evictor.parked())
	newer := w.send(rival, req("x", 2))
	require.Equal(t, rival != "", newer.parked())
	evictor.finish(t)
	require.Equal(t, at == pause.Evicted, evicted)
	newer.finish(t)

	w.Commit(t, live)
	w.Step(t)
	want := []string{frame("x", stored), eose("x"), frame("x", live)}
	require.Equal(t, want, w.client.Settle(), "the newer one gets all of its own and nothing else")
	require.Same(t, w.client.Conn, w.handle("x", live).Conn(), "and stays in the index")
	w.settled(1)
}

// TestEvictionAfterTheReplacementDoesNothing is the pause after the cut-over:
// the newer generation stands at each of its points, the evictor comes whole.
func TestEvictionAfterTheReplacementDoesNothing(t *testing.T) {
	t.Parallel()
	for _, rival := range append(reqPoints, "") {
		t.Run(string(rival), func(t *testing.T) {
			t.Parallel()
			inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
				w.Commit(t, note(1, 2))
				w.Step(t)
				w.open(req("x", 1))
				older := w.handle("x", note(1, 1))
				newer := w.send(rival, req("x", 2))
				require.False(t, w.Evict(older, revoked))
				newer.finish(t)
				require.Equal(t, []string{frame("x", note(1, 2)), eose("x")}, w.client.Settle())
				w.settled(1)
			})
		})
	}
}

// TestEvictionEndsAGenerationAtEveryPoint: the one that was selected is ended
// wherever its query stands, with CLOSED as its last frame.
func TestEvictionEndsAGenerationAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, at := range reqPoints[2:] { // from where the index has it
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
				w.Commit(t, notes(3, 1)...)
				w.Step(t)
				replay := w.send(at, req("x", 1))
				require.True(t, replay.parked())
				require.True(t, w.Evict(w.handle("x", note(0, 1)), revoked))
				replay.finish(t)
				w.Commit(t, note(9, 1))
				w.Step(t)
				requireClosed(t, w.client.Settle(), "x", wire.Restricted)
				w.settled(0)
			})
		})
	}
}

func TestEvictionDuringFanoutEndsWithClosed(t *testing.T) {
	t.Parallel()
	for _, at := range fanoutPoints {
		for _, rival := range []pause.Point{pause.EvictSelected, pause.Evicted, ""} {
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
					w.open(req("x", 1))
					h := w.handle("x", note(1, 1))
					w.Commit(t, note(1, 1), note(2, 1))
					fanout := w.fanout(at)
					evictor := w.startTo(rival, func() { w.Evict(h, revoked) })
					fanout.finish(t)
					evictor.finish(t)
					requireClosed(t, w.client.Settle(), "x", wire.Restricted)
					w.settled(0)
				})
			})
		}
	}
}

func TestTwoEvictorsEndAGenerationOnce(t *testing.T) {
	t.Parallel()
	for _, at := range []pause.Point{pause.EvictSelected, pause.Evicted} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
				w.open(req("x", 1))
				w.open(req("y", 1))
				h := w.handle("x", note(1, 1))
				before := w.client.Conn.Usage()
				var first bool
				evictor := w.startTo(at, func() { first = w.Evict(h, revoked) })
				require.True(t, evictor.parked())
				second := w.Evict(h, wire.Because(wire.Blocked, "banned"))
				evictor.finish(t)
				require.NotEqual(t, first, second, "exactly one of them ends it")

				require.Equal(t, []string{"CLOSED"}, verbs(t, w.client.Settle()))
				after := w.client.Conn.Usage()
				require.Equal(t, before.Subscriptions-1, after.Subscriptions)
				require.Equal(t, before.Reserved/2, after.Reserved, "what y has reserved stays")
				w.settled(1)
			})
		})
	}
}

// TestClosedOfTheOlderIsMutedByANewerREQ: the client would take it for the
// newer one's.
func TestClosedOfTheOlderIsMutedByANewerREQ(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.open(req("x", 1))
		require.True(t, w.Evict(w.handle("x", note(1, 1)), revoked))
		require.Equal(t, 1, w.client.Conn.Usage().Frames)
		w.client.Send(req("x", 2))
		require.Equal(t, []string{eose("x")}, w.client.Settle())
		w.settled(1)
	})
}

func TestClosedOfTheOlderIsMutedByClose(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.open(req("x", 1))
		require.True(t, w.Evict(w.handle("x", note(1, 1)), revoked))
		w.client.Send(closing("x"))
		require.Empty(t, w.client.Settle())
		w.settled(0)
	})
}

// TestEvictionOfAReplacedGenerationReleasesNothingTwice counts what a long
// alternation of REQ and late eviction leaves behind.
func TestEvictionOfAReplacedGenerationReleasesNothingTwice(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.open(req("x", 1))
		want := w.client.Conn.Usage()
		for range 100 {
			older := w.handle("x", note(1, 1))
			w.open(req("x", 1))
			require.False(t, w.Evict(older, revoked))
			require.Equal(t, want, w.client.Conn.Usage())
		}
		w.settled(1)
		newest := w.handle("x", note(1, 1))
		require.True(t, w.Evict(newest, revoked))
		require.False(t, w.Evict(newest, revoked))
		requireClosed(t, w.client.Settle(), "x", wire.Restricted)
		w.settled(0)
	})
}

func TestCloseDuringEvictionLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, at := range []pause.Point{pause.EvictSelected, pause.Evicted} {
		for _, rival := range closePoints {
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
					w.open(req("x", 1))
					h := w.handle("x", note(1, 1))
					evictor := w.startTo(at, func() { w.Evict(h, revoked) })
					closer := w.send(rival, closing("x"))
					evictor.finish(t)
					closer.finish(t)
					require.Empty(t, w.client.Settle(), "CLOSE was read before CLOSED was taken")
					w.settled(0)
				})
			})
		}
	}
}
