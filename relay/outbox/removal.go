package outbox

import (
	"slices"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// fanoutRemoval tells the feeds that asked for it that an event is gone: those that
// its header matches and whose reader could see it. Most removals concern none. What
// panics is as in fanout.
func (f *Follower) fanoutRemoval(e *store.Entry) {
	gone := e.Removal.Event
	f.candidates = slices.DeleteFunc(f.index.Candidates(f.candidates[:0], gone), func(h *lifecycle.Handle) bool {
		return !h.WantsRemoved() || !wire.MatchesAny(h.Filters(), gone)
	})
	if len(f.candidates) == 0 {
		return
	}
	f.pause.At(pause.FanoutSelected)
	f.serve(e, func(h *lifecycle.Handle) {
		sight := h.Conn().SightOf(gone, true)
		grant := sight.Grant
		if sight.Ask != nil {
			grant = lifecycle.Undecided
		}
		if sight.May != nil && !sight.May(h.Conn().Keys()) {
			return
		}
		f.pause.At(pause.FanoutDecided)
		f.delivered(h, h.DeliverRemoved(e.Position, gone, grant))
	})
}
