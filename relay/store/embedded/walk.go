package embedded

import (
	"bytes"
	"context"
	"math"
	"slices"

	"fencepost/relay/wire"
)

// walk yields what one filter matches, in the order of answers.
type walk struct {
	// Set at construction, never changed.
	reader *reader
	filter *wire.Filter
	kinds  []uint16 // checked in the entry; nil where the plan ensures them
	sure   bool     // entry and kind decide

	merge *merge
	left  int // how many more the limit allows

	held item // the match that the walk has come to, when has
	has  bool
}

// item is a matching entry, with its event where that was read already.
type item struct {
	entry
	event *wire.Event
}

func unlimited(*wire.Filter) int { return math.MaxInt }

// walks makes a walk for each filter that can match and may contribute.
func (r *reader) walks(ctx context.Context, filters []*wire.Filter, limit func(*wire.Filter) int) (all []*walk, err error) {
	for _, f := range filters {
		q, ok := newQuery(f)
		q.words = r.words && f.Searches()
		n := limit(f)
		if !ok || n == 0 {
			continue
		}
		w := &walk{reader: r, filter: f, left: n}
		if err := w.prepare(ctx, &q); err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

func (w *walk) prepare(ctx context.Context, q *query) (err error) {
	if w.filter.IDs != nil {
		w.merge, err = w.reader.byID(ctx, w.filter.IDs)
		return err
	}
	p, err := q.plan(ctx, w.reader, w.left)
	if err != nil {
		return err
	}
	w.follow(q, p)
	return nil
}

// follow makes the walk use p.
func (w *walk) follow(q *query, p plan) {
	w.sure = p.covered
	if w.filter.Kinds != nil && !p.exact {
		w.kinds = q.kinds
	}
	want := 0
	if w.left < maxFirst {
		want = w.left + 1 // and one more to see that the limit hides something
	}
	w.merge = newMerge(w.reader, p, q.window, want)
}

// byID returns the stored ones of these ids as a merge of one stream. They are looked
// up in the order of their keys, which for many is less work.
func (r *reader) byID(ctx context.Context, ids []string) (*merge, error) {
	keys := make([][32]byte, 0, len(ids))
	for _, id := range ids {
		if key, ok := decode32(id); ok {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) })
	found := &stream{ended: true, buf: make([]entry, 0, len(keys))}
	for _, key := range keys {
		position, err := r.stored(ctx, key)
		if err != nil {
			return nil, err
		}
		if position == 0 {
			continue
		}
		e, err := r.event(&entry{position: position})
		if err != nil {
			return nil, err
		}
		if e == nil {
			continue
		}
		expires, _ := e.Expires()
		found.buf = append(found.buf, entry{
			at: uint64(e.CreatedAt), id: key, position: position, kind: uint16(e.Kind), expires: expires,
		})
	}
	slices.SortFunc(found.buf, compareEntries)
	return &merge{reader: r, fresh: []*stream{found}}, nil
}

func compareEntries(a, b entry) int {
	switch {
	case a.before(&b):
		return -1
	case b.before(&a):
		return 1
	default:
		return 0
	}
}

// front returns the entry that the walk has come to, whether it matches or has
// not been looked at; nil at the end.
func (w *walk) front(ctx context.Context) (*entry, error) {
	if w.has {
		return &w.held.entry, nil
	}
	return w.merge.front(ctx)
}

// look looks at the front, which is not held, and holds it if it matches.
func (w *walk) look(ctx context.Context) error {
	e, fresh, err := w.merge.take(ctx)
	if err != nil || !fresh || e.expired(w.reader.now) || w.kinds != nil && !slices.Contains(w.kinds, e.kind) {
		return err
	}
	found := item{entry: e}
	if !w.sure {
		if found.event, err = w.reader.event(&e); err != nil {
			return err
		}
		if found.event == nil || !w.filter.Matches(found.event) {
			return nil
		}
	}
	w.held, w.has = found, true
	return nil
}

// drop lets go of the held match, and counts it when it is given out.
func (w *walk) drop(given bool) {
	w.has = false
	if given {
		w.left--
	}
}
