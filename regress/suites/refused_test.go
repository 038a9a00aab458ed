//go:build !nopause

package suites_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/wire"
)

// A refused REQ ends the older generation of its id: G5.

// refusals are REQs for x that this relay refuses.
var refusals = []struct {
	name, msg string
	prefix    wire.Prefix
}{
	{"too many filters", `["REQ","x",{"kinds":[1]},{"kinds":[2]},{"kinds":[3]}]`, wire.Invalid},
	{"too many values", `["REQ","x",{"kinds":[1,2,3,4]}]`, wire.Invalid},
	{"an unknown filter field", `["REQ","x",{"kinds":[1],"&t":["a"]}]`, wire.Unsupported},
	{"search", `["REQ","x",{"kinds":[1],"search":"nostr"}]`, wire.Unsupported},
	{"a filter of null", `["REQ","x",null]`, wire.Invalid},
	{"no filter", `["REQ","x"]`, wire.Invalid},
	{"a surplus bracket", `["REQ","x",{"kinds":[1]}]]`, wire.Invalid},
	{"a CLOSE that cannot be read", `["CLOSE","x",1]`, wire.Invalid},
}

func strict() harness.Options {
	o := harness.Options{}
	o.Handlers.Filters, o.Handlers.FilterValues = 2, 3
	return o
}

func TestRefusalEndsTheOlderGeneration(t *testing.T) {
	t.Parallel()
	for _, r := range refusals {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, strict(), func(t *testing.T, w *world) {
				w.open(req("x", 1))
				w.Commit(t, note(1, 1))
				w.Step(t) // queued, and dropped by the refusal
				w.client.Send(r.msg)
				require.Zero(t, w.Index.Len())
				w.Commit(t, note(2, 1))
				w.Step(t)
				requireClosed(t, w.client.Settle(), "x", r.prefix)
				w.settled(0)

				require.Equal(t, []string{"EVENT", "EVENT", "EOSE"}, verbs(t, w.open(req("x", 1))))
				w.settled(1)
			})
		})
	}
}

// TestRefusalDuringFanoutIsTheLastFrame parks the fan-out for the older
// generation at each point.
func TestRefusalDuringFanoutIsTheLastFrame(t *testing.T) {
	t.Parallel()
	for _, at := range fanoutPoints {
		for _, r := range refusals {
			t.Run(string(at)+" x "+r.name, func(t *testing.T) {
				t.Parallel()
				inWorld(t, strict(), func(t *testing.T, w *world) {
					w.open(req("x", 1))
					w.Commit(t, note(1, 1), note(2, 1))
					fanout := w.fanout(at)
					require.True(t, fanout.parked())
					w.client.Send(r.msg)
					fanout.finish(t)
					requireClosed(t, w.client.Settle(), "x", r.prefix)
					w.settled(0)
				})
			})
		}
	}
}

// TestRefusalDuringReplayIsTheLastFrame parks the older generation's query.
func TestRefusalDuringReplayIsTheLastFrame(t *testing.T) {
	t.Parallel()
	for _, at := range reqPoints[1:] {
		for _, r := range refusals {
			t.Run(string(at)+" x "+r.name, func(t *testing.T) {
				t.Parallel()
				inWorld(t, strict(), func(t *testing.T, w *world) {
					w.Commit(t, notes(3, 1)...)
					w.Step(t)
					replay := w.send(at, req("x", 1))
					require.True(t, replay.parked())
					w.client.Send(r.msg)
					replay.finish(t)
					requireClosed(t, w.client.Settle(), "x", r.prefix)
					w.settled(0)
				})
			})
		}
	}
}

// TestRefusalMutesTheClosedBeforeIt: one REQ, one CLOSED.
func TestRefusalMutesTheClosedBeforeIt(t *testing.T) {
	t.Parallel()
	inWorld(t, strict(), func(t *testing.T, w *world) {
		w.open(req("x", 1))
		require.True(t, w.Evict(w.handle("x", note(1, 1)), revoked))
		w.client.Send(refusals[0].msg)
		requireClosed(t, w.client.Settle(), "x", wire.Invalid)
		w.settled(0)
	})
}

func TestTooManySubscriptionsRefuseAnIDThatWasClosed(t *testing.T) {
	t.Parallel()
	o := harness.Options{Limits: harness.DefaultLimits()}
	o.Limits.Subscriptions = 1
	inWorld(t, o, func(t *testing.T, w *world) {
		w.open(req("x", 1))
		require.Equal(t, []string{eose("x")}, w.open(req("x", 2)), "the older one makes place")
		require.True(t, w.Evict(w.handle("x", note(1, 2)), revoked))
		w.client.Send(req("y", 1))
		w.client.Send(req("x", 1))
		frames := w.client.Settle()
		require.Equal(t, []string{"CLOSED", "EOSE"}, verbs(t, frames), "the refusal's CLOSED, not the eviction's")
		requireClosed(t, frames[:1], "x", wire.RateLimited)
		w.settled(1)
		w.client.Send(closing("y"))
		require.Equal(t, []string{eose("x")}, w.open(req("x", 1)))
		w.settled(1)
	})
}

// TestRefusedREQWorksUnderTheSameIDAfterAuth is a refusal that the client can
// mend (NIP-42).
func TestRefusedREQWorksUnderTheSameIDAfterAuth(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{Auth: "all"}, func(t *testing.T, w *world) {
		requireClosed(t, w.open(req("x", 1)), "x", wire.AuthRequired)
		w.client.Send(authMessage(t, w))
		w.client.Send(req("x", 1))
		require.Equal(t, []string{"OK", "EOSE"}, verbs(t, w.client.Settle()))
		w.settled(1)
	})
}

// TestRefusalWhileTheOlderStandsAtReserve: the reader itself is at the point, so
// the refused REQ waits its turn and then has the last word.
func TestRefusalWhileTheOlderStandsAtReserve(t *testing.T) {
	t.Parallel()
	inWorld(t, strict(), func(t *testing.T, w *world) {
		burst := w.startTo(pause.ReqReserved, func() {
			w.client.Send(req("x", 1))
			w.client.Send(refusals[0].msg)
		})
		require.True(t, burst.parked())
		burst.finish(t)
		requireClosed(t, w.client.Settle(), "x", wire.Invalid)
		w.settled(0)
	})
}
