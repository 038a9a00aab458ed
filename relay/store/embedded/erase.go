package embedded

import (
	"context"
	"errors"
	"slices"

	"fencepost/relay/store"
)

// The relay's own kinds that describe a group (NIP-29).
const (
	firstGroupKind = 39000
	lastGroupKind  = 39009
)

// Erase implements store.Store. What is to be removed is looked for in a snapshot,
// beside the writer, and each commit takes sweepRows of it.
func (s *Store) Erase(ctx context.Context, x store.Erasure, limit int) (int, error) {
	if err := x.Validate(); err != nil {
		return 0, err
	}
	snap, err := s.snapshot(ctx)
	if err != nil {
		return 0, err
	}
	total, err := s.erase(ctx, snap, &x, limit)
	return total, errors.Join(err, snap.Close())
}

func (s *Store) erase(ctx context.Context, snap *snapshot, x *store.Erasure, limit int) (total int, err error) {
	search, err := snap.search(ctx, x)
	if err != nil {
		return 0, err
	}
	for total < limit {
		found, err := search.next(ctx, min(limit-total, sweepRows))
		if err != nil || len(found) == 0 {
			return total, err
		}
		r := &request{Erasure: x, Found: found}
		s.queue.Do(ctx, r)
		total += r.Removed
		if r.Err != nil {
			return total, r.Err
		}
	}
	return total, nil
}

// search finds what an erasure selects in a snapshot, in the order of answers.
type search struct {
	snapshot *snapshot
	reader   *reader
	sources  []source
}

// source is a stream of candidates; the kinds of some rule them out.
type source struct {
	*stream
	wants func(kind uint16) bool
}

func (s *snapshot) search(ctx context.Context, x *store.Erasure) (*search, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readyLocked(ctx); err != nil {
		return nil, err
	}
	found := &search{snapshot: s, reader: s.newReader()}
	other := func(kind uint16) bool { return kind != store.KindVanish }
	if x.Group == "" {
		if x.Until < 0 {
			return found, nil
		}
		key, _ := decode32(x.Author) // Validate has seen that it is one
		w := window{until: uint64(x.Until)}
		wraps := func(kind uint16) bool { return kind == store.KindGiftWrap }
		found.sources = []source{
			{newStream(authorPrefix(nil, key), w, maxChunk), other},
			{newStream(tagPrefix(nil, 'p', x.Author), w, maxChunk), wraps},
		}
		return found, nil
	}
	own, err := s.groupEvents(x)
	found.sources = []source{
		{newStream(tagPrefix(nil, 'h', x.Group), window{until: 1<<64 - 1}, maxChunk), other},
		{&stream{buf: own, ended: true}, other},
	}
	return found, err
}

// groupEvents returns what is stored of the relay's own events about a group.
func (s *snapshot) groupEvents(x *store.Erasure) (own []entry, err error) {
	self, ok := decode32(x.Self)
	if !ok {
		return nil, nil
	}
	for kind := uint16(firstGroupKind); kind <= lastGroupKind; kind++ {
		value, ok, err := getValue(s.view.snap, addressKey(spaceAddress, kind, self, x.Group))
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		e, err := parseVersion(value)
		if err != nil {
			return nil, err
		}
		e.kind = kind
		own = append(own, e)
	}
	slices.SortFunc(own, compareEntries)
	return own, nil
}

// next returns up to n further events, none at the end.
func (s *search) next(ctx context.Context, n int) (found []entry, err error) {
	s.snapshot.mu.Lock()
	defer s.snapshot.mu.Unlock()
	if err := s.snapshot.readyLocked(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.reader.release()) }()
	for len(found) < n {
		first, err := s.take(ctx)
		if err != nil || first == nil {
			return found, err
		}
		found = append(found, *first)
	}
	return found, nil
}

// take takes the first event off the sources, nil at the end.
func (s *search) take(ctx context.Context) (*entry, error) {
	var heads []*entry
	var first *entry
	for _, src := range s.sources {
		head, err := src.wanted(ctx, s.reader)
		if err != nil {
			return nil, err
		}
		heads = append(heads, head)
		if head != nil && (first == nil || head.before(first)) {
			first = head
		}
	}
	for i, head := range heads {
		if head != nil && head.same(first) {
			s.sources[i].stream.next++
		}
	}
	return first, nil
}

// wanted returns the next entry whose kind the source wants.
func (s *source) wanted(ctx context.Context, r *reader) (*entry, error) {
	for {
		head, err := s.head(ctx, r)
		if err != nil || head == nil || s.wants(head.kind) {
			return head, err
		}
		s.stream.next++
		if err := r.worked(ctx); err != nil {
			return nil, err
		}
	}
}

// erase removes those of found that are still stored and returns how many.
func (t *txn) erase(x *store.Erasure, found []entry) (n int, err error) {
	for i := range found {
		value, _, err := t.get(idKey(found[i].id))
		if err != nil {
			return n, err
		}
		if beUint64(value) != found[i].position {
			continue // gone meanwhile
		}
		e, err := t.event(found[i].position)
		if errors.Is(err, errCorrupt) { // the index has selected it
			if err := t.removeUnread(found[i].position, store.VoidRemoved, err); err != nil {
				return n, err
			}
			t.decide(idKey(found[i].id), nil)
			n++
			continue
		}
		if err != nil {
			return n, err
		}
		if !x.Selects(e) {
			continue // another value of the same hash
		}
		if err := t.removeWithRow(found[i].position, x.Cause); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
