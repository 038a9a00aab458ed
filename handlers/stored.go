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

// errBehind ends a query for which this relay does not get its permissions in time.
var errBehind = wire.Because(wire.Failed, "the relay does not follow its log, try again")

// sendStored opens a snapshot, which holds whatever the fan-out has begun, sets the
// seam of h to it, and queues what it holds, newest first.
func (s *Session) sendStored(ctx context.Context, h *lifecycle.Handle) (at seam, hint wire.Hint, err error) {
	snap, err := s.store.Snapshot(ctx)
	if err != nil {
		return at, wire.HintUnknown, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	s.pause.At(pause.ReqSnapshot)
	at = seam{snap.Applied(), s.progress.Deferred()}
	begin(h, at)
	s.pause.At(pause.ReqBegun)
	if err := s.controlled(ctx, snap.Control()); err != nil {
		return at, wire.HintUnknown, err
	}
	hint, err = s.answerFrom(ctx, snap, h, at)
	return at, hint, err
}

// answerFrom queues what snap holds for h.
func (s *Session) answerFrom(ctx context.Context, snap store.Snapshot, h *lifecycle.Handle, at seam) (hint wire.Hint, err error) {
	begin, sent := s.now(), 0
	visible, failed := s.reading.Visible(ctx, s.conn.Keys(), h.Filters())
	l := s.limits.Load()
	work := budget{left: l.QueryTimeout}
	var rows store.Rows
	err = work.spend(ctx, func(ctx context.Context) (err error) {
		rows, err = snap.Query(ctx, h.Filters(), store.QueryOptions{
			MaxLimit: l.MaxLimit, DefaultLimit: l.DefaultLimit, MaxTotal: l.MaxTotal, Visible: visible,
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
			return rows.Hint(), unmoved(failed())
		}
		if err != nil {
			return wire.HintUnknown, err
		}
		s.pause.At(pause.ReqPage)
		n, err := s.replayPage(ctx, h, page, at)
		sent += n
		if err != nil {
			return wire.HintUnknown, err
		}
	}
}

// unmoved returns err unless it says that permissions moved: each frame has a grant.
func unmoved(err error) error {
	if errors.Is(err, store.ErrMoved) {
		return nil
	}
	return err
}

// replayPage queues the records but those that arrive live.
func (s *Session) replayPage(ctx context.Context, h *lifecycle.Handle, page []store.Record, at seam) (sent int, err error) {
	for _, r := range page {
		if !at.has(r.Position) {
			continue
		}
		shown, err := s.show(ctx, h, r.Event)
		if err != nil {
			return sent, err
		}
		if shown {
			sent++
		}
	}
	return sent, nil
}

// show queues a stored event if the reader may see it, under the grant that says
// so: the writer asks again when that no longer holds (G4).
func (s *Session) show(ctx context.Context, h *lifecycle.Handle, ev *wire.Event) (shown bool, err error) {
	sight := s.reading.Sight(ev)
	may, err := sight.Decide(ctx, s.conn.Keys())
	if !may || err != nil {
		return false, err
	}
	s.pause.At(pause.ReqDecided)
	return true, h.Replay(ctx, ev, sight.Grant)
}

// caughtUp waits until every control row is in force here that is committed by
// now, and so all that the caller's snapshot can hold.
func (s *Session) caughtUp(ctx context.Context) error {
	info, err := s.store.Log(ctx)
	if err != nil {
		return err
	}
	return s.controlled(ctx, info.Control)
}

// controlled waits until the control rows at or below one are in force here. A snapshot
// that holds it could show an event from after a revocation to somebody from whom that
// has not been taken here yet.
func (s *Session) controlled(ctx context.Context, control store.Position) error {
	if s.progress.Applied() >= control {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := s.progress.Await(bounded, control)
	if err != nil && ctx.Err() == nil {
		return errBehind
	}
	return err
}

// sendLog queues the matching events of the log that lie between two seams: those
// that are no longer late, and those above the older one, up to the newer one, which
// is committed.
func (s *Session) sendLog(ctx context.Context, h *lifecycle.Handle, from, to seam) error {
	if err := s.caughtUp(ctx); err != nil {
		return err
	}
	for _, at := range from.late {
		if !to.has(at) {
			continue // it still comes live
		}
		entries, err := s.store.ReadLog(ctx, at-1, 1)
		if err == nil {
			err = s.sendEntries(ctx, h, entries, to)
		}
		if err != nil {
			return err
		}
	}
	for after := from.a; after < to.a; {
		entries, err := s.store.ReadLog(ctx, after, pageSize)
		if err != nil {
			return err
		}
		entries = light(entries)
		if len(entries) == 0 {
			return fmt.Errorf("log ends at %d, before the begun position %d", after, to.a)
		}
		if err := s.sendEntries(ctx, h, entries, to); err != nil {
			return err
		}
		after = entries[len(entries)-1].Position
	}
	return nil
}

// sendEntries queues those of entries that match and do not come live. A row that
// cannot be read ends the subscription if h could be owed it.
func (s *Session) sendEntries(ctx context.Context, h *lifecycle.Handle, entries []store.Entry, to seam) error {
	for i := range entries {
		e := &entries[i]
		if !to.has(e.Position) {
			continue
		}
		if e.CouldMatch(h.Filters()) {
			return fmt.Errorf("row of the log: %w", e.Broken.Err)
		}
		if !e.Matches(h.Filters(), s.now().Unix()) {
			continue
		}
		if _, err := s.show(ctx, h, e.Event); err != nil {
			return err
		}
	}
	return nil
}
