package postgres

import (
	"context"
	"errors"
	"io"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// union is several walks in one order, each event once. Each walk counts an event
// against its own limit, also when another yields it too.
type union struct {
	snapshot *snapshot
	walks    []*walk
	visible  func(*wire.Event) bool
	skip     func(position int64) bool // what is given out already; nil is nothing
}

// union makes a walk for each filter that can match and may contribute.
func (s *snapshot) union(filters []*wire.Filter, limit func(*wire.Filter) int, visible func(*wire.Event) bool) *union {
	u := &union{snapshot: s, visible: visible}
	now := s.store.opt.Now().Unix()
	for _, f := range filters {
		q, ok := newQuery(f)
		if n := limit(f); ok && n > 0 {
			u.walks = append(u.walks, &walk{snapshot: s, filter: f, query: q, plan: q.plan(), now: now, left: n, looks: -1})
		}
	}
	return u
}

// next returns the next visible match, nil at the end.
func (u *union) next(ctx context.Context) (*item, error) {
	for {
		if err := u.snapshot.ready(ctx); err != nil {
			return nil, err
		}
		first, err := u.first(ctx)
		if err != nil || first == nil {
			return nil, err
		}
		found := *first
		visible := u.visible == nil || u.visible(found.event)
		for _, w := range u.walks {
			if len(w.items) > 0 && w.items[0].position == found.position && w.left > 0 {
				w.pop(visible)
			}
		}
		if visible && !u.skips(found.position) {
			return &found, nil
		}
	}
}

func (u *union) skips(position int64) bool { return u.skip != nil && u.skip(position) }

func (u *union) first(ctx context.Context) (first *item, err error) {
	for _, w := range u.walks {
		if w.left == 0 {
			continue
		}
		head, err := w.head(ctx)
		if err != nil {
			return nil, err
		}
		if head != nil && (first == nil || compareEntries(head.entry, first.entry) < 0) {
			first = head
		}
	}
	return first, nil
}

// hint says, after the end, whether a limit hid a match.
func (u *union) hint(ctx context.Context) (wire.Hint, error) {
	hint := wire.HintFinish
	for _, w := range u.walks {
		w.looks = maxLooks
		more, err := u.hides(ctx, w)
		switch {
		case errors.Is(err, errLooks):
			hint = wire.HintUnknown
		case err != nil:
			return wire.HintUnknown, err
		case more:
			return wire.HintMore, nil
		}
	}
	return hint, nil
}

func (u *union) hides(ctx context.Context, w *walk) (bool, error) {
	for {
		if err := u.snapshot.ready(ctx); err != nil {
			return false, err
		}
		head, err := w.head(ctx)
		if err != nil || head == nil {
			return false, err
		}
		visible := u.visible == nil || u.visible(head.event)
		if skipped := w.left > 0 && u.skips(head.position); visible && !skipped {
			return true, nil
		}
		w.pop(visible)
	}
}

// answer is a store.Rows.
type answer struct {
	ranking  *ranking
	union    *union
	maxTotal int  // 0 is no bound
	unasked  bool // a filter has a limit of 0

	given int
	hint  wire.Hint // found out at the end
	err   error     // what Next returned last, if anything; it stays
}

// Next implements store.Rows.
func (a *answer) Next(ctx context.Context, dst []store.Record, limit int) ([]store.Record, error) {
	if err := a.union.snapshot.ready(ctx); err != nil {
		return dst, err
	}
	if a.err != nil {
		return dst, a.err
	}
	before := len(dst)
	if a.maxTotal > 0 {
		limit = min(limit, a.maxTotal-a.given)
	}
	if dst, a.err = a.page(ctx, dst, limit); a.err != nil {
		return dst[:before], a.err
	}
	if a.given += len(dst) - before; len(dst) > before {
		return dst, nil
	}
	if a.hint, a.err = a.look(ctx); a.err == nil {
		a.err = io.EOF
	}
	return dst, a.err
}

// page appends up to limit records: what searches found, then the others.
func (a *answer) page(ctx context.Context, dst []store.Record, limit int) (_ []store.Record, err error) {
	before := len(dst)
	if limit > 0 {
		if dst, err = a.ranking.next(ctx, dst, limit); err != nil || len(dst) > before {
			return dst, err
		}
	}
	for bytes := 0; len(dst)-before < limit && bytes < mostBytes; {
		found, err := a.union.next(ctx)
		if err != nil || found == nil {
			return dst, err
		}
		dst = append(dst, found.record())
		bytes += len(found.event.Raw())
	}
	return dst, nil
}

// look finds out, after the end, whether a limit hid a match.
func (a *answer) look(ctx context.Context) (wire.Hint, error) {
	if a.ranking.More() {
		return wire.HintMore, nil
	}
	return a.union.hint(ctx)
}

// Hint implements store.Rows.
func (a *answer) Hint() wire.Hint {
	if !errors.Is(a.err, io.EOF) || a.unasked && a.hint == wire.HintFinish {
		return wire.HintUnknown
	}
	return a.hint
}

// Close implements store.Rows; between two pages there is nothing to give back.
func (a *answer) Close() error { return nil }
