package lifecycle

import (
	"context"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// feedMark is what EOSE and ERR of a feed can be longer than EOSE and CLOSED, in
// bytes: an epoch of 64, twice, and some numbers.
const feedMark = 288

// feed is what a generation of CHANGES has beside that of a REQ.
type feed struct {
	removed bool // set at construction: removals are asked for

	// Guarded by conn.mu.
	over bool         // its EOSE is the last of it
	why  *wire.Reason // then what follows EOSE as ERR; nil: nothing
}

// IsFeed reports whether the generation is one of CHANGES.
func (h *Handle) IsFeed() bool { return h.feed != nil }

// WantsRemoved reports whether the generation is of a feed that asked for removals.
func (h *Handle) WantsRemoved() bool { return h.feed != nil && h.feed.removed }

// ReserveFeed is Reserve for a CHANGES: ids of REQ and CHANGES are the same, and
// whichever is read later replaces the other. What the relay ends is ended with ERR
// in place of CLOSED.
func (c *Conn) ReserveFeed(ctx context.Context, id string, filters []*wire.Filter, removed bool) (h, old *Handle, err error) {
	h = c.newFeed(id, filters)
	h.feed.removed = removed
	return c.reserve(ctx, h)
}

// RefuseFeed is Refuse for a CHANGES: it answers with ERR.
func (c *Conn) RefuseFeed(ctx context.Context, id string, r wire.Reason) (old *Handle, err error) {
	return c.refuse(ctx, c.newFeed(id, nil), r)
}

func (c *Conn) newFeed(id string, filters []*wire.Filter) *Handle {
	return &Handle{
		conn: c, id: id, filters: filters, weight: wire.Weight(filters),
		prefix: wire.AppendChangesPrefix(nil, id), feed: new(feed),
	}
}

// ReplayChange is Replay for a row of the log: the event at that position, or, when
// removed is set, the header of one whose removal stands there.
func (h *Handle) ReplayChange(ctx context.Context, at store.Position, ev *wire.Event, removed bool, grant *Grant) error {
	x := held{position: at, event: ev, removed: removed, grant: grant}
	return h.replay(ctx, x.frame(h))
}

// DeliverRemoved is Deliver for a removal row: ev is the header that it keeps. A
// generation that did not ask for removals drops it.
func (h *Handle) DeliverRemoved(at store.Position, ev *wire.Event, grant *Grant) Delivery {
	if !h.WantsRemoved() {
		return Dropped
	}
	d := h.deliver(held{position: at, event: ev, removed: true, grant: grant})
	if d == Ended {
		h.stop()
	}
	return d
}

// GoLiveAt is GoLive for a feed: everything up to the mark has been looked at.
func (h *Handle) GoLiveAt(mark wire.Mark) (isLive bool, err error) {
	isLive, err = h.goLive(wire.AppendChangesEOSE(nil, h.id, mark))
	if isLive {
		h.stop()
	}
	return isLive, err
}

// Complete ends a feed behind what is queued: with EOSE and then, when why is not
// nil, with ERR. The generation stays current until the writer takes its EOSE, so
// that CLOSE, a newer generation, a revocation or Evict finds what is queued. It is
// not in the index any more. The error is ErrRetired.
func (h *Handle) Complete(mark wire.Mark, why *wire.Reason) error {
	err := h.complete(wire.AppendChangesEOSE(nil, h.id, mark), why)
	if err == nil {
		h.stop()
	}
	return err
}

func (h *Handle) complete(eose []byte, why *wire.Reason) error {
	h.conn.mu.Lock()
	defer h.conn.mu.Unlock()
	if h.state == retired {
		return ErrRetired
	}
	h.feed.over, h.feed.why = true, why
	h.hold, h.holdBytes, h.overflowed = nil, 0, true // nothing is held any more
	h.eosed = true
	h.pushReservedLocked(kindEOSE, eose)
	return nil
}

// tookEOSELocked ends a feed of which EOSE was the last.
func (h *Handle) tookEOSELocked() {
	switch {
	case h.feed == nil || !h.feed.over || h.state == retired:
	case h.feed.why != nil:
		h.endLocked(*h.feed.why)
	default:
		h.retireLocked()
	}
}

// Resync ends the generation of a feed with an ERR that says from where it could go
// on: its position is not one of this log, or is one that the log does not keep any
// more. Otherwise it is Evict.
func (h *Handle) Resync(r wire.Reason, log wire.Log) bool {
	done := h.resync(wire.AppendChangesErr(nil, h.id, r, &log))
	if done {
		h.stop()
	}
	return done
}

func (h *Handle) resync(text []byte) bool {
	h.conn.mu.Lock()
	defer h.conn.mu.Unlock()
	if h.state == retired {
		return false
	}
	h.endWithLocked(text)
	return true
}

// SightOf says who may see ev, or, when it was removed, who may learn that. It may
// block.
func (c *Conn) SightOf(ev *wire.Event, removed bool) Sight {
	if removed {
		return c.gone(ev)
	}
	return c.sight(ev)
}
