package lifecycle

import (
	"context"
	"errors"
	"sync"

	"fencepost/relay/wire"
)

// ErrClosed is returned when the connection takes nothing more.
var ErrClosed = errors.New("connection is closed")

// reasonSlow ends a subscription whose client does not read fast enough (G8).
var reasonSlow = wire.Because(wire.Failed, "too slow, events would be lost; subscribe again")

// Options make a Conn.
type Options struct {
	ID       uint64
	Peer     Peer
	Limits   Limits
	CloseAck bool   // answer CLOSE with CLOSED
	OnClose  func() // called once when Close begins, outside the lock; may be nil, must not block
}

// Cause says why a connection ends. Code is of RFC 6455 section 7.4.
type Cause struct {
	Code int
	Text string
}

// Conn is one connection. See the package comment for who may call what.
type Conn struct {
	// Set at construction, never changed.
	id       uint64
	peer     Peer
	limits   Limits
	closeAck bool
	onClose  func()
	group    *Group
	queries  chan struct{} // semaphore of running queries; never closed
	ready    chan struct{} // wakes the writer; capacity 1, never closed
	closing  chan struct{} // closed when state leaves open

	mu sync.Mutex // the lifecycle lock; guards the fields below and every handle's state
	// +checklocks:mu
	state connState
	// +checklocks:mu
	cause Cause
	// +checklocks:mu
	slots map[string]*Handle // subscription id -> current generation, or one whose CLOSED is queued
	// +checklocks:mu
	current int // generations that are not retired
	// +checklocks:mu
	weight int // of the filters of current generations and running COUNTs
	// +checklocks:mu
	ended []*Handle // retired by Close, for Finish to return
	// +checklocks:mu
	answers int // reserved and not sent
	// +checklocks:mu
	queue queue
	// +checklocks:mu
	room chan struct{} // closed when room is freed; nil when nobody waits
}

type connState uint8

const (
	open     connState = iota
	flushing           // Close was called: answers may still be sent
	finished           // nothing enters the queue
)

// NewConn returns an open connection whose goroutines end with ctx.
func NewConn(ctx context.Context, o Options) *Conn {
	return &Conn{
		id: o.ID, peer: o.Peer, limits: o.Limits, closeAck: o.CloseAck, onClose: o.OnClose,
		group:   NewGroup(ctx),
		queries: make(chan struct{}, o.Limits.Queries),
		ready:   make(chan struct{}, 1),
		closing: make(chan struct{}),
		slots:   make(map[string]*Handle),
		queue:   queue{maxFrames: o.Limits.QueueFrames, maxBytes: o.Limits.QueueBytes},
	}
}

// ID returns the number of the connection, unique within the process.
func (c *Conn) ID() uint64 { return c.id }

// Peer returns who is at the other end.
func (c *Conn) Peer() Peer { return c.peer }

// Limits returns the connection's limits.
func (c *Conn) Limits() Limits { return c.limits }

// Group returns the goroutines that live as long as the connection.
func (c *Conn) Group() *Group { return c.group }

// Closing is closed when Close is called: the reader stops then.
func (c *Conn) Closing() <-chan struct{} { return c.closing }

// Cause returns why the connection ends; the zero Cause while it is open.
func (c *Conn) Cause() Cause {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// Reserve begins a new generation of id and retires the older one in the same
// critical section (G2). It waits until the queue has room for EOSE and CLOSED.
// old, when not nil, is to be taken out of the index. Over the limit of
// subscriptions the id is refused with CLOSED (G5) and h is nil.
func (c *Conn) Reserve(ctx context.Context, id string, filters []*wire.Filter) (h, old *Handle, err error) {
	h = c.newHandle(id, filters)
	h.ctx, h.cancel = context.WithCancel(c.group.Context())
	for {
		got, old, room, err := c.tryReserve(h)
		if room == nil {
			if got == nil {
				h.cancel()
			}
			finishHandle(old)
			return got, old, err
		}
		if err := c.awaitRoom(ctx, room); err != nil {
			h.cancel()
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
	h := c.newHandle(id, nil)
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
		h.cancel()
	}
}

// room returns the bytes that EOSE and CLOSED of h can need.
func (h *Handle) room() (eose, closed int) {
	const frame = 32 // everything but the quoted id and the reason
	id := len(h.prefix)
	return id + frame, id + frame + 2*maxReason
}

// Close stops the connection: nothing but answers enters the queue, every
// generation is retired, and the reader is told. The first cause stays. It does
// not wait; the writer flushes what is left and then writes the close frame.
func (c *Conn) Close(cause Cause) {
	ended, first := c.close(cause)
	for _, h := range ended {
		h.cancel()
	}
	if first && c.onClose != nil {
		c.onClose()
	}
}

func (c *Conn) close(cause Cause) (ended []*Handle, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != open {
		return nil, false
	}
	c.state, c.cause = flushing, cause
	close(c.closing)
	for _, h := range c.slots {
		if h.state != retired {
			h.retireLocked()
			ended = append(ended, h)
		}
	}
	c.ended = ended
	c.wakeLocked()
	c.freedLocked()
	return ended, true
}

// Finish drops what is left and returns the generations that Close retired, for
// the caller to take out of the index. The group's context ends here.
func (c *Conn) Finish() []*Handle {
	c.Close(Cause{})
	ended := c.finish()
	c.group.Cancel()
	return ended
}

func (c *Conn) finish() []*Handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = finished
	c.queue.items, c.queue.head, c.queue.frames, c.queue.bytes = nil, 0, 0, 0
	clear(c.slots)
	ended := c.ended
	c.ended = nil
	c.freedLocked()
	return ended
}
