package handlers

import (
	"context"
	"errors"
	"fmt"
	"io"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// pageSize is how many stored events are read before the next pause point.
const pageSize = 64

// req begins a generation in the reader and replays it in a query. The order of
// steps is that of lifecycle/DESIGN.md: index, re-check, A, snapshot, replay, live.
func (s *Session) req(ctx context.Context, m *wire.ReqMessage) {
	if err := s.checkFilters(m.Filters); err != nil {
		s.refuse(ctx, m.ID, reason(err, "could not read the filters"))
		return
	}
	h, old, err := s.conn.Reserve(ctx, m.ID, m.Filters)
	s.unindex(old)
	if err != nil {
		return // the connection is ending
	}
	if h == nil {
		s.metrics.SubscriptionEnded(string(wire.RateLimited))
		return
	}
	s.pause.At(pause.ReqReserved)
	s.conn.Query(h.Context(), "req", func(ctx context.Context) { s.replay(ctx, h) })
}

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
		if f.Search != "" {
			return wire.Because(wire.Unsupported, "this relay has no search")
		}
		if l.FilterValues > 0 && f.Values() > l.FilterValues {
			return wire.Because(wire.Invalid, fmt.Sprintf("more than %d values in a filter", l.FilterValues))
		}
	}
	if l.Values > 0 && values > l.Values {
		return wire.Because(wire.Invalid, fmt.Sprintf("more than %d values in all filters", l.Values))
	}
	return s.access.MayRead(s.Keys(), filters)
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
	a := s.begun()
	h.Begin(a)
	s.pause.At(pause.ReqBegun)
	hint, err := s.sendStored(ctx, h, a)
	if err == nil {
		s.pause.At(pause.ReqReplayed)
		err = s.goLive(ctx, h, a, hint)
	}
	if err != nil {
		s.failed(h, err)
	}
}

// failed ends h unless it has been ended already, which is why most errors come.
func (s *Session) failed(h *lifecycle.Handle, err error) {
	switch {
	case errors.Is(err, lifecycle.ErrRetired):
		return // whoever retired it has taken it out of the index
	case errors.Is(err, lifecycle.ErrSlow):
		s.metrics.SubscriptionEnded("slow")
	case errors.Is(err, errTimeout):
		if h.Evict(errTimeout) {
			s.metrics.SubscriptionEnded("timeout")
		}
	case h.Evict(wire.Because(wire.Failed, "could not read the stored events")):
		s.metrics.SubscriptionEnded(string(wire.Failed))
		s.log.Error("query failed", "conn", s.conn.ID(), "sub", h.ID(), "err", err)
	}
	s.index.Remove(h)
}

// sendStored queues what the snapshot holds up to a, newest first.
func (s *Session) sendStored(ctx context.Context, h *lifecycle.Handle, a store.Position) (hint wire.Hint, err error) {
	begin, sent := s.now(), 0
	snap, err := s.store.Snapshot(ctx)
	if err != nil {
		return wire.HintUnknown, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	s.pause.At(pause.ReqSnapshot)
	l := s.limits.Load()
	work := budget{left: l.QueryTimeout}
	var rows store.Rows
	err = work.spend(ctx, func(ctx context.Context) (err error) {
		rows, err = snap.Query(ctx, h.Filters(), store.QueryOptions{
			MaxLimit: l.MaxLimit, DefaultLimit: l.DefaultLimit, MaxTotal: l.MaxTotal,
		})
		return err
	})
	if err != nil {
		return wire.HintUnknown, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	defer func() { s.metrics.Query(s.now().Sub(begin), sent) }()

	for page := []store.Record(nil); ; {
		err = work.spend(ctx, func(ctx context.Context) (err error) {
			page, err = rows.Next(ctx, page[:0], pageSize)
			return err
		})
		if errors.Is(err, io.EOF) {
			return rows.Hint(), nil
		}
		if err != nil {
			return wire.HintUnknown, err
		}
		s.pause.At(pause.ReqPage)
		n, err := replayPage(ctx, h, page, a)
		sent += n
		if err != nil {
			return wire.HintUnknown, err
		}
	}
}

// replayPage queues the records up to a; those above arrive live.
func replayPage(ctx context.Context, h *lifecycle.Handle, page []store.Record, a store.Position) (sent int, err error) {
	for _, r := range page {
		if r.Position > a { // race: commit between A and the snapshot
			continue
		}
		if err := h.Replay(ctx, r.Event, nil); err != nil {
			return sent, err
		}
		sent++
	}
	return sent, nil
}

// goLive switches h to live. When its hold overflowed meanwhile, the log is read
// from A to the new begun position instead, again and again, until the rest
// fits (G8).
func (s *Session) goLive(ctx context.Context, h *lifecycle.Handle, a store.Position, hint wire.Hint) error {
	for {
		isLive, err := h.GoLive(hint)
		if isLive || err != nil {
			return err
		}
		h.Restart()
		s.pause.At(pause.ReqRestarted)
		b := s.begun()
		if err := s.sendLog(ctx, h, a, b); err != nil {
			return err
		}
		h.Begin(b)
		s.pause.At(pause.ReqCaughtUp)
		a = b
	}
}

// sendLog queues the matching events of the log above after, up to upTo.
func (s *Session) sendLog(ctx context.Context, h *lifecycle.Handle, after, upTo store.Position) error {
	for after < upTo {
		entries, err := s.store.ReadLog(ctx, after, pageSize)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return fmt.Errorf("log ends at %d, before the begun position %d", after, upTo)
		}
		for _, e := range entries {
			if e.Position > upTo {
				return nil
			}
			if !e.Matches(h.Filters(), s.now().Unix()) {
				continue
			}
			if err := h.Replay(ctx, e.Event, nil); err != nil {
				return err
			}
		}
		after = entries[len(entries)-1].Position
	}
	return nil
}
