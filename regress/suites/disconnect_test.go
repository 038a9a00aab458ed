//go:build !nopause

package suites_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/wire"
)

// Disconnect and drain at every point: G10.

// requireGone expects that nothing of the client is left.
func requireGone(t *testing.T, w *world) {
	t.Helper()
	synctest.Wait()
	require.Zero(t, w.Index.Len(), "handles in the index")
	require.Equal(t, lifecycle.Usage{}, w.client.Conn.Usage())
	require.Empty(t, w.client.Conn.Group().Running())
	frames, done := w.client.Conn.Take(nil, 1<<20)
	require.Empty(t, frames)
	require.True(t, done)
}

// scenes bring somebody to a point at which the client then disconnects.
func scenes() map[pause.Point]func(w *world) *task {
	out := make(map[pause.Point]func(w *world) *task)
	for _, at := range reqPoints {
		out[at] = func(w *world) *task { return w.send(at, req("z", 1)) }
	}
	for _, at := range []pause.Point{pause.ReqRestarted, pause.ReqCaughtUp} {
		out[at] = func(w *world) *task {
			replay := w.send(pause.ReqReplayed, req("z", 1))
			for n := range 100 { // more than the hold
				w.Commit(w.t, note(100+n, 1))
			}
			w.Step(w.t)
			w.client.Take()
			next := w.control.Arm(at)
			replay.stop.Release()
			synctest.Wait()
			replay.stop = next
			return replay
		}
	}
	for _, at := range fanoutPoints {
		out[at] = func(w *world) *task {
			w.Commit(w.t, note(50, 1), note(51, 1))
			return w.fanout(at)
		}
	}
	for _, at := range []pause.Point{pause.CloseRead, pause.CloseReleased} {
		out[at] = func(w *world) *task { return w.send(at, closing("x")) }
	}
	for _, at := range []pause.Point{pause.EvictSelected, pause.Evicted} {
		out[at] = func(w *world) *task {
			h := w.handle("x", note(0, 1))
			return w.startTo(at, func() { w.Evict(h, revoked) })
		}
	}
	for _, at := range []pause.Point{pause.EventVerified, pause.EventCommitted} {
		out[at] = func(w *world) *task {
			msg, _ := publish(w.t, 1)
			return w.send(at, msg)
		}
	}
	return out
}

// TestDisconnectLeavesNothing disconnects, at once or with a stop between Close
// and the index, while somebody stands at each point.
func TestDisconnectLeavesNothing(t *testing.T) {
	t.Parallel()
	for at, scene := range scenes() {
		for _, rival := range []pause.Point{"", pause.ConnClosed} {
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
					w.Commit(t, notes(3, 1)...)
					w.Step(t)
					w.open(req("x", 1))
					w.open(req("y", 1))
					actor := scene(w)
					require.True(t, actor.parked())
					leaving := w.startTo(rival, func() { w.client.Disconnect(t) })
					require.Equal(t, rival != "", leaving.parked())
					actor.finish(t)
					leaving.finish(t)
					requireGone(t, w)
				})
			})
		}
	}
}

// TestDisconnectDropsWhatIsQueued: with frames, answers and a blocked replay.
func TestDisconnectDropsWhatIsQueued(t *testing.T) {
	t.Parallel()
	inWorld(t, narrow(16), func(t *testing.T, w *world) {
		w.Commit(t, notes(100, 1)...)
		w.Step(t)
		w.client.Send(req("x", 1))
		msg, _ := publish(t, 1)
		w.client.Send(msg)
		w.client.Send(`["COUNT","c",{}]`)
		synctest.Wait()
		require.NotZero(t, w.client.Conn.Usage().Frames)
		w.client.Disconnect(t)
		requireGone(t, w)
	})
}

// TestAcknowledgedEventsAreAnsweredWhileTheConnectionCloses: Close stops what is
// new, and the answers that are owed are flushed (E1 said that they are stored).
func TestAcknowledgedEventsAreAnsweredWhileTheConnectionCloses(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.open(req("x", 1))
		msg, ev := publish(t, 1)
		commit := w.send(pause.EventCommitted, msg)
		w.client.Conn.Close(lifecycle.Cause{Code: 1001})
		w.Step(t)
		frames, done := w.client.Conn.Take(nil, 1<<20)
		require.Empty(t, frames)
		require.False(t, done, "one answer is owed")
		commit.finish(t)
		require.Equal(t, []string{string(wire.AppendOK(nil, ev.ID, true, wire.Reason{}))}, w.client.Take())
		_, done = w.client.Conn.Take(nil, 1<<20)
		require.True(t, done)
		w.client.Disconnect(t)
		requireGone(t, w)
	})
}

// TestNothingBeginsOnceTheConnectionCloses sends every verb after Close.
func TestNothingBeginsOnceTheConnectionCloses(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.client.Conn.Close(lifecycle.Cause{Code: 1001})
		msg, _ := publish(t, 1)
		for _, m := range []string{req("x", 1), `["REQ","x",null]`, `["COUNT","c",{}]`, msg, closing("x"), `{`} {
			w.client.Send(m)
		}
		w.client.Disconnect(t)
		requireGone(t, w)
		require.Empty(t, logIDs(t, w))
	})
}

// TestDrainEndsEverySubscriptionWithClosed is what a relay does before it stops,
// with a query at each of its points.
func TestDrainEndsEverySubscriptionWithClosed(t *testing.T) {
	t.Parallel()
	for _, at := range reqPoints {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
				w.Commit(t, notes(3, 1)...)
				w.Step(t)
				w.open(req("y", 1))
				query := w.send(at, req("z", 1))
				require.True(t, query.parked())
				for _, h := range w.client.Conn.EvictAll(wire.Because(wire.Failed, "the relay stops")) {
					w.Index.Remove(h)
				}
				w.Commit(t, note(9, 1))
				w.Step(t)
				query.finish(t)
				require.Equal(t, []string{"CLOSED", "CLOSED"}, verbs(t, w.client.Settle()))
				w.settled(0)
			})
		})
	}
}

// TestManyConnectionsSettleToZero opens, replaces and leaves in crowds.
func TestManyConnectionsSettleToZero(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.Commit(t, notes(20, 1)...)
		w.Step(t)
		var crowd []*harness.Client
		for range 50 {
			c := w.Connect(t)
			crowd = append(crowd, c)
			for _, id := range []string{"a", "b", "a", "c"} {
				c.Send(req(id, 1))
			}
		}
		w.Commit(t, note(30, 1))
		w.Step(t)
		synctest.Wait()
		require.Equal(t, 150, w.Index.Len())
		slices.Reverse(crowd)
		for _, c := range crowd {
			c.Disconnect(t)
			require.Equal(t, lifecycle.Usage{}, c.Conn.Usage())
			require.Empty(t, c.Conn.Group().Running())
		}
		w.client.Disconnect(t)
		requireGone(t, w)
	})
}
