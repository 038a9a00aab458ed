package handlers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// req begins a generation in the reader and replays it in a query. The order of
// steps is that of lifecycle/DESIGN.md: judge, reserve, judge again if permissions
// moved, index, re-check, snapshot, seam, control rows in force, replay, live.
func (s *Session) req(ctx context.Context, m *wire.ReqMessage) {
	version := s.reading.Version() // before the filters are judged
	keys := s.conn.Keys()
	err := s.checkFilters(m.Filters)
	late := s.mayBeLate(err)
	if err != nil && !late {
		s.refuse(ctx, m.ID, reason(err, "could not read the filters"))
		return
	}
	s.pause.At(pause.ReqJudged)
	h, old, err := s.conn.Reserve(ctx, m.ID, m.Filters)
	s.unindex(old)
	if err != nil {
		return // the connection is ending
	}
	if h == nil {
		s.metrics.SubscriptionEnded(string(wire.RateLimited))
		return
	}
	if !late && s.reading.Version() != version && !s.mayStill(h) {
		return
	}
	s.pause.At(pause.ReqReserved)
	s.conn.Query(h.Context(), "req", func(ctx context.Context) {
		if !late || s.mayNow(ctx, h, keys) {
			s.replay(ctx, h)
		}
	})
}

// mayStill judges h again: a revocation that came before Reserve has not seen it
// among those that it ends, and one that comes now does. A refused one is ended.
func (s *Session) mayStill(h *lifecycle.Handle) bool {
	return s.unless(h, s.reading.MayRead(s.conn.Keys(), h.Filters()))
}

// unless ends h because of err, if that is one.
func (s *Session) unless(h *lifecycle.Handle, err error) (goesOn bool) {
	if err == nil {
		return true
	}
	r := reason(err, "could not read the filters")
	if h.Evict(r) {
		s.metrics.SubscriptionEnded(string(r.Prefix))
	}
	return false
}

// maxSearch is how many words one filter may search for. Each is looked up in the index
// of words, and in those of every live event.
const maxSearch = 32

// checkFilters refuses what the relay does not serve (NIP-01 "unsupported",
// NIP-42) or what is larger than its limits.
func (s *Session) checkFilters(filters []*wire.Filter) error {
	l := s.limits.Load()
	if l.Filters > 0 && len(filters) > l.Filters {
		return wire.Because(wire.Invalid, fmt.Sprintf("more than %d filters", l.Filters))
	}
	values := 0
	for _, f := range filters {
		values += f.Values()
		if f.Search != "" && !s.search {
			return wire.Because(wire.Unsupported, "this relay has no search")
		}
		if len(f.Words()) > maxSearch {
			return wire.Because(wire.Invalid, fmt.Sprintf("more than %d words in a search", maxSearch))
		}
		if l.FilterValues > 0 && f.Values() > l.FilterValues {
			return wire.Because(wire.Invalid, fmt.Sprintf("more than %d values in a filter", l.FilterValues))
		}
	}
	if l.Values > 0 && values > l.Values {
		return wire.Because(wire.Invalid, fmt.Sprintf("more than %d values in all filters", l.Values))
	}
	return s.reading.MayRead(s.conn.Keys(), filters)
}

// replay runs a generation from reserved to live. It ends early, and silently,
// when the generation is retired; a failure ends it with CLOSED (G6).
func (s *Session) replay(ctx context.Context, h *lifecycle.Handle) {
	if ctx.Err() != nil {
		return // retired while it waited for a place: thousands of index entries for nothing
	}
	s.pause.At(pause.ReqStarted)
	s.index.Add(h)
	s.pause.At(pause.ReqIndexed)
	if !h.Current() { // CLOSE or a newer REQ came before Add and found nothing to remove
		s.index.Remove(h)
		return
	}
	at, hint, err := s.sendStored(ctx, h)
	if err == nil {
		s.pause.At(pause.ReqReplayed)
		err = s.goLive(ctx, h, at, hint)
	}
	if err != nil {
		s.failed(h, err)
	}
}

// failed ends h unless it has been ended already, which is why most errors come.
func (s *Session) failed(h *lifecycle.Handle, err error) {
	var refused wire.Reason
	switch {
	case errors.Is(err, lifecycle.ErrRetired):
		return // whoever retired it has taken it out of the index
	case errors.Is(err, lifecycle.ErrSlow):
		s.metrics.SubscriptionEnded("slow")
	case errors.Is(err, errTimeout):
		if h.Evict(errTimeout) {
			s.metrics.SubscriptionEnded("timeout")
		}
	case errors.As(err, &refused):
		if h.Evict(refused) {
			s.metrics.SubscriptionEnded(string(refused.Prefix))
		}
	case h.Evict(wire.Because(wire.Failed, "could not read the stored events")):
		s.metrics.SubscriptionEnded(string(wire.Failed))
		s.log.Error("query failed", "conn", s.conn.ID(), "sub", h.ID(), "err", err)
	}
	s.index.Remove(h)
}

// seam is where the stored events of a subscription end and the live ones begin:
// what is at or below a is sent by the replay and dropped live, but for late, which
// the replay leaves out and the fan-out brings (O17).
type seam struct {
	a    store.Position
	late []store.Position // deferred rows, in rising order
}

// has reports whether the replay sends what stands at position at.
func (s seam) has(at store.Position) bool {
	_, late := slices.BinarySearch(s.late, at)
	return at <= s.a && !late
}

// begin makes at the seam of h. What is deferred is asked after h is in the index:
// a row that is taken out of it meets h live, and one that was taken out before is
// stored.
func begin(h *lifecycle.Handle, at seam) { h.Begin(at.a, at.late...) }

// goLive switches h to live. When its hold overflowed meanwhile, the log is read
// from the seam to the new begun position instead, again and again, until the rest
// fits (G8).
func (s *Session) goLive(ctx context.Context, h *lifecycle.Handle, at seam, hint wire.Hint) error {
	for {
		isLive, err := h.GoLive(hint)
		if isLive || err != nil {
			return err
		}
		h.Restart()
		s.pause.At(pause.ReqRestarted)
		next := seam{max(at.a, s.progress.Begun()), s.progress.Deferred()}
		if err := s.sendLog(ctx, h, at, next); err != nil {
			return err
		}
		begin(h, next)
		s.pause.At(pause.ReqCaughtUp)
		at = next
	}
}
