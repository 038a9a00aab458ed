package lifecycle

import (
	"context"
	"errors"
	"strings"
	"time"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// state of a generation; it only grows.
type state uint8

const (
	pending   state = iota // reserved; live frames are held, A is not known
	replaying              // stored events are being sent, live frames are held
	live                   // EOSE is queued, live frames go straight to the queue
	retired                // over; nothing of it enters the queue any more
)

// ErrRetired is returned when a frame comes too late: its generation is over.
var ErrRetired = errors.New("subscription generation is retired")

// ErrSlow is returned when stored events found no room in time. The
// subscription has been closed with CLOSED.
var ErrSlow = errors.New("client does not read")

// Handle is one generation of a subscription. See the package comment.
type Handle struct {
	// Set at construction, never changed.
	conn    *Conn
	id      string
	filters []*wire.Filter
	weight  int    // of the filters
	prefix  []byte // what stands before the event in an EVENT frame, before the change in one of a feed
	feed    *feed  // nil for that of a REQ

	// Guarded by conn.mu.
	ctx        context.Context // nil once it has ended
	cancel     context.CancelFunc
	state      state
	floor      store.Position // live frames at or below it were sent or are stored
	base       store.Position // A: what is at or below it is stored, but for late
	late       []store.Position
	hold       []held
	holdBytes  int
	overflowed bool   // the hold was too small; the log must be read instead
	eosed      bool   // EOSE has been queued
	closing    bool   // CLOSED is queued and still wanted
	reserved   int    // bytes reserved for EOSE and CLOSED
	charged    int    // weight counted for this generation
	passed     uint64 // the last Take that passed over an undecided frame
	// What the queue counts for this generation.
	queued, queuedBytes int
}

// ID returns the subscription id.
func (h *Handle) ID() string { return h.id }

// Filters returns the filters of the REQ. The caller must not change them.
func (h *Handle) Filters() []*wire.Filter { return h.filters }

// Conn returns the connection.
func (h *Handle) Conn() *Conn { return h.conn }

// Current reports whether the generation is not retired. Whoever puts a handle
// where others find it asks this afterwards, and takes it out again if not.
func (h *Handle) Current() bool {
	h.conn.mu.Lock()
	defer h.conn.mu.Unlock()
	return h.state != retired
}

// Begin sets A: what is stored up to it is replayed, what is live at or below it
// is dropped. late are the exceptions, in rising order: deferred rows at or below A,
// which the caller does not replay and DeliverLate brings. It is called again after
// every Restart, with the new A. The caller must not change late.
func (h *Handle) Begin(a store.Position, late ...store.Position) {
	h.conn.mu.Lock()
	defer h.conn.mu.Unlock()
	if h.state == pending {
		h.state = replaying
	}
	h.floor, h.base, h.late = max(h.floor, a), max(h.base, a), late
}

// Replay queues a stored event that the reader may see under grant, waiting for
// room up to the room timeout. It returns ErrRetired, ErrSlow or the context's
// error.
func (h *Handle) Replay(ctx context.Context, ev *wire.Event, grant *Grant) error {
	return h.replay(ctx, Frame{kind: kindEvent, handle: h, event: ev, grant: grant})
}

func (h *Handle) replay(ctx context.Context, f Frame) error {
	for {
		room, err := h.tryReplay(f)
		if room == nil {
			return err
		}
		if err := h.awaitRoom(ctx, room); err != nil {
			return err
		}
	}
}

func (h *Handle) tryReplay(f Frame) (room <-chan struct{}, err error) {
	c := h.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.state == retired {
		return nil, ErrRetired
	}
	if !c.queue.fitsHistory(f.Len()) {
		return c.roomLocked(), nil
	}
	c.queue.push(f)
	c.wakeLocked()
	return nil, nil
}

func (h *Handle) awaitRoom(ctx context.Context, room <-chan struct{}) error {
	timer := time.NewTimer(h.conn.limits.RoomTimeout)
	defer timer.Stop()
	select {
	case <-room:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		h.Evict(reasonSlow)
		return ErrSlow
	}
}

// GoLive ends the replay in one critical section: EOSE (once), what was held,
// and the switch to live. It returns false when live frames were lost to the
// hold or do not fit the queue now: the caller then calls Restart, reads the
// log from the last A on, and tries again. hint is that of EOSE (NIP-67).
func (h *Handle) GoLive(hint wire.Hint) (isLive bool, err error) {
	isLive, err = h.goLive(wire.AppendEOSE(nil, h.id, hint))
	if isLive {
		h.stop() // the replay's context has done its work
	}
	return isLive, err
}

func (h *Handle) goLive(eose []byte) (isLive bool, err error) {
	c := h.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.state == retired {
		return false, ErrRetired
	}
	if !h.eosed {
		h.eosed = true
		h.pushReservedLocked(kindEOSE, eose)
	}
	h.dropHeldLocked()
	if h.overflowed || !c.queue.fits(len(h.hold), h.holdBytes) {
		return false, nil
	}
	for _, x := range h.hold {
		c.queue.push(x.frame(h))
		h.floor = max(h.floor, x.position)
	}
	h.hold, h.holdBytes = nil, 0
	h.state = live
	c.wakeLocked()
	return true, nil
}

// dropHeldLocked drops held frames that the replay covers.
func (h *Handle) dropHeldLocked() {
	kept := h.hold[:0]
	for _, x := range h.hold {
		if h.wantsLocked(x) {
			kept = append(kept, x)
			continue
		}
		h.holdBytes -= x.frame(h).Len()
	}
	clear(h.hold[len(kept):])
	h.hold = kept
}

// Restart empties the hold after GoLive returned false. From here on live
// frames are held again; the caller reads the begun position after this call,
// replays the log up to it, calls Begin with it and then GoLive.
func (h *Handle) Restart() {
	h.conn.mu.Lock()
	defer h.conn.mu.Unlock()
	h.hold, h.holdBytes, h.overflowed = nil, 0, false
}

// Delivery says what became of a live frame.
type Delivery uint8

const (
	Queued  Delivery = iota // in the outbound queue
	Held                    // kept until the replay ends, or to be read from the log then
	Dropped                 // not wanted: retired, or at or below the high-water mark
	Ended                   // no room: CLOSED was queued and the handle is retired
)

// Deliver is the fence: it compares the generation at the instant of insertion.
// The reader may see the event under grant; with Undecided that is asked before
// the frame is taken. Positions of one handle must come in increasing order. On Ended the caller
// takes the handle out of the index. It never blocks.
func (h *Handle) Deliver(at store.Position, ev *wire.Event, grant *Grant) Delivery {
	d := h.deliver(held{position: at, event: ev, grant: grant})
	if d == Ended {
		h.stop()
	}
	return d
}

func (h *Handle) deliver(x held) Delivery {
	c := h.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.state == retired { // race: fanout against CLOSE, replacement, eviction
		return Dropped
	}
	if !h.wantsLocked(x) {
		return Dropped
	}
	if h.state != live {
		h.holdLocked(x)
		return Held
	}
	f := x.frame(h)
	if !c.queue.fits(1, f.Len()) {
		h.endLocked(reasonSlow)
		return Ended
	}
	h.floor = max(h.floor, x.position)
	c.queue.push(f)
	c.wakeLocked()
	return Queued
}

func (h *Handle) holdLocked(x held) {
	if h.overflowed {
		return
	}
	n := x.frame(h).Len()
	l := h.conn.limits
	if len(h.hold) >= l.HoldFrames || h.holdBytes+n > l.HoldBytes {
		h.hold, h.holdBytes, h.overflowed = nil, 0, true
		return
	}
	h.hold = append(h.hold, x)
	h.holdBytes += n
}

// Evict ends exactly this generation with CLOSED. It returns false, and does
// nothing, when the generation is retired already. On true the caller takes the
// handle out of the index.
func (h *Handle) Evict(r wire.Reason) bool {
	done := h.evict(r)
	if done {
		h.stop()
	}
	return done
}

func (h *Handle) evict(r wire.Reason) bool {
	h.conn.mu.Lock()
	defer h.conn.mu.Unlock()
	if h.state == retired { // race: eviction against same-id replacement
		return false
	}
	h.endLocked(r)
	return true
}

// endLocked retires h with CLOSED, for which room is reserved.
func (h *Handle) endLocked(r wire.Reason) {
	r.Text = clip(r.Text)
	if h.feed != nil && r != (wire.Reason{}) { // without a reason it answers CLOSE
		h.endWithLocked(wire.AppendChangesErr(nil, h.id, r, nil))
		return
	}
	h.endWithLocked(wire.AppendClosed(nil, h.id, r))
}

// endWithLocked retires h with its last frame, which fits what is reserved for it.
func (h *Handle) endWithLocked(text []byte) {
	h.retireLocked()
	h.closing = true
	h.conn.slots[h.id] = h // until the writer takes the frame
	h.conn.queue.push(Frame{kind: kindClosed, handle: h, text: text})
	h.conn.wakeLocked()
}

// retireLocked ends h: its reservation, hold and queued frames are given back.
// Whatever is still in the queue for it is dropped at write time.
func (h *Handle) retireLocked() {
	c := h.conn
	c.queue.unreserve(h.reservedFrames(), h.reserved)
	h.state = retired
	h.hold, h.holdBytes = nil, 0
	h.reserved = 0
	c.queue.forget(h)
	c.queue.compact()
	c.current--
	c.weight -= h.charged
	if c.slots[h.id] == h {
		delete(c.slots, h.id)
	}
	c.freedLocked()
}

// reservedFrames returns how many frames are reserved: CLOSED, and EOSE until it
// is queued.
func (h *Handle) reservedFrames() int {
	switch {
	case h.state == retired:
		return 0
	case h.eosed:
		return 1
	default:
		return 2
	}
}

// pushReservedLocked queues a frame for which the handle's reservation pays.
func (h *Handle) pushReservedLocked(k kind, text []byte) {
	h.conn.queue.unreserve(1, len(text))
	h.reserved -= len(text)
	h.conn.queue.push(Frame{kind: k, handle: h, text: text})
	h.conn.wakeLocked()
}

// clip cuts text to maxReason bytes without leaving half a rune.
func clip(text string) string {
	if len(text) <= maxReason {
		return text
	}
	return strings.ToValidUTF8(text[:maxReason], "")
}
