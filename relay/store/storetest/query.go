package storetest

import (
	"context"
	"io"
	"slices"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// snapshot is the rows of one moment.
type snapshot struct {
	fake   *Fake
	rows   []row
	closed bool
}

func (s *snapshot) Applied() store.Position { return store.Position(len(s.rows)) }

func (s *snapshot) Control() (at store.Position) {
	for _, r := range s.rows {
		if r.Type == store.EntryControl {
			at = r.Position
		}
	}
	return at
}

// Query computes the whole answer at once.
func (s *snapshot) Query(ctx context.Context, filters []*wire.Filter, opt store.QueryOptions) (store.Rows, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	out := &rows{snapshot: s, hint: wire.HintFinish}
	kept, best := make(map[store.Position]store.Record), make(map[store.Position]float64)
	now, more := s.fake.now().Unix(), false
	for _, f := range filters {
		found := s.matching(now, opt.Visible, f)
		scores := make(map[store.Position]float64)
		for _, r := range found {
			scores[r.Position] = f.Score(r.Event)
		}
		sortBest(found, scores)
		limit := opt.Limit(f)
		if limit == 0 {
			out.hint = wire.HintUnknown
		}
		if len(found) > limit {
			found, more = found[:limit], more || limit > 0
		}
		for _, r := range found {
			kept[r.Position] = r
			best[r.Position] = max(best[r.Position], scores[r.Position])
		}
	}
	for _, r := range kept {
		out.left = append(out.left, r)
	}
	sortBest(out.left, best)
	if opt.MaxTotal > 0 && len(out.left) > opt.MaxTotal {
		out.left, more = out.left[:opt.MaxTotal], true
	}
	if more {
		out.hint = wire.HintMore
	}
	return out, nil
}

func (s *snapshot) Count(ctx context.Context, filters []*wire.Filter, limit int, visible func(*wire.Event) bool) (n int, exact bool, err error) {
	if err := s.ready(ctx); err != nil {
		return 0, false, err
	}
	n = len(s.matching(s.fake.now().Unix(), visible, filters...))
	if limit > 0 && n > limit {
		return limit, false, nil
	}
	return n, true, nil
}

func (s *snapshot) Close() error {
	s.closed = true
	return nil
}

// matching returns what matches any of the filters and is visible, newest first.
func (s *snapshot) matching(now int64, visible func(*wire.Event) bool, filters ...*wire.Filter) []store.Record {
	return records(s.rows, func(e *wire.Event) bool {
		return !e.Expired(now) && wire.MatchesAny(filters, e) && (visible == nil || visible(e))
	})
}

// records returns the stored events that ok accepts, newest first.
func records(rows []row, ok func(*wire.Event) bool) (out []store.Record) {
	for _, r := range rows {
		if r.live() && ok(r.Event) {
			out = append(out, store.Record{Position: r.Position, Event: r.Event})
		}
	}
	sortNewest(out)
	return out
}

func (s *snapshot) ready(ctx context.Context) error {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	return s.fake.readyLocked(ctx)
}

func sortNewest(records []store.Record) {
	slices.SortFunc(records, func(a, b store.Record) int {
		switch {
		case store.Newer(a.Event, b.Event):
			return -1
		case store.Newer(b.Event, a.Event):
			return 1
		default:
			return 0
		}
	})
}

// rows hands out an answer that is already there.
type rows struct {
	snapshot *snapshot
	left     []store.Record
	hint     wire.Hint
	ended    bool
}

func (r *rows) Next(ctx context.Context, dst []store.Record, limit int) ([]store.Record, error) {
	if err := r.snapshot.ready(ctx); err != nil {
		return dst, err
	}
	if len(r.left) == 0 {
		r.ended = true
		return dst, io.EOF
	}
	n := min(limit, len(r.left))
	dst = append(dst, r.left[:n]...)
	r.left = r.left[n:]
	return dst, nil
}

func (r *rows) Hint() wire.Hint {
	if !r.ended {
		return wire.HintUnknown
	}
	return r.hint
}

func (r *rows) Close() error { return nil }
