package lifecycle

import (
	"context"

	"fencepost/relay/wire"
)

// Reserve begins a new generation of id and retires the older one in the same
// critical section (G2). It waits until the queue has room for EOSE and CLOSED.
// old, when not nil, is to be taken out of the index. Over the limit of
// subscriptions the id is refused with CLOSED (G5) and h is nil.
func (c *Conn) Reserve(ctx context.Context, id string, filters []*wire.Filter) (h, old *Handle, err error) {
	return c.reserve(ctx, c.newHandle(id, filters))
}

func (c *Conn) reserve(ctx context.Context, h *Handle) (got, old *Handle, err error) {
	h.ctx, h.cancel = context.WithCancel(c.group.Context())
	for {
		got, old, room, err := c.tryReserve(h)
		if room == nil {
			if got == nil {
				h.stop()
			}
			finishHandle(old)
			return got, old, err
		}
		if err := c.awaitRoom(ctx, room); err != nil {
			h.stop()
			return nil, nil, err
		}
	}
}

func (c *Conn) newHandle(id string, filters []*wire.Filter) *Handle {
	return &Handle{
		conn: c, id: id, filters: filters, weight: wire.Weight(filters), prefix: wire.AppendEventPrefix(nil, id),
	}
}

func (c *Conn) tryReserve(h *Handle) (got, old *Handle, room <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != open {
		return nil, nil, nil, ErrClosed
	}
	eose, closed := h.room()
	if !c.fitsAfterLocked(h.id, 2, eose+closed) {
		return nil, nil, c.roomLocked(), nil
	}
	old = c.supersedeLocked(h.id)
	if r := c.overLocked(h); r != (wire.Reason{}) {
		c.refuseLocked(h, r)
		return nil, old, nil, nil
	}
	h.charged = h.weight
	c.weight += h.charged
	h.reserved = eose + closed
	c.queue.reserve(2, h.reserved)
	c.slots[h.id] = h
	c.current++
	return h, old, nil, nil
}

// Refuse answers a REQ for id with CLOSED and ends the older generation in the
// same critical section (G5). It waits for room like Reserve.
func (c *Conn) Refuse(ctx context.Context, id string, r wire.Reason) (old *Handle, err error) {
	return c.refuse(ctx, c.newHandle(id, nil), r)
}

func (c *Conn) refuse(ctx context.Context, h *Handle, r wire.Reason) (old *Handle, err error) {
	for {
		old, room, err := c.tryRefuse(h, r)
		if room == nil {
			finishHandle(old)
			return old, err
		}
		if err := c.awaitRoom(ctx, room); err != nil {
			return nil, err
		}
	}
}

func (c *Conn) tryRefuse(h *Handle, r wire.Reason) (old *Handle, room <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != open {
		return nil, nil, ErrClosed
	}
	if _, closed := h.room(); !c.fitsAfterLocked(h.id, 1, closed) {
		return nil, c.roomLocked(), nil
	}
	old = c.supersedeLocked(h.id)
	c.refuseLocked(h, r)
	return old, nil, nil
}

// refuseLocked queues the CLOSED of a generation that never began.
func (c *Conn) refuseLocked(h *Handle, r wire.Reason) {
	h.state = pending
	h.eosed = true // one frame's reservation, the CLOSED's
	c.queue.reserve(1, 0)
	c.current++
	h.endLocked(r)
}

// overLocked returns why h would be one too many, or nothing.
func (c *Conn) overLocked(h *Handle) wire.Reason {
	switch {
	case c.current >= c.limits.Subscriptions:
		return wire.Because(wire.RateLimited, "too many subscriptions on this connection")
	case c.weight+h.weight > c.limits.Weight:
		return wire.Because(wire.RateLimited, "too many filter values on this connection")
	default:
		return wire.Reason{}
	}
}

// supersedeLocked ends whatever id stood for: a current generation is retired
// and returned, and a CLOSED that is still queued for an earlier one is muted,
// because the client would take it for the newer one's (G3).
func (c *Conn) supersedeLocked(id string) (old *Handle) {
	h := c.slots[id]
	if h == nil {
		return nil
	}
	if h.state == retired {
		c.muteLocked(h)
		return nil
	}
	h.retireLocked()
	return h
}

// muteLocked drops the queued CLOSED of h.
func (c *Conn) muteLocked(h *Handle) {
	h.closing = false
	c.queue.forget(h)
	c.queue.compact()
	delete(c.slots, h.id)
	c.freedLocked()
}

// fitsAfterLocked reports whether there is room once id's older generation has
// given back its own.
func (c *Conn) fitsAfterLocked(id string, frames, bytes int) bool {
	if h := c.slots[id]; h != nil {
		frames -= h.queued + h.reservedFrames()
		bytes -= h.queuedBytes + h.reserved
	}
	return c.queue.fits(frames, bytes)
}

// Release retires the generation of id, if there is one, and drops what is
// queued for it (G1). old is to be taken out of the index. It never blocks.
func (c *Conn) Release(id string) (old *Handle) {
	old = c.release(id)
	finishHandle(old)
	return old
}

func (c *Conn) release(id string) (old *Handle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old = c.slots[id]
	if old == nil {
		return nil
	}
	if old.state == retired {
		if !c.closeAck { // else the CLOSED that is queued is the answer
			c.muteLocked(old)
		}
		return nil
	}
	if c.closeAck {
		old.endLocked(wire.Reason{})
		return old
	}
	old.retireLocked()
	return old
}

func finishHandle(h *Handle) {
	if h != nil {
		h.stop()
	}
}

// room returns the bytes that EOSE and CLOSED of h can need.
func (h *Handle) room() (eose, closed int) {
	const frame = 32 // everything but the quoted id and the reason
	id := len(h.prefix)
	eose, closed = id+frame, id+frame+2*maxReason
	if h.feed != nil {
		return eose + feedMark, closed + feedMark
	}
	return eose, closed
}
