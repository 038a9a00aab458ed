package lifecycle

import (
	"context"

	"fencepost/lifecycle/pause"
	"fencepost/relay/wire"
)

// decideBatch is how many queued frames are decided about at once.
const decideBatch = 64

// reasonUndecided ends a subscription about whose events nobody can decide.
var reasonUndecided = wire.Because(wire.Failed, "could not find out what you may see; subscribe again")

// question is a queued frame without a grant that holds.
type question struct {
	handle  *Handle
	event   *wire.Event
	removed bool
	asked   *Grant // of an answer of a talk, which has no handle

	grant   *Grant
	allowed bool
	err     error
}

// decide takes the decision about queued frames again whose grant does not hold,
// in the order of the queue and outside the lock, until there are none. One runs
// at a time.
func (c *Conn) decide(ctx context.Context) {
	var batch []question
	for {
		batch = c.undecided(batch)
		if len(batch) == 0 {
			return
		}
		c.pause.At(pause.DecideChosen)
		for i := range batch {
			q := &batch[i]
			if q.handle == nil {
				c.ask(q)
				continue
			}
			sight := c.SightOf(q.event, q.removed)
			q.grant = sight.Grant
			q.allowed, q.err = sight.Decide(ctx, c.Keys())
		}
		c.pause.At(pause.DecideDone)
		for _, h := range c.settle(batch) {
			h.stop()
			c.onEnded(h)
		}
	}
}

// undecided returns the first queued frames without a grant that holds. When
// there is none, the run ends in the same critical section.
func (c *Conn) undecided(batch []question) []question {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(batch)
	batch = batch[:0]
	for _, f := range c.queue.items[c.queue.head:] {
		if f.kind != kindEvent && f.kind != kindTalk || !f.wanted() || f.grant.Holds() {
			continue
		}
		q := question{handle: f.handle, event: f.event, removed: f.removed}
		if f.kind == kindTalk {
			q.asked = f.grant
		}
		if batch = append(batch, q); len(batch) == decideBatch {
			break
		}
	}
	c.deciding = len(batch) > 0
	return batch
}

// ask judges a queued answer of a talk: the grant is read before the state.
func (c *Conn) ask(q *question) {
	q.grant = q.asked.renewed()
	q.allowed = q.asked.talk.judge()() && (q.grant.while == nil || q.grant.while())
}

// settle puts the answers where the questions are: in the queue, in the same
// order, unless a generation has ended since. An allowed frame keeps its place.
func (c *Conn) settle(batch []question) (ended []*Handle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.queue.head
	for i := range batch {
		q := &batch[i]
		if q.handle == nil {
			q.asked.talk.settleLocked(q)
			continue
		}
		if q.handle.state == retired {
			continue
		}
		if q.err != nil {
			q.handle.endLocked(reasonUndecided)
			ended = append(ended, q.handle)
			at = c.queue.head // the end may have moved the frames
			continue
		}
		for c.queue.items[at].handle != q.handle || c.queue.items[at].event != q.event {
			at++ // it is there: what is undecided is neither taken nor dropped while its generation lives
		}
		c.queue.settle(at, q)
	}
	c.freedLocked()
	c.wakeLocked()
	return ended
}

// settle answers the question about the frame at index i.
func (q *queue) settle(i int, answer *question) {
	if answer.allowed {
		q.items[i].grant = answer.grant
		return
	}
	q.discount(q.items[i])
	q.items[i] = Frame{}
}
