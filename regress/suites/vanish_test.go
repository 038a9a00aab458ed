//go:build !nopause

package suites_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Requests that change permissions against events that are on their way into the
// store, both as clients send them: NIP-62 and NIP-29, G4 and E1.

// eventPoints are the places of an EVENT, in order; "" is the whole of it.
var eventPoints = []pause.Point{pause.EventVerified, pause.EventPlanned, pause.EventCommitted, ""}

// signed returns an EVENT message of the holder of a secret key.
func signed(t *testing.T, secret string, e nostr.Event) (msg string, ev *wire.Event) {
	t.Helper()
	require.NoError(t, e.Sign(secret))
	ev = wire.NewEvent(e)
	return string(wire.AppendEventMessage(nil, ev)), ev
}

// calm runs the follower until nobody waits for it any more.
func (w *world) calm() {
	w.t.Helper()
	for {
		synctest.Wait()
		info, err := w.Store.Log(w.t.Context())
		require.NoError(w.t, err)
		if w.Follower.Applied() == info.Head {
			return
		}
		w.Step(w.t)
	}
}

// verdict sends an EVENT, runs what it waits for, and returns its OK.
func (w *world) verdict(c *harness.Client, msg string) wire.RelayMessage {
	w.t.Helper()
	c.Send(msg)
	w.calm()
	return okOf(w.t, c)
}

// okOf returns the one OK that is queued for c.
func okOf(t *testing.T, c *harness.Client) (ok wire.RelayMessage) {
	t.Helper()
	n := 0
	for _, f := range c.Settle() {
		m, err := wire.DecodeRelay([]byte(f))
		require.NoError(t, err)
		if m.Verb == "OK" {
			ok = m
			n++
		}
	}
	require.Equal(t, 1, n, "OKs")
	return ok
}

// past is what covers the key of secretKey, from before it vanishes.
var past = []struct {
	name string
	send func(t *testing.T, n int) (string, *wire.Event)
}{
	{"own event", func(t *testing.T, n int) (string, *wire.Event) { return publish(t, n) }},
	{"gift wrap to it", func(t *testing.T, n int) (string, *wire.Event) {
		return signed(t, otherKey, nostr.Event{
			Kind: 1059, CreatedAt: nostr.Timestamp(2000 + n), Tags: nostr.Tags{{"p", publicKey(t, secretKey)}}, Content: "sealed",
		})
	}},
}

// goodbye is a request of secretKey to vanish with everything up to 3000.
func goodbye(t *testing.T) string {
	t.Helper()
	msg, _ := signed(t, secretKey, nostr.Event{Kind: 62, CreatedAt: 3000, Tags: nostr.Tags{{"relay", "ALL_RELAYS"}}})
	return msg
}

// TestARequestToVanishAgainstAPublication parks one of the two at each of its points
// and lets the other by. What is committed before is acknowledged and not served any
// more; what is not is refused, and stays so; what is made later is welcome.
func TestARequestToVanishAgainstAPublication(t *testing.T) {
	t.Parallel()
	for _, what := range past {
		for _, at := range eventPoints {
			for _, vanishParked := range []bool{false, true} {
				t.Run(fmt.Sprint(what.name, " x ", at, " x vanish parked ", vanishParked), func(t *testing.T) {
					t.Parallel()
					inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
						msg, ev := what.send(t, 1)
						leaving := w.Connect(t)
						if vanishParked {
							vanish := w.startTo(at, func() { leaving.Send(goodbye(t)) })
							require.Equal(t, at != pause.EventCommitted && at != "", w.verdict(w.client, msg).OK)
							vanish.finish(t)
							w.calm()
						} else {
							publication := w.send(at, msg)
							leaving.Send(goodbye(t))
							w.calm()
							publication.finish(t)
							w.calm()
							require.Equal(t, at == pause.EventCommitted || at == "", okOf(t, w.client).OK)
						}
						require.True(t, okOf(t, leaving).OK)
						w.vanished(ev, what.send)
					})
				})
			}
		}
	}
}

