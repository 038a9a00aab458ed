package outbox

import (
	"slices"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// fanoutRemoval tells the feeds that asked for it that an event is gone: those that
// its header matches and whose reader could see it. Most removals concern none.
func (f *Follower) fanoutRemoval(e *store.Entry) {
	gone := e.Removal.Event
	f.candidates = slices.DeleteFunc(f.index.Candidates(f.candidates[:0], gone), func(h *lifecycle.Handle) bool {
		return !h.WantsRemoved() || !wire.MatchesAny(h.Filters(), gone)
	})
	if len(f.candidates) == 0 {
		return
	}
	f.pause.At(pause.FanoutSelected)
	for _, h := range f.candidates {
		sight := h.Conn().SightOf(gone, true)
		grant := sight.Grant
		if sight.Ask != nil {
			grant = lifecycle.Undecided
		}
		if sight.May != nil && !sight.May(h.Conn().Keys()) {
			continue
		}
		f.pause.At(pause.FanoutDecided)
		switch h.DeliverRemoved(e.Position, gone, grant) {
		case lifecycle.Ended:
			f.index.Remove(h)
			f.metrics.SubscriptionEnded("slow")
		case lifecycle.Dropped:
			f.metrics.FrameDropped("stale")
		}
	}
	clear(f.candidates)
}
