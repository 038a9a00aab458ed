package outbox

import (
	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// reasonBroken ends a subscription to which a frame could not be delivered.
var reasonBroken = wire.Because(wire.Failed, "an event could not be delivered; subscribe again")

// fanout delivers one event to those who asked for it and may see it; late says that
// it was deferred. It waits for nobody: a decision that takes time is left to the
// reader's own connection. It panics before anybody has got the event, or not at all.
func (f *Follower) fanout(e *store.Entry, late bool) {
	now := f.now().Unix()
	f.candidates = f.index.Candidates(f.candidates[:0], e.Event)
	f.pause.At(pause.FanoutSelected)
	if len(f.candidates) == 0 {
		return
	}
	sight := f.access.Sight(e.Event)
	grant := sight.Grant
	if sight.Ask != nil {
		grant = lifecycle.Undecided
	}
	f.serve(e, func(h *lifecycle.Handle) {
		if !e.Matches(h.Filters(), now) {
			return
		}
		if sight.May != nil && !sight.May(h.Conn().Keys()) {
			return
		}
		f.pause.At(pause.FanoutDecided)
		if late {
			f.delivered(h, h.DeliverLate(e.Position, e.Event, grant))
		} else {
			f.delivered(h, h.Deliver(e.Position, e.Event, grant))
		}
	})
}

// serve has one serve each candidate. Where that panics the candidate is ended, as it
// would miss the row, and nobody else is held up by it.
func (f *Follower) serve(e *store.Entry, one func(h *lifecycle.Handle)) {
	for next := 0; next < len(f.candidates); {
		next = f.serveFrom(next, e, one)
	}
	clear(f.candidates)
}

// serveFrom returns where to go on: behind a candidate that panicked.
func (f *Follower) serveFrom(next int, e *store.Entry, one func(h *lifecycle.Handle)) (after int) {
	after = next
	defer func() {
		if value := recover(); value != nil {
			f.broken(f.candidates[after], e, value)
			after++
		}
	}()
	for ; after < len(f.candidates); after++ {
		one(f.candidates[after])
	}
	return after
}

func (f *Follower) broken(h *lifecycle.Handle, e *store.Entry, value any) {
	f.logger.Error("row cannot be delivered to one reader", "position", e.Position, "conn", h.Conn().ID(), "sub", h.ID(), "err", value)
	f.end(h, e.Position, reasonBroken)
}

func (f *Follower) delivered(h *lifecycle.Handle, d lifecycle.Delivery) {
	switch d {
	case lifecycle.Ended:
		f.index.Remove(h)
		f.metrics.SubscriptionEnded("slow")
	case lifecycle.Dropped:
		f.metrics.FrameDropped("stale")
	}
}

// end ends a subscription that a row does not reach, if it is to get it live.
func (f *Follower) end(h *lifecycle.Handle, at store.Position, r wire.Reason) {
	if h.EvictOwed(at, r) {
		f.index.Remove(h)
		f.metrics.SubscriptionEnded(string(r.Prefix))
	}
}
