//go:build !nopause

package suites_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// A relay that has not seen the end of its log for too long: O18.

const maxLag = 5 * time.Second

// severed is a store whose log cannot be read while it is told so.
type severed struct {
	store.Store
	away *atomic.Bool
}

func (s severed) ReadLog(ctx context.Context, after store.Position, most int) ([]store.Entry, error) {
	if s.away.Load() {
		return nil, errDisk
	}
	return s.Store.ReadLog(ctx, after, most)
}

// stale runs test with a member of two private groups, on a relay that trusts its
// permissions for maxLag and whose log can be taken away. Nobody looks at the log unless
// the test has it done.
func stale(t *testing.T, test func(t *testing.T, w *world, away *atomic.Bool)) {
	t.Helper()
	away := new(atomic.Bool)
	o := harness.Options{MaxLag: maxLag, Wrap: func(s store.Store) store.Store { return severed{s, away} }}
	inWorld(t, o, func(t *testing.T, w *world) {
		w.found(pizza, secretKey, otherKey)
		w.found(pasta, secretKey)
		w.client.Auth(t, secretKey)
		test(t, w, away)
	})
}

func TestARelayThatHasLostItsLogShowsNothingPrivate(t *testing.T) {
	t.Parallel()
	stale(t, func(t *testing.T, w *world, away *atomic.Bool) {
		w.Commit(t, post(1, pizza), note(1, 1))
		w.Step(t)
		w.Run()
		stranger := w.Connect(t)
		after(time.Minute)
		require.Equal(t, []string{"EVENT", "EOSE"}, verbs(t, w.open(reqGroup("x", pizza))), "as long as it follows")
		require.Equal(t, []string{"EVENT", "EVENT", "EOSE"}, verbs(t, w.open(`["REQ","all",{}]`)))
		away.Store(true)
		after(maxLag - 2*time.Second)
		synctest.Wait()
		require.Empty(t, w.client.Settle())
		after(4 * time.Second)
		synctest.Wait()
		requireClosed(t, w.client.Settle(), "x", wire.Failed)

		requireClosed(t, w.open(reqGroup("x", pizza)), "x", wire.Failed)
		requireClosed(t, w.open(reqGroup("x", pasta)), "x", wire.Failed) // nor does it say that there is nothing
		requireClosed(t, w.open(`["COUNT","x",{"#h":["pizza"]}]`), "x", wire.Failed)
		requireClosed(t, w.open(`["REQ","x",{}]`), "x", wire.Failed)
		require.Equal(t, []string{"EVENT", "EOSE"}, verbs(t, w.open(req("y", 1))), "what is no secret is served")
		stranger.Send(`["REQ","x",{}]`)
		require.Equal(t, []string{"EVENT", "EOSE"}, verbs(t, stranger.Settle()), "who may not see it misses nothing")

		away.Store(false)
		after(time.Minute)
		require.Equal(t, []string{"EVENT", "EOSE"}, verbs(t, w.open(reqGroup("x", pizza))))
		require.Equal(t, 4, w.Index.Len())
	})
}

// A replica that was stopped goes on with whatever it was about to do.
func TestAFrameThatWasQueuedBeforeARelayLostItsLogIsNotTaken(t *testing.T) {
	t.Parallel()
	stale(t, func(t *testing.T, w *world, _ *atomic.Bool) {
		require.Equal(t, []string{"EOSE"}, verbs(t, w.open(reqGroup("x", pizza))))
		require.Equal(t, []string{"EOSE"}, verbs(t, w.open(req("y", 1))))
		w.Commit(t, post(1, pizza), note(1, 1))
		w.Step(t) // both are queued
		after(maxLag + time.Second)
		frames := w.client.Settle()
		require.Equal(t, frame("y", note(1, 1)), frames[0])
		requireClosed(t, frames[1:], "x", wire.Failed)
		require.Equal(t, 1, w.Index.Len())
	})
}

// Strangers may ask for a hidden group, as if there were none.
func TestAMemberOfAHiddenGroupLosesItWithTheLog(t *testing.T) {
	t.Parallel()
	stale(t, func(t *testing.T, w *world, _ *atomic.Bool) {
		w.Control(t, control.Row{
			Type: control.GroupCreated, Group: "attic", Key: storetest.Key(7), Stamp: 1, Tags: nostr.Tags{{"name", "attic"}, {"private"}, {"hidden"}},
		}, "g:attic")
		w.Control(t, control.Row{Type: control.GroupPut, Group: "attic", Key: publicKey(t, secretKey), Stamp: 2})
		w.Step(t)
		require.Equal(t, []string{"EOSE"}, verbs(t, w.open(reqGroup("x", "attic"))))
		after(maxLag + time.Second)
		w.Cutter.Distrust()
		requireClosed(t, w.client.Settle(), "x", wire.Failed)
	})
}

func TestAQueryDuringWhichARelayLosesItsLogShowsNothingPrivate(t *testing.T) {
	t.Parallel()
	for _, at := range []pause.Point{pause.ReqJudged, pause.ReqIndexed, pause.ReqSnapshot, pause.ReqPage, pause.ReqDecided, pause.ReqReplayed} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			stale(t, func(t *testing.T, w *world, _ *atomic.Bool) {
				w.Commit(t, post(1, pizza))
				w.Step(t)
				q := w.send(at, reqGroup("x", pizza))
				require.True(t, q.parked())
				after(maxLag + time.Second)
				w.Cutter.Distrust()
				q.finish(t)
				requireClosed(t, w.client.Settle(), "x", wire.Failed)
				require.Zero(t, w.Index.Len())
				usage := w.client.Conn.Usage()
				require.Zero(t, usage.Subscriptions+usage.Frames+usage.Reserved)
			})
		})
	}
}
