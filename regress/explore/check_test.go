//go:build !nopause

package explore_test

import (
	"slices"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
)

// check holds a world against everything that is true once nothing happens any
// more. It ends by disconnecting everybody, which must leave nothing.
func (w *world) check() []string {
	if w.tail {
		w.relay.Step(w.t)
	}
	if applied, head := w.relay.Follower.Applied(), w.head(); applied != head {
		w.problem("applied %d of %d log rows", applied, head)
	}
	current := 0
	for _, c := range w.clients {
		c.noticeEnd()
		current += c.check()
	}
	for _, do := range w.last {
		do()
	}
	if n := w.relay.Index.Len(); n != current {
		w.problem("index holds %d handles, %d are live", n, current)
	}
	for _, c := range w.clients {
		c.leave()
	}
	if n := w.relay.Index.Len(); n != 0 {
		w.problem("index holds %d handles after everybody has left", n)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.problems
}

// noticeEnd does what a relay does with a connection that it has ended.
func (c *client) noticeEnd() {
	if c.gone || c.Conn.Cause() == (lifecycle.Cause{}) {
		if !c.gone && slices.Contains(c.Conn.Keys(), c.world.banned) {
			c.world.problem("%s: is still there with a key that is banned", c.name)
		}
		return
	}
	c.gone = true
	c.Disconnect(c.world.t)
	synctest.Wait()
}

// check returns how many subscriptions are open.
func (c *client) check() int {
	if c.gone {
		c.trace.Ended()
	}
	c.report()
	for _, v := range c.trace.Settled() {
		c.world.problem("%s: %v", c.name, v)
	}
	if running := c.Conn.Group().Running(); len(running) > 0 {
		c.world.problem("%s: goroutines are left: %v", c.name, running)
	}
	select {
	case err := <-c.Conn.Group().Failed():
		c.world.problem("%s: %v", c.name, err)
	default:
	}
	if c.gone {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	reserved := 0
	for id, s := range c.subs {
		reserved += c.world.reserves(id, s.feed != nil)
		if s.ended {
			c.world.problem("%s: %s was ended and got no CLOSED", c.name, id)
		} else if c.Refuses(s.filters) != nil {
			c.world.problem("%s: %s is open, and all that it asks for is closed", c.name, id)
		}
	}
	use := c.Conn.Usage()
	if use.Subscriptions != len(c.subs) {
		c.world.problem("%s: relay has %d subscriptions, client has %d", c.name, use.Subscriptions, len(c.subs))
	}
	if use.Frames != 0 || use.Bytes != 0 {
		c.world.problem("%s: %d frames of %d bytes stay queued", c.name, use.Frames, use.Bytes)
	}
	if use.Reserved != reserved {
		c.world.problem("%s: %d bytes are reserved, live subscriptions need %d", c.name, use.Reserved, reserved)
	}
	return use.Subscriptions
}

// leave disconnects and checks that nothing is left (G10).
func (c *client) leave() {
	c.Disconnect(c.world.t)
	synctest.Wait()
	use := c.Conn.Usage()
	if use.Subscriptions != 0 || use.Frames != 0 || use.Bytes != 0 {
		c.world.problem("%s: after the end there is still %+v", c.name, use)
	}
	frames := c.Take()
	require.Empty(c.world.t, frames)
}
