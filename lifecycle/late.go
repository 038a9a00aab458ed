package lifecycle

import (
	"slices"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// DeliverLate is Deliver for a row that was deferred: later positions have been
// delivered before it, so the high-water mark says nothing about it (R6). It is
// wanted when it lies above A, or is one of those that Begin was told of, and
// dropped otherwise: the replay has sent it. No row may be delivered twice to one
// handle in this way, nor one that Deliver was called with.
func (h *Handle) DeliverLate(at store.Position, ev *wire.Event, grant *Grant) Delivery {
	d := h.deliver(held{position: at, event: ev, grant: grant, late: true})
	if d == Ended {
		h.stop()
	}
	return d
}

// EvictOwed is Evict for a row that will not be delivered (O17): it ends the
// generation if the row is wanted in the sense of DeliverLate, and returns false
// and does nothing otherwise.
func (h *Handle) EvictOwed(at store.Position, r wire.Reason) bool {
	done := h.evictOwed(at, r)
	if done {
		h.stop()
	}
	return done
}

func (h *Handle) evictOwed(at store.Position, r wire.Reason) bool {
	h.conn.mu.Lock()
	defer h.conn.mu.Unlock()
	if h.state == retired || !h.owedLocked(at) {
		return false
	}
	h.endLocked(r)
	return true
}

// wantsLocked reports whether neither an earlier frame nor the replay covers x.
func (h *Handle) wantsLocked(x held) bool {
	if x.late {
		return h.owedLocked(x.position)
	}
	return x.position > h.floor
}

// owedLocked reports whether a deferred row is for h to get live. Before Begin all
// are.
func (h *Handle) owedLocked(at store.Position) bool {
	if at > h.base {
		return true
	}
	_, late := slices.BinarySearch(h.late, at)
	return late
}
