//go:build !nopause

package suites_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
)

// A ban against everything that its key's connection does meanwhile, and against
// the same key on another connection: G3, G4 and G10.

// banPoints are the places of a ban, in order; it evicts nobody. At the first
// nothing has changed.
var banPoints = []pause.Point{pause.FanoutBegun, pause.ControlChanged, pause.EvictSelected, ""}

// TestABanEndsTheConnectionWhateverItDoes: a REQ of the same id, CLOSE, COUNT and an
// EVENT are parked at each of their points, and come before, between and after.
func TestABanEndsTheConnectionWhateverItDoes(t *testing.T) {
	t.Parallel()
	event, _ := publish(t, 1)
	rivals := map[string][]pause.Point{
		reqGroup("x", pizza):                     newerPoints,
		req("x", 1):                              {pause.ReqJudged, pause.ReqReserved, pause.ReqIndexed, pause.ReqDecided, ""},
		closing("x"):                             closePoints,
		`["COUNT","c",{"#h":["` + pizza + `"]}]`: {pause.ReqSnapshot, ""},
		event:                                    {pause.EventVerified, pause.EventPlanned, pause.EventCommitted, ""},
	}
	for msg, points := range rivals {
		for _, rival := range points {
			for _, at := range banPoints {
				for _, o := range takings {
					t.Run(fmt.Sprint(msg[:min(len(msg), 24)], " x ", rival, " x ", at, " x ", o), func(t *testing.T) {
						t.Parallel()
						joined(t, harness.Options{}, func(t *testing.T, w *world) { banDuring(t, w, at, rival, o, msg) })
					})
				}
			}
		}
	}
}

func banDuring(t *testing.T, w *world, at, rival pause.Point, o order, msg string) {
	other := w.Connect(t)
	other.Login(publicKey(t, otherKey))
	other.Send(reqGroup("x", pizza))
	other.Settle()
	w.Commit(t, note(1, 1), post(1, pizza))
	w.Step(t)
	w.open(reqGroup("x", pizza))
	w.Commit(t, post(2, pizza))
	w.Step(t)
	w.ban(secretKey)
	w.Commit(t, post(3, pizza), note(4, 1))

	ban := w.applying(at)
	require.Equal(t, at != "", ban.parked())
	w.client.Take()
	meanwhile := w.send(rival, msg)
	if o.rivalFirst {
		meanwhile.release()
	}
	w.client.Take()
	ban.finish(t)
	meanwhile.finish(t)
	for _, verb := range verbs(t, w.client.Settle()) {
		require.NotContains(t, []string{"EVENT", "EOSE"}, verb, "only answers are owed")
	}
	w.Step(t)
	require.Equal(t, []string{frame("x", post(1, pizza)), frame("x", post(2, pizza)), frame("x", post(3, pizza))}, other.Settle())
	other.Check(t)
	other.Disconnect(t)
	w.banned()
	require.Empty(t, w.client.Trace.Settled(), w.client.Trace.Transcript())
}

// TestABanDuringAReconnectionLetsNobodyIn: the client leaves and comes again, on a
// connection that the ban may not have seen, and authenticates there. When the ban
// is taken back it gets in.
func TestABanDuringAReconnectionLetsNobodyIn(t *testing.T) {
	t.Parallel()
	for _, at := range banPoints {
		for _, auth := range []pause.Point{pause.AuthAdded, ""} {
			for _, banFirst := range []bool{false, true} {
				t.Run(fmt.Sprint(at, " x ", auth, " x ban first ", banFirst), func(t *testing.T) {
					t.Parallel()
					joined(t, harness.Options{}, func(t *testing.T, w *world) {
						w.open(reqGroup("x", pizza))
						w.ban(secretKey)
						ban := w.applying(at)
						w.client.Disconnect(t)
						w.client = w.Connect(t)
						login := w.send(auth, authMessage(t, w))
						require.Equal(t, auth != "", login.parked())
						if banFirst {
							ban.finish(t)
						}
						login.finish(t)
						w.client.Send(reqGroup("x", pizza))
						ban.finish(t)
						require.NotContains(t, verbs(t, w.client.Settle()), "EVENT")
						w.banned()

						w.Control(t, control.Row{Type: control.KeyUnbanned, Key: publicKey(t, secretKey)})
						w.Commit(t, post(1, pizza))
						w.Step(t)
						w.client = w.Connect(t)
						w.client.Auth(t, secretKey)
						require.Equal(t, []string{frame("x", post(1, pizza)), eose("x")}, w.open(reqGroup("x", pizza)))
						w.quiet(1)
					})
				})
			}
		}
	}
}