// vanished checks that ev is served in no way, that the past is refused and the
// future is not.
func (w *world) vanished(ev *wire.Event, send func(t *testing.T, n int) (string, *wire.Event)) {
	t := w.t
	t.Helper()
	w.client.Login(publicKey(t, secretKey)) // nothing is hidden from it but what has vanished
	filter := fmt.Sprintf(`{"kinds":[%d]}`, ev.Kind)
	require.Equal(t, []string{eose("x")}, w.open(reqOf("x", filter)))
	require.Equal(t, []string{`["COUNT","c",{"count":0}]`}, w.open(`["COUNT","c",`+filter+`]`))
	left := store.Erasure{Author: publicKey(t, secretKey), Until: 3000, Cause: store.CauseVanished}
	_, err := w.Store.Erase(t.Context(), left, 100) // as a relay does once the request is in force
	require.NoError(t, err)
	for n, ok := range map[int]bool{1: false, 2: false, 1000: false, 1001: true} { // seconds after 2000
		msg, _ := send(t, n)
		m := w.verdict(w.client, msg)
		require.Equal(t, ok, m.OK, m.Text)
		require.True(t, ok || strings.HasPrefix(m.Text, "blocked: "), m.Text)
	}
	w.quiet(1)
}

// TestAVanishedAuthorIsNotTakenAnyMore: what is queued, held or about to be replayed
// when the request comes into force.
func TestAVanishedAuthorIsNotTakenAnyMore(t *testing.T) {
	t.Parallel()
	for _, at := range banPoints {
		for _, busy := range []pause.Point{pause.ReqBegun, pause.ReqPage, pause.ReqDecided, pause.ReqReplayed, ""} {
			t.Run(fmt.Sprint(at, " x ", busy), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
					_, stored := publish(t, 1)
					_, live := publish(t, 2)
					w.Commit(t, note(1, 1), stored)
					w.Step(t)
					replay := w.send(busy, req("x", 1))
					w.Commit(t, live, note(2, 1))
					w.Step(t)
					leaving := w.Connect(t)
					leaving.Send(goodbye(t))
					synctest.Wait()
					vanish := w.applying(at)
					replay.release()
					early := w.client.Take()
					if at != pause.FanoutBegun {
						require.NotContains(t, early, frame("x", stored))
						require.NotContains(t, early, frame("x", live))
					}
					vanish.finish(t)
					replay.finish(t)
					rest := w.client.Settle()
					require.NotContains(t, rest, frame("x", stored))
					require.NotContains(t, rest, frame("x", live))
					w.quiet(1)
				})
			})
		}
	}
}

// TestADeletionDuringFanoutComesAfterItsTarget: an event that is being fanned out
// when its author deletes it comes before the request, or not at all.
func TestADeletionDuringFanoutComesAfterItsTarget(t *testing.T) {
	t.Parallel()
	for _, fanned := range fanoutPoints {
		for _, at := range eventPoints {
			for _, read := range []bool{false, true} { // by the follower, before the deletion commits
				t.Run(fmt.Sprint(fanned, " x ", at, " x read ", read), func(t *testing.T) {
					t.Parallel()
					inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
						w.open(reqOf("x", `{"kinds":[1,5]}`))
						_, target := publish(t, 1)
						msg, deletion := signed(t, secretKey, nostr.Event{Kind: 5, CreatedAt: 3000, Tags: nostr.Tags{{"e", target.ID}}})
						w.Commit(t, target)
						var fanout *task
						if read {
							fanout = w.fanout(fanned)
						}
						author := w.Connect(t)
						request := w.startTo(at, func() { author.Send(msg) })
						if !read {
							fanout = w.fanout(fanned)
						}
						fanout.finish(t)
						request.finish(t)
						w.calm()
						require.True(t, okOf(t, author).OK)
						want := []string{frame("x", target), frame("x", deletion)}
						if !read && (at == pause.EventCommitted || at == "") {
							want = want[1:]
						}
						require.Equal(t, want, w.client.Settle())
						require.Equal(t, []string{frame("y", deletion), eose("y")}, w.open(reqOf("y", `{"kinds":[1,5]}`)))
						out := w.Store.Append(t.Context(), []store.Write{{Event: target}})
						require.ErrorIs(t, out[0].Err, store.ErrDeleted)
						w.quiet(2)
					})
				})
			}
		}
	}
}
