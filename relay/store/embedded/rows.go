package embedded

import (
	"context"
	"errors"
	"io"
	"slices"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// union is several walks in one order, each event once. Each walk counts an
// event against its own limit, also when another yields it too.
type union struct{ walks []*walk }

// next returns the next item; not ok at the end.
func (u *union) next(ctx context.Context) (first item, ok bool, err error) {
	for _, w := range u.walks {
		has, err := w.peek(ctx)
		if err != nil {
			return first, false, err
		}
		if has && (!ok || w.held.before(&first.entry)) {
			first, ok = w.held, true
		}
	}
	if !ok {
		return first, false, nil
	}
	for _, w := range u.walks {
		if w.has && w.held.same(&first.entry) {
			if first.event == nil {
				first.event = w.held.event
			}
			w.take()
		}
	}
	return first, true, nil
}

// hidden reports, after the end, whether a limit hid a match.
func (u *union) hidden(ctx context.Context) (bool, error) {
	for _, w := range u.walks {
		if hidden, err := w.hidden(ctx); hidden || err != nil {
			return hidden, err
		}
	}
	return false, nil
}

// rows is a store.Rows. The snapshot's mutex guards it.
type rows struct {
	snapshot *snapshot
	reader   *reader
	union    union
	maxTotal int  // 0 is no bound
	unasked  bool // a filter has a limit of 0

	given int
	done  bool  // nothing follows; the next call says so
	err   error // what Next returned last, if anything; it stays
	more  bool
}

// Next implements store.Rows.
func (r *rows) Next(ctx context.Context, dst []store.Record, limit int) ([]store.Record, error) {
	r.snapshot.mu.Lock()
	defer r.snapshot.mu.Unlock()
	if err := r.snapshot.readyLocked(ctx); err != nil {
		return dst, err
	}
	if r.err != nil {
		return dst, r.err
	}
	out, err := r.page(ctx, dst, limit)
	if r.err = err; err != nil {
		return dst, err
	}
	return out, nil
}

// page appends up to limit records; io.EOF when there was none.
func (r *rows) page(ctx context.Context, dst []store.Record, limit int) ([]store.Record, error) {
	before := len(dst)
	for !r.done && len(dst)-before < limit {
		next, ok, err := r.step(ctx)
		if err != nil {
			return dst, err
		}
		if r.done = !ok; ok {
			dst = append(dst, next)
		}
	}
	if len(dst) == before {
		return dst, io.EOF
	}
	return dst, nil
}

// step returns the next record; at the end it finds out whether there is more.
func (r *rows) step(ctx context.Context) (record store.Record, ok bool, err error) {
	next, ok, err := r.union.next(ctx)
	if err != nil {
		return record, false, err
	}
	if !ok {
		r.more, err = r.union.hidden(ctx)
		return record, false, err
	}
	if r.maxTotal > 0 && r.given == r.maxTotal {
		r.more = true
		return record, false, nil
	}
	if next.event == nil {
		if next.event, err = r.reader.event(&next.entry); err != nil {
			return record, false, err
		}
	}
	r.given++
	return store.Record{Position: store.Position(next.position), Event: next.event}, true, nil
}

// Hint implements store.Rows.
func (r *rows) Hint() wire.Hint {
	r.snapshot.mu.Lock()
	defer r.snapshot.mu.Unlock()
	switch {
	case !errors.Is(r.err, io.EOF):
		return wire.HintUnknown
	case r.more:
		return wire.HintMore
	case r.unasked:
		return wire.HintUnknown
	default:
		return wire.HintFinish
	}
}

// Close implements store.Rows; it may be called more than once.
func (r *rows) Close() error {
	s := r.snapshot
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.readers, r.reader)
	if i < 0 {
		return nil
	}
	s.readers = slices.Delete(s.readers, i, i+1)
	return r.reader.close()
}
