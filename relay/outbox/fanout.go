package outbox

import (
	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
)

// fanout delivers one event to those who asked for it and may see it. It waits
// for nobody: a decision that takes time is left to the reader's own connection.
func (f *Follower) fanout(e *store.Entry) {
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
	for _, h := range f.candidates {
		if !e.Matches(h.Filters(), now) {
			continue
		}
		if sight.May != nil && !sight.May(h.Conn().Keys()) {
			continue
		}
		f.pause.At(pause.FanoutDecided)
		switch h.Deliver(e.Position, e.Event, grant) {
		case lifecycle.Ended:
			f.index.Remove(h)
			f.metrics.SubscriptionEnded("slow")
		case lifecycle.Dropped:
			f.metrics.FrameDropped("stale")
		}
	}
	clear(f.candidates)
}
