package lifecycle

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"fencepost/lifecycle/pause"
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

	// Write is the writer: it is called with the group's context when there may be
	// something to Take, never twice at a time. It takes and writes until Take gives
	// no frame and returns; over says that it is not to be called again, because Take
	// said done or the client cannot be written to. Nil: the caller polls Take.
	Write func(ctx context.Context) (over bool)
	Crew  *Crew // runs Write; nil: one of its own

	// Sight says who may see an event whose frame is queued without a grant that
	// holds; nil: everybody. It is called outside the lock and may block.
	Sight func(ev *wire.Event) Sight
	// SightOfRemoved says who may learn that an event is gone, of which a header is
	// left; nil: whoever Sight lets see it. The rest is as with Sight.
	SightOfRemoved func(ev *wire.Event) Sight
	// OnEnded is called outside the lock with a generation that was ended because
	// Sight's answer was an error: it is to be taken out of the index. May be nil.
	OnEnded func(h *Handle)
	Pause   *pause.Hook
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
	sight    func(ev *wire.Event) Sight
	gone     func(ev *wire.Event) Sight // Options.SightOfRemoved
	onEnded  func(h *Handle)
	pause    *pause.Hook
	group    *Group
	queries  chan struct{} // semaphore of running queries; never closed
	closing  chan struct{} // closed when state leaves open
	writer   writer        // its state is guarded by mu

	keys   atomic.Pointer[[]string] // that have authenticated; written by the reader only
	opened time.Time                // set at construction, never changed
	active atomic.Int64             // of the client's last message, Unix nanoseconds; 0 for none

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
	charged int // COUNTs that wait or run
	// +checklocks:mu
	ended []*Handle // retired by Close, for Finish to return
	// +checklocks:mu
	answers int // reserved and not sent
	// +checklocks:mu
	queue queue
	// +checklocks:mu
	deciding bool // decide runs, or is about to
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
	if o.Sight == nil {
		o.Sight = func(*wire.Event) Sight { return Sight{} }
	}
	if o.SightOfRemoved == nil {
		o.SightOfRemoved = o.Sight
	}
	if o.OnEnded == nil {
		o.OnEnded = func(*Handle) {}
	}
	c := &Conn{
		id: o.ID, peer: o.Peer, limits: o.Limits, closeAck: o.CloseAck, onClose: o.OnClose,
		sight: o.Sight, gone: o.SightOfRemoved, onEnded: o.OnEnded, pause: o.Pause,
		group:   NewGroup(ctx),
		opened:  time.Now(),
		queries: make(chan struct{}, o.Limits.Queries),
		closing: make(chan struct{}),
		slots:   make(map[string]*Handle),
		queue:   queue{maxFrames: o.Limits.QueueFrames, maxBytes: o.Limits.QueueBytes},
	}
	c.initWriter(o.Write, o.Crew)
	return c
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

// Close stops the connection: nothing but answers enters the queue, every
// generation is retired, and the reader is told. The first cause stays. It does
// not wait; the writer flushes what is left and then writes the close frame.
func (c *Conn) Close(cause Cause) {
	ended, first := c.close(cause)
	for _, h := range ended {
		h.stop()
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
