package handlers

import (
	"context"
	"errors"
	"math"

	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// count answers COUNT (NIP-45) in a query of its own. It shares nothing with a
// subscription of the same id. A refusal is CLOSED, as NIP-45 says.
func (s *Session) count(ctx context.Context, m *wire.CountMessage) {
	answer, err := s.conn.ReserveAnswer(ctx)
	if err != nil {
		return // the connection is ending
	}
	keys := s.conn.Keys()
	err = s.checkFilters(m.Filters)
	late := s.mayBeLate(err)
	if err != nil && !late {
		answer.Send(wire.AppendClosed(nil, m.ID, reason(err, "could not read the filters")))
		return
	}
	weight := wire.Weight(m.Filters)
	if !s.conn.Charge(weight) { // waiting COUNTs would fill the memory with their filters and goroutines
		answer.Send(wire.AppendClosed(nil, m.ID, wire.Because(wire.RateLimited, "too many COUNTs, or filter values in them, wait on this connection")))
		return
	}
	started := s.conn.Query(ctx, "count", func(ctx context.Context) {
		defer s.conn.Discharge(weight)
		var n int
		var exact bool
		var err error
		if late {
			err = s.judgeLate(ctx, keys, m.Filters)
		}
		if err == nil {
			n, exact, err = s.countStored(ctx, m.Filters)
		}
		var refused wire.Reason
		switch {
		case err == nil:
			answer.Send(wire.AppendCount(nil, m.ID, n, exact))
		case ctx.Err() != nil:
			answer.Drop()
		case errors.As(err, &refused):
			answer.Send(wire.AppendClosed(nil, m.ID, refused))
		default:
			s.log.Error("count failed", "conn", s.conn.ID(), "err", err)
			answer.Send(wire.AppendClosed(nil, m.ID, wire.Because(wire.Failed, "could not count")))
		}
	})
	if !started {
		s.conn.Discharge(weight)
		answer.Drop()
	}
}

// countStored counts what the reader may see of a snapshot; see sendStored.
func (s *Session) countStored(ctx context.Context, filters []*wire.Filter) (n int, exact bool, err error) {
	begin := s.now()
	snap, err := s.store.Snapshot(ctx)
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	s.pause.At(pause.ReqSnapshot)
	if err := s.caughtUp(ctx); err != nil {
		return 0, false, err
	}
	work := budget{left: s.limits.Load().QueryTimeout}
	for range maxRounds {
		err = work.spend(ctx, func(ctx context.Context) (err error) {
			n, exact, err = s.countVisible(ctx, snap, filters)
			return err
		})
		if !errors.Is(err, store.ErrMoved) { // race: revocation against what is counted
			s.metrics.Query(s.now().Sub(begin), 0)
			return n, exact, err
		}
	}
	return 0, false, errMoving
}

func (s *Session) countVisible(ctx context.Context, snap store.Snapshot, filters []*wire.Filter) (n int, exact bool, err error) {
	keys := s.conn.Keys()
	if err := s.reading.MayRead(keys, filters); err != nil { // it was allowed when it was read
		return 0, false, err
	}
	s.pause.At(pause.QueryJudged)
	visible, failed := s.reading.Visible(ctx, keys, filters)
	most := s.limits.Load().MaxCount
	if most == 0 {
		most = math.MaxInt
	}
	n, exact, err = snap.Count(ctx, filters, most, visible)
	if err = errors.Join(err, failed()); err == nil {
		err = s.reading.MayRead(keys, filters) // race: 0 of what was closed before its events were asked about
	}
	return n, exact, err
}
