//go:build !nopause

package explore_test

import (
	"slices"
	"strings"

	"fencepost/relay/wire"
)

// write takes what is queued, as the writer does, and reports whether there was
// something.
func (c *client) write() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	frames := c.Take()
	c.report()
	c.batches = append(c.batches, len(frames))
	for _, frame := range frames {
		c.trace.Got([]byte(frame))
		c.gotLocked(frame)
	}
	return len(frames) > 0
}

// gotLocked checks what the trace does not.
func (c *client) gotLocked(frame string) {
	outside := c.world.elsewhere.inForce.Load()
	if strings.HasPrefix(frame, `["EVENT"`) && !outside || strings.HasPrefix(frame, `["EOSE"`) {
		return // before it is decoded once more, which takes longer than the rest
	}
	m, err := wire.DecodeRelay([]byte(frame))
	if err != nil {
		c.world.problem("%s: %s: %v", c.name, frame, err)
		return
	}
	switch m.Verb {
	case "CLOSED":
		c.gotClosedLocked(m)
	case "COUNT":
		c.gotCountLocked(m)
	case "CHANGES":
		c.gotChangeLocked(m)
	case "NEG-MSG", "NEG-ERR":
		c.gotNegLocked(m)
	case "EVENT":
		c.world.problem("%s: EVENT %s after the no from outside", c.name, m.Event.ID)
	}
}

// drain takes what is left, and reports whether something may come of it: what is
// queued and was not taken is being decided about.
func (c *client) drain() bool {
	if c.write() {
		return true
	}
	before := c.left
	c.left = c.Conn.Usage().Frames
	return c.left != before
}

// gotCountLocked checks that a COUNT is of one state.
func (c *client) gotCountLocked(m wire.RelayMessage) {
	c.asked[m.Sub]--
	if !slices.Contains(c.world.counts[m.Sub], m.Count) {
		c.world.problem("%s: COUNT %d is of no state that there was", c.name, m.Count)
	}
}

// gotClosedLocked checks that CLOSED is for the generation that the client believes in (G3).
func (c *client) gotClosedLocked(m wire.RelayMessage) {
	s := c.subs[m.Sub]
	if s == nil && c.acks[m.Sub] > 0 {
		c.acks[m.Sub]--
		return
	}
	if s == nil && c.asked[m.Sub] > 0 {
		c.asked[m.Sub]--
		return
	}
	tooSlow := c.world.slow && strings.HasPrefix(m.Text, string(wire.Failed)+": too slow")
	trimmed := c.world.floor != nil && strings.HasPrefix(m.Text, string(wire.Resync)+": ")
	if s == nil || !s.ended && !tooSlow && !trimmed && c.Refuses(s.filters) == nil {
		c.world.problem("%s: CLOSED %s that nobody caused: %s", c.name, m.Sub, m.Text)
	}
	delete(c.subs, m.Sub)
}
