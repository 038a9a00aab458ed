//go:build !nopause

package explore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/handlers"
	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Permissions without one of their fences, as in broken_test.go.
func TestExplorerFindsWhatAMissingFenceOfPermissionsLetsThrough(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scenario
		finds string
	}{
		{finds: "event that the reader may not see", scenario: scenario{
			name:    "frames without a grant against revocation (G4)",
			points:  only(pause.FanoutBegun, pause.ControlChanged),
			options: harness.Options{Read: func(r handlers.Reading) handlers.Reading { return ungranted{r} }},
			given: func(w *world) []explore.Operation {
				a := w.guest("a")
				a.open("x", everything)
				w.commit(secret(1))
				w.expel(member)
				return []explore.Operation{w.follower(w.head()), a.writer(1)}
			},
		}},
		{finds: "event that the reader may not see", scenario: scenario{
			name:    "stored events without a grant against revocation (G4)",
			points:  only(pause.ReqDecided, pause.ControlChanged),
			options: harness.Options{Read: func(r handlers.Reading) handlers.Reading { return ungranted{r} }},
			given: func(w *world) []explore.Operation {
				a := w.guest("a")
				w.stored(secret(1))
				return []explore.Operation{w.expulsion(member), w.follower(w.head() + 1), a.reader(reqEverything), a.writer(1)}
			},
		}},
		{finds: "CLOSED x that nobody caused", scenario: scenario{
			name:   "a cutter that remembers ids against replacement (G3)",
			points: only(pause.ReqReserved, pause.EvictSelected), byID: true,
			given: func(w *world) []explore.Operation {
				a := w.subscribed("a", secrets)
				w.expel(member)
				return []explore.Operation{w.follower(w.head()), a.reader(reqPears)}
			},
		}},
		{finds: "x was ended and got no CLOSED", scenario: scenario{
			name:    "a REQ that is not judged again against revocation (G4)",
			points:  only(pause.ReqJudged, pause.ControlChanged, pause.EvictSelected),
			options: harness.Options{Read: func(r handlers.Reading) handlers.Reading { return unversioned{r} }},
			given: func(w *world) []explore.Operation {
				a := w.subscribed("a", secrets)
				w.expel(member)
				return []explore.Operation{w.follower(w.head()), a.reader(reqSecrets)}
			},
		}},
		{finds: "EVENT " + apple(1).ID + " after the no from outside", scenario: scenario{
			name:   "an outside decision whose change moves nothing (G4)",
			points: points(decidePoints, only(outsideAsked, outsideAnswers)), outside: true,
			options: harness.Options{Read: func(r handlers.Reading) handlers.Reading { return ungranted{r} }},
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1))
				return []explore.Operation{a.reader(reqApples), w.refusal(), a.writer(1)}
			},
		}},
		{finds: "is still there with a key that is banned", scenario: scenario{
			name:   "AUTH that asks about bans before it adds its key (G4)",
			points: only(pause.ControlChanged),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.ban(member)
				return []explore.Operation{w.follower(w.head()), a.authAskedEarly(member)}
			},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			result, err := explore.All(t, c.plan())
			require.NoError(t, err)
			require.Positive(t, result.Broken)
			require.Less(t, result.Broken, result.Schedules, "some schedules do not meet the race")
			require.Contains(t, result.First[0].String(), c.finds)
			t.Logf("%d of %d interleavings show it", result.Broken, result.Schedules)
		})
	}
}

// ungranted shows events without saying what that rests on.
type ungranted struct{ handlers.Reading }

func (u ungranted) Sight(ev *wire.Event) lifecycle.Sight {
	s := u.Reading.Sight(ev)
	s.Grant = nil
	return s
}

// unversioned does not tell that permissions were taken away.
type unversioned struct{ handlers.Reading }

func (unversioned) Version() uint64 { return 0 }

// cutterByID carries out revocations and remembers ids instead of handles.
type cutterByID struct{ world *world }

// Apply implements outbox.Controls.
func (c *cutterByID) Apply(_ context.Context, e *store.Entry) error {
	w := c.world
	change, err := w.relay.Policy.Apply(e)
	if err != nil {
		return err
	}
	type lost struct {
		conn *lifecycle.Conn
		id   string
	}
	var selected []lost
	for _, a := range w.clients {
		for _, h := range a.Conn.Handles() {
			if w.relay.Policy.Lost(change.Group, a.Conn.Keys(), h.Filters()) != nil {
				selected = append(selected, lost{a.Conn, h.ID()})
			}
		}
	}
	w.hook.At(pause.EvictSelected)
	for _, l := range selected {
		for _, h := range l.conn.Handles() {
			if h.ID() == l.id && h.Evict(wire.Because(wire.Restricted, "no longer allowed")) {
				w.relay.Index.Remove(h)
			}
		}
	}
	return nil
}

// authAskedEarly is AUTH with its last two steps in the other order.
func (c *client) authAskedEarly(key string) explore.Operation {
	return explore.Operation{Name: c.name + ".reader", Run: func(at func(pause.Point)) {
		var refused wire.Reason
		if errors.As(c.world.relay.Policy.MayAuthenticate(key), &refused) {
			c.Conn.Close(lifecycle.Cause{Code: 1008, Text: refused.String()})
			return
		}
		at(nextMessage)
		c.Login(key)
	}}
}
