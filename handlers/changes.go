package handlers

import (
	"context"
	"errors"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/wire"
)

// errNotLive follows the EOSE of a live feed that did not get to the end of the log.
var errNotLive = wire.Because(wire.Failed, "there is more than was sent, go on from the last position")

// changes begins a feed in the reader and sends it the log in a query. Its steps are
// those of req, and it is a generation like any other.
func (s *Session) changes(ctx context.Context, m *wire.ChangesMessage) {
	version := s.reading.Version() // before the filter is judged
	keys := s.conn.Keys()
	filters := []*wire.Filter{m.Filter}
	err := s.checkFilters(filters)
	late := s.mayBeLate(err)
	if err != nil && !late {
		s.refuseFeed(ctx, m.ID, reason(err, "could not read the filter"))
		return
	}
	s.pause.At(pause.ReqJudged)
	h, old, err := s.conn.ReserveFeed(ctx, m.ID, filters, m.Removed)
	s.unindex(old)
	switch {
	case err != nil: // the connection is ending
	case h == nil:
		s.metrics.SubscriptionEnded(string(wire.RateLimited))
	case late || s.reading.Version() == version || s.mayStill(h):
		s.pause.At(pause.ReqReserved)
		s.conn.Query(h.Context(), "changes", func(ctx context.Context) {
			if !late || s.mayNow(ctx, h, keys) {
				s.follow(ctx, h, m)
			}
		})
	}
}

// refuseFeed answers a CHANGES with ERR and ends the older generation of its id (G5).
func (s *Session) refuseFeed(ctx context.Context, id string, r wire.Reason) {
	old, err := s.conn.RefuseFeed(ctx, id, r)
	if err != nil {
		return // the connection is ending
	}
	s.metrics.SubscriptionEnded(string(r.Prefix))
	s.unindex(old)
}

// follow runs a feed from reserved to live, or to its end. Like replay it ends
// silently when the generation is retired.
func (s *Session) follow(ctx context.Context, h *lifecycle.Handle, m *wire.ChangesMessage) {
	if ctx.Err() != nil {
		return // retired while it waited for a place
	}
	s.pause.At(pause.ReqStarted)
	if m.Live {
		s.index.Add(h)
		s.pause.At(pause.ReqIndexed)
		if !h.Current() { // CLOSE or something newer came before Add and found nothing to remove
			s.index.Remove(h)
			return
		}
	}
	begin, w := s.now(), &walk{Session: s, handle: h, message: m, rows: firstPage, work: budget{left: s.limits.Load().QueryTimeout}}
	err := w.run(ctx)
	s.metrics.Query(s.now().Sub(begin), w.sent)
	var anew *resync
	switch {
	case err == nil:
	case errors.As(err, &anew):
		if h.Resync(anew.why, anew.log) {
			s.metrics.SubscriptionEnded(string(wire.Resync))
		}
		s.index.Remove(h)
	default:
		s.failed(h, err)
	}
}