// TestABanOfOneKeyCostsNobodyElseAnything: connections without the key, and one that
// has several of which another is banned, are told apart.
func TestABanOfOneKeyCostsNobodyElseAnything(t *testing.T) {
	t.Parallel()
	for _, at := range banPoints {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			joined(t, harness.Options{}, func(t *testing.T, w *world) {
				both, stranger := w.Connect(t), w.Connect(t)
				both.Login(publicKey(t, otherKey), publicKey(t, secretKey))
				both.Send(reqGroup("x", pizza))
				stranger.Send(req("x", 1))
				w.open(reqGroup("x", pizza))
				both.Settle()
				stranger.Settle()
				w.ban(otherKey)
				w.Commit(t, post(1, pizza), note(2, 1))
				w.applying(at).finish(t)
				require.Equal(t, 1008, both.Conn.Cause().Code, "whoever holds a banned key is banned")
				require.Equal(t, lifecycle.Cause{}, stranger.Conn.Cause())
				require.Equal(t, []string{frame("x", note(2, 1))}, stranger.Settle())
				require.Equal(t, []string{frame("x", post(1, pizza))}, w.client.Settle())
				require.Empty(t, both.Settle())
				both.Disconnect(t)
				stranger.Check(t)
				stranger.Disconnect(t)
				w.quiet(1)
			})
		})
	}
}

// TestABannedEventIsNotTakenAnyMore: the operator bans an id while its event is
// fanned out, queued, or about to be replayed. Nobody gets it once that is in force,
// and nobody can publish it again.
func TestABannedEventIsNotTakenAnyMore(t *testing.T) {
	t.Parallel()
	for _, at := range banPoints {
		for _, busy := range append(slices.Clone(fanoutPoints), pause.ReqPage, pause.ReqDecided, pause.ReqReplayed) {
			t.Run(fmt.Sprint(at, " x ", busy), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) { banEvent(t, w, at, busy) })
			})
		}
	}
}

func banEvent(t *testing.T, w *world, at, busy pause.Point) {
	banned := note(1, 1)
	show := func() *task {
		w.Commit(t, banned)
		if slices.Contains(fanoutPoints, busy) {
			return w.fanout(busy)
		}
		w.Step(t)
		return w.send(busy, req("x", 1))
	}
	if slices.Contains(fanoutPoints, busy) {
		w.open(req("x", 1))
	}
	showing := show()
	require.True(t, showing.parked())
	write, err := w.Policy.BanEvent(banned.ID, "")
	require.NoError(t, err)
	w.Write(t, write)
	var ban *task
	if slices.Contains(fanoutPoints, busy) { // it comes behind it in the log
		showing.finish(t)
		ban = w.applying(at)
	} else {
		ban = w.applying(at)
		showing.finish(t)
	}
	early := w.client.Take()
	if at != pause.FanoutBegun {
		require.NotContains(t, early, frame("x", banned))
	}
	ban.finish(t)
	require.NotContains(t, w.client.Settle(), frame("x", banned))
	out := w.Store.Append(t.Context(), []store.Write{{Event: banned}})
	require.ErrorIs(t, out[0].Err, store.ErrBanned)
	w.quiet(1)
}
