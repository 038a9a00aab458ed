package lifecycle

import (
	"context"

	"fencepost/relay/wire"
)

// Answer is reserved room for one answer to the client: exactly one of Send and
// Drop must be called on it, once, from any goroutine.
type Answer struct {
	conn  *Conn
	bytes int
}

// ReserveAnswer waits until the queue has room for one answer (G8: the reader
// stops reading while it has not). It returns ErrClosed or the context's error.
func (c *Conn) ReserveAnswer(ctx context.Context) (Answer, error) {
	return c.ReserveLong(ctx, answerBytes)
}

// ReserveLong is ReserveAnswer for an answer of up to n bytes, which is a part of
// Limits.QueueBytes: more would never find room.
func (c *Conn) ReserveLong(ctx context.Context, n int) (Answer, error) {
	for {
		room, err := c.tryAnswer(n)
		if room == nil {
			return Answer{conn: c, bytes: n}, err
		}
		if err := c.awaitRoom(ctx, room); err != nil {
			return Answer{}, err
		}
	}
}

func (c *Conn) tryAnswer(n int) (room <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != open {
		return nil, ErrClosed
	}
	if !c.queue.fits(1, n) {
		return c.roomLocked(), nil
	}
	c.queue.reserve(1, n)
	c.answers++
	return nil, nil
}

// Send queues the answer, also while the connection is flushing. It never blocks.
func (a Answer) Send(text []byte) {
	c := a.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	a.sendLocked(Frame{kind: kindControl, text: text})
}

func (a Answer) sendLocked(f Frame) {
	c := a.conn
	c.queue.unreserve(1, a.bytes)
	c.answers--
	if c.state != finished {
		c.queue.push(f)
	}
	c.wakeLocked()
	if a.bytes > answerBytes {
		c.freedLocked() // less was needed than promised
	}
}

// Drop gives the room back.
func (a Answer) Drop() {
	c := a.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	a.dropLocked()
}

func (a Answer) dropLocked() {
	c := a.conn
	c.queue.unreserve(1, a.bytes)
	c.answers--
	c.wakeLocked()
	c.freedLocked()
}

// Charge counts a COUNT with the weight of its filters and reports whether the
// connection may have it beside its subscriptions: each one that waits costs a
// goroutine, so there is a bound of their own. Discharge gives back what was counted.
func (c *Conn) Charge(weight int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.charged >= maxCharged || c.weight+weight > c.limits.Weight {
		return false
	}
	c.charged++
	c.weight += weight
	return true
}

// Discharge gives back what Charge counted.
func (c *Conn) Discharge(weight int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.charged--
	c.weight -= weight
}

// Notify queues an unsolicited frame (NOTICE, the AUTH challenge) and reports
// whether there was room; the caller counts what was dropped.
func (c *Conn) Notify(text []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != open || !c.queue.fits(1, len(text)) {
		return false
	}
	c.queue.push(Frame{kind: kindControl, text: text})
	c.wakeLocked()
	return true
}

// EvictAll ends every current generation with CLOSED, as a drain does.
func (c *Conn) EvictAll(r wire.Reason) (ended []*Handle) {
	ended = c.evictAll(r)
	for _, h := range ended {
		h.stop()
	}
	return ended
}

func (c *Conn) evictAll(r wire.Reason) (ended []*Handle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.slots {
		if h.state != retired {
			ended = append(ended, h)
		}
	}
	for _, h := range ended {
		h.endLocked(r)
	}
	return ended
}

// Take moves queued frames to dst until maxBytes are reached, leaving out those
// of retired generations. Frames whose grant does not hold stay, with what is
// behind them in their generation, and are decided about in the connection's
// group; the writer is started again when that is done. done says that the connection is closing
// and that nothing is left to write, now or later. Only the writer calls it, and
// returns when it got nothing.
func (c *Conn) Take(dst []Frame, maxBytes int) (frames []Frame, done bool) {
	frames, done, decide := c.take(dst, maxBytes)
	if decide {
		c.group.Go("decide", c.decide)
	}
	return frames, done
}

func (c *Conn) take(dst []Frame, maxBytes int) (frames []Frame, done, decide bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	queued := c.queue.frames
	dst, undecided := c.queue.take(dst, maxBytes)
	for _, f := range dst {
		switch f.kind {
		case kindClosed:
			f.handle.closing = false
			delete(c.slots, f.handle.id)
		case kindEOSE:
			f.handle.tookEOSELocked()
		}
	}
	if c.queue.frames < queued {
		c.freedLocked()
	}
	decide = undecided && !c.deciding
	c.deciding = c.deciding || undecided
	done = c.state != open && len(dst) == 0 && (c.answers == 0 || c.state == finished || c.writer.gaveUp)
	c.tookLocked(len(dst), done)
	return dst, done, decide
}

// Usage is what a connection holds at one moment.
type Usage struct {
	Subscriptions int // generations that are not retired
	Frames, Bytes int // queued and wanted
	Reserved      int // bytes promised to EOSE, CLOSED and answers
	Weight        int // of the filters of subscriptions and running COUNTs
}

// Usage returns what the connection holds.
func (c *Conn) Usage() Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Usage{
		Subscriptions: c.current, Frames: c.queue.frames, Bytes: c.queue.bytes,
		Reserved: c.queue.reservedBytes, Weight: c.weight,
	}
}

// roomLocked returns a channel that is closed when room is freed.
func (c *Conn) roomLocked() <-chan struct{} {
	if c.room == nil {
		c.room = make(chan struct{})
	}
	return c.room
}

func (c *Conn) freedLocked() {
	if c.room != nil {
		close(c.room)
		c.room = nil
	}
}

// awaitRoom waits for the reader: until room is freed, the connection closes or
// ctx ends.
func (c *Conn) awaitRoom(ctx context.Context, room <-chan struct{}) error {
	select {
	case <-room:
		return nil
	case <-c.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}
