//go:build !nopause

package explore_test

import (
	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Stops between the segments of an operation that has no point of the relay there.
const (
	nextMessage pause.Point = "next.message"
	nextCommit  pause.Point = "next.commit"
	nextTake    pause.Point = "next.take"
)

// reader reads the messages one after another (G9).
func (c *client) reader(messages ...string) explore.Operation {
	return explore.Operation{Name: c.name + ".reader", Run: func(at func(pause.Point)) {
		for i, msg := range messages {
			if i > 0 {
				at(nextMessage)
			}
			c.send(msg)
		}
	}}
}

// writer takes n batches, each in one step.
func (c *client) writer(n int) explore.Operation {
	return explore.Operation{Name: c.name + ".writer", Run: func(at func(pause.Point)) {
		for i := range n {
			if i > 0 {
				at(nextTake)
			}
			c.write()
		}
	}}
}

// disconnect ends the connection; it waits for the connection's goroutines.
func (c *client) disconnect() explore.Operation {
	return explore.Operation{Name: c.name + ".disconnect", Run: func(func(pause.Point)) {
		c.gone = true
		c.Disconnect(c.world.t)
	}}
}

// publisher commits the events, each in one step.
func (w *world) publisher(events ...*wire.Event) explore.Operation {
	return explore.Operation{Name: "publisher", Run: func(at func(pause.Point)) {
		for i, ev := range events {
			if i > 0 {
				at(nextCommit)
			}
			w.commit(ev)
		}
	}}
}

// follower fans out until it has applied upTo. Where nothing follows in the log
// it is blocked until the next commit.
func (w *world) follower(upTo store.Position) explore.Operation {
	return explore.Operation{Name: "follower", Run: func(func(pause.Point)) {
		ctx := w.t.Context()
		for w.relay.Follower.Applied() < upTo && ctx.Err() == nil {
			n, err := w.relay.Follower.Step(ctx)
			if err != nil {
				w.problem("follower: %v", err)
				return
			}
			if n > 0 {
				continue
			}
			select {
			case <-w.relay.Store.Changed():
			case <-ctx.Done():
			}
		}
	}}
}

// eviction takes a permission away: it selects c's subscriptions of that id that
// may see ev, evicts each and takes it out of the index.
func (w *world) eviction(name string, c *client, id string, ev *wire.Event) explore.Operation {
	return explore.Operation{Name: c.name + "." + name, Run: func(at func(pause.Point)) {
		for _, h := range w.handles(c, id, ev) {
			at(pause.EvictSelected)
			if c.evict(h) {
				at(pause.Evicted)
				w.relay.Index.Remove(h)
			}
		}
	}}
}
