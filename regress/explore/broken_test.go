//go:build !nopause

package explore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Each operation here is the real one without its fence, as it could be written
// by somebody who has not thought of the race. The explorer must find that.
func TestExplorerFindsWhatAMissingFenceLetsThrough(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scenario
		finds string
	}{
		{finds: "CLOSED x that nobody caused", scenario: scenario{
			name:   "eviction by subscription id against replacement (G3)",
			points: only(pause.EvictSelected, pause.ReqReserved, pause.ReqStarted, pause.ReqIndexed),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				a.open("x", apples)
				return []explore.Operation{w.evictionByID(a, "x", apple(1)), a.reader(reqPears)}
			},
		}},
		{finds: "event of an older generation", scenario: scenario{
			name:   "fan-out by subscription id against replacement (G2)",
			points: only(pause.FanoutSelected, pause.ReqReserved, pause.ReqIndexed, pause.ReqReplayed),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				a.open("x", apples)
				return []explore.Operation{w.fanoutByID(a, "x", apple(1)), a.reader(reqPears)}
			},
		}},
		{finds: "index holds 1 handles, 0 are live", scenario: scenario{
			name:   "REQ without the re-check against CLOSE (G1)",
			points: only(pause.ReqStarted, pause.ReqIndexed, pause.CloseRead, pause.CloseReleased),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				return []explore.Operation{a.readerOf(a.replayUnchecked, reqApples, closeX)}
			},
		}},
		{finds: "missing event", scenario: scenario{
			name:   "REQ that reads A before it is indexed against commit and fan-out (G6)",
			points: only(pause.ReqStarted, pause.ReqBegun, pause.FanoutRead, pause.FanoutBegun),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				return []explore.Operation{
					a.readerOf(a.replayIndexedLate, reqApples), w.publisher(apple(1)), w.follower(w.head() + 1),
				}
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

			again, err := explore.Replay(t, c.plan(), result.First[0].Schedule)
			require.NoError(t, err)
			require.Equal(t, result.First[0], again.First[0], "a schedule shows the same again")
		})
	}
}

// current returns the handle that stands for c's subscription id now.
func (w *world) current(c *client, id string) *lifecycle.Handle {
	for _, ev := range []*wire.Event{apple(1), pear(1)} {
		for _, h := range w.handles(c, id, ev) {
			return h
		}
	}
	return nil
}

// evictionByID remembers an id instead of a handle.
func (w *world) evictionByID(c *client, id string, ev *wire.Event) explore.Operation {
	return explore.Operation{Name: "eviction", Run: func(at func(pause.Point)) {
		for range w.handles(c, id, ev) {
			at(pause.EvictSelected)
			if h := w.current(c, id); h != nil && h.Evict(wire.Because(wire.Restricted, "no longer allowed")) {
				w.relay.Index.Remove(h)
			}
		}
	}}
}

// fanoutByID does the same. What it has delivered the follower passes over.
func (w *world) fanoutByID(c *client, id string, ev *wire.Event) explore.Operation {
	return explore.Operation{Name: "fanout", Run: func(at func(pause.Point)) {
		for range w.handles(c, id, ev) {
			at(pause.FanoutSelected)
			w.commit(ev) // here, so that a REQ may have its snapshot before
			if h := w.current(c, id); h != nil {
				h.Deliver(w.head(), ev, nil)
			}
		}
		w.relay.Step(w.t)
	}}
}

// readerOf reads a REQ, which replay answers, and what follows it.
func (c *client) readerOf(replay func(context.Context, *lifecycle.Handle), req string, rest ...string) explore.Operation {
	return explore.Operation{Name: c.name + ".reader", Run: func(at func(pause.Point)) {
		c.read(req)
		filter := wire.NewFilter(nostr.Filter{Kinds: []int{1}})
		h, _, err := c.Conn.Reserve(c.world.t.Context(), "x", []*wire.Filter{filter})
		if err != nil {
			c.world.problem("reserve: %v", err)
			return
		}
		c.takeEffect()
		c.Conn.Query(h.Context(), "req", func(ctx context.Context) { replay(ctx, h) })
		for _, msg := range rest {
			at(nextMessage)
			c.send(msg)
		}
	}}
}

// replayUnchecked does not ask whether the handle is current once it is indexed.
func (c *client) replayUnchecked(_ context.Context, h *lifecycle.Handle) {
	c.world.hook.At(pause.ReqStarted)
	c.world.relay.Index.Add(h)
	c.world.hook.At(pause.ReqIndexed)
	h.Begin(c.world.relay.Follower.Begun())
	if _, err := h.GoLive(wire.HintFinish); err != nil {
		return // retired: whoever did it has taken the handle out of the index, it thinks
	}
}

// replayIndexedLate reads A first.
func (c *client) replayIndexedLate(ctx context.Context, h *lifecycle.Handle) {
	c.world.hook.At(pause.ReqStarted)
	a := c.world.relay.Follower.Begun()
	c.world.hook.At(pause.ReqBegun)
	c.world.relay.Index.Add(h)
	h.Begin(a)
	if err := c.replayUpTo(ctx, h, a); err != nil {
		c.world.problem("replay: %v", err)
	}
	if _, err := h.GoLive(wire.HintFinish); err != nil {
		c.world.problem("go live: %v", err)
	}
}

func (c *client) replayUpTo(ctx context.Context, h *lifecycle.Handle, a store.Position) error {
	snap, err := c.world.relay.Store.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	rows, err := snap.Query(ctx, h.Filters(), store.QueryOptions{})
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	page, err := rows.Next(ctx, nil, 64)
	for _, r := range page {
		if r.Position <= a {
			if err := h.Replay(ctx, r.Event, nil); err != nil {
				return err
			}
		}
	}
	if err != nil && len(page) > 0 {
		return err
	}
	return snap.Close()
}
