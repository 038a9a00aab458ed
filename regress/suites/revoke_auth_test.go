//go:build !nopause

package suites_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/wire"
)

// AUTH against REQ, fan-out and bans: G4 and G9.

// TestWhatIsAskedForAfterAuthIsAnswered: a REQ that was refused works under the
// same id behind AUTH, in one burst.
func TestWhatIsAskedForAfterAuthIsAnswered(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.found(pizza, secretKey)
		w.Commit(t, post(1, pizza))
		w.Step(t)
		w.client.Send(reqGroup("x", pizza))
		requireClosed(t, w.client.Settle(), "x", wire.AuthRequired)
		w.client.Send(authMessage(t, w))
		w.client.Send(reqGroup("x", pizza))
		got := w.client.Settle()
		require.Equal(t, []string{"OK", "EVENT", "EOSE"}, verbs(t, got))
		w.quiet(1)
	})
}

// TestAuthDuringAReplayShowsEachEventAtMostOnce: the keys that count are those that
// there are when it is decided; nothing is shown before, and nothing is missing that
// comes live after AUTH.
func TestAuthDuringAReplayShowsEachEventAtMostOnce(t *testing.T) {
	t.Parallel()
	for _, at := range append(reqPoints, pause.ReqDecided) {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
				w.found(pizza, secretKey)
				w.Commit(t, post(1, pizza), note(2, 9))
				w.Step(t)
				if at == pause.ReqReserved { // there the reader itself stands, which reads AUTH next
					at = ""
				}
				query := w.send(at, req("broad", 9))
				require.NotContains(t, w.client.Take(), frame("broad", post(1, pizza)))
				w.client.Send(authMessage(t, w))
				w.Commit(t, post(3, pizza))
				w.Step(t)
				query.finish(t)
				got := w.client.Settle()
				require.Contains(t, got, frame("broad", post(3, pizza)))
				w.quiet(1)
			})
		})
	}
}

// TestAuthDuringFanout: an event that is being fanned out while AUTH is read is
// seen or not, as the decision falls; the next one is seen.
func TestAuthDuringFanout(t *testing.T) {
	t.Parallel()
	for _, at := range fanoutPoints[:3] { // nobody gets to the last one without the key
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
				w.found(pizza, secretKey)
				w.open(req("broad", 9))
				w.Commit(t, post(1, pizza), post(2, pizza))
				fanout := w.fanout(at)
				require.True(t, fanout.parked())
				w.client.Send(authMessage(t, w))
				fanout.finish(t)
				got := w.client.Settle()
				require.Equal(t, []string{frame("broad", post(1, pizza)), frame("broad", post(2, pizza))}, got[1:])
				w.quiet(1)
			})
		})
	}
}

// TestWhatWasFannedOutBeforeAuthIsNotSeen: the decision is that of the moment.
func TestWhatWasFannedOutBeforeAuthIsNotSeen(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.found(pizza, secretKey)
		w.open(req("broad", 9))
		w.Commit(t, post(1, pizza))
		w.Step(t)
		w.client.Send(authMessage(t, w))
		w.Commit(t, post(2, pizza))
		w.Step(t)
		require.Equal(t, frame("broad", post(2, pizza)), w.client.Settle()[1])
		w.quiet(1)
	})
}

// banned is the end of a connection whose holder is banned.
func (w *world) banned() {
	w.t.Helper()
	require.Equal(w.t, 1008, w.client.Conn.Cause().Code)
	require.Equal(w.t, lifecycle.Usage{}.Subscriptions, w.client.Conn.Usage().Subscriptions)
	w.client.Disconnect(w.t)
	require.Zero(w.t, w.Index.Len())
}

// TestABanCatchesAKeyThatAuthenticatesAtTheSameTime parks AUTH and the ban at each
// of their points.
func TestABanCatchesAKeyThatAuthenticatesAtTheSameTime(t *testing.T) {
	t.Parallel()
	for _, at := range []pause.Point{pause.AuthAdded, ""} {
		for _, rival := range []pause.Point{pause.FanoutBegun, pause.ControlChanged, pause.EvictSelected, ""} {
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
					w.open(req("x", 1))
					auth := w.send(at, authMessage(t, w))
					w.ban(secretKey)
					w.applying(rival).finish(t)
					auth.finish(t)
					w.client.Settle()
					w.banned()
				})
			})
			t.Run(string(rival)+" x "+string(at), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
					w.open(req("x", 1))
					w.ban(secretKey)
					ban := w.applying(rival)
					auth := w.send(at, authMessage(t, w))
					ban.finish(t)
					auth.finish(t)
					w.client.Settle()
					w.banned()
				})
			})
		}
	}
}

// TestABannedKeyGetsInNoMore: neither on the connection that it has, nor on another
// one that is opened while it is banned.
func TestABannedKeyGetsInNoMore(t *testing.T) {
	t.Parallel()
	for _, at := range []pause.Point{pause.ControlChanged, pause.EvictSelected, ""} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			joined(t, harness.Options{}, func(t *testing.T, w *world) {
				w.open(reqGroup("x", pizza))
				w.Commit(t, post(1, pizza))
				w.Step(t)
				w.ban(secretKey)
				ban := w.applying(at)
				again := w.Connect(t)
				again.Send(again.AuthMessage(t, secretKey))
				ban.finish(t)
				require.Equal(t, []string{"OK"}, verbs(t, again.Settle()))
				require.Equal(t, 1008, again.Conn.Cause().Code)
				require.Empty(t, w.client.Settle(), "what was queued is not taken")
				w.banned()
				again.Disconnect(t)
			})
		})
	}
}
