package embedded

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// snapshot is a store.Snapshot. Its mutex makes every read end before the
// store is closed under it.
type snapshot struct {
	// Set at construction, never changed.
	store *Store
	view  *view

	mu sync.Mutex // guards the fields below; held across this snapshot's reads
	// +checklocks:mu
	ended error // why there is nothing to read any more
}

// Applied implements store.Snapshot.
func (s *snapshot) Applied() store.Position { return s.view.head }

// Control implements store.Snapshot.
func (s *snapshot) Control() store.Position { return s.view.control }

// Query implements store.Snapshot. It reads samples of the indexes to choose
// the plans.
func (s *snapshot) Query(ctx context.Context, filters []*wire.Filter, opt store.QueryOptions) (store.Rows, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readyLocked(ctx); err != nil {
		return nil, err
	}
	r := s.newReader()
	walks, err := r.walks(ctx, filters, opt.Limit)
	if err = errors.Join(err, r.release()); err != nil {
		return nil, err
	}
	unasked := slices.ContainsFunc(filters, func(f *wire.Filter) bool { return opt.Limit(f) == 0 })
	sight := s.sight(r, opt.Visible)
	plain, searches := walks[:0], []*walk(nil)
	for _, w := range walks {
		if r.words && w.filter.Searches() {
			searches = append(searches, w)
		} else {
			plain = append(plain, w)
		}
	}
	ranking := newRanking(r, searches, sight)
	all := union{walks: plain, sight: sight, skip: ranking.Has}
	return &rows{snapshot: s, reader: r, ranking: ranking, union: all, maxTotal: opt.MaxTotal, unasked: unasked}, nil
}

// Count implements store.Snapshot. Events are read only where an index entry
// does not decide, and where visible must be asked; a damaged one counts otherwise.
func (s *snapshot) Count(ctx context.Context, filters []*wire.Filter, limit int, visible func(*wire.Event) bool) (n int, exact bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readyLocked(ctx); err != nil {
		return 0, false, err
	}
	r := s.newReader()
	defer func() { err = errors.Join(err, r.release()) }()
	walks, err := r.walks(ctx, filters, unlimited)
	if err != nil {
		return 0, false, err
	}
	all := union{walks: walks}
	if visible != nil {
		all.sight = s.sight(r, visible)
	}
	for {
		_, s, err := all.step(ctx)
		switch {
		case err != nil:
			return 0, false, err
		case s == ended:
			return n, true, nil
		case s == matched && limit > 0 && n == limit:
			return n, false, nil
		case s == matched:
			n++
		}
	}
}

// sight makes the sight of visible, nil for everything, whose events it reads by r: what
// is damaged nobody sees. It is used while mu is held, and lets go of everything while
// visible runs, which may take long.
func (s *snapshot) sight(r *reader, visible func(*wire.Event) bool) sight {
	return func(ctx context.Context, found *item) (bool, error) {
		if err := r.load(found); err != nil || found.event == nil || visible == nil {
			return err == nil && found.event != nil, err
		}
		if err := r.release(); err != nil {
			return false, err
		}
		seen := s.unlocked(visible, found.event)
		return seen, s.readyLocked(ctx)
	}
}

// unlocked asks visible without mu. The snapshot may have ended when it returns.
func (s *snapshot) unlocked(visible func(*wire.Event) bool, e *wire.Event) bool {
	s.mu.Unlock()
	defer s.mu.Lock() // also after a panic: the caller unlocks
	return visible(e)
}

// Close implements store.Snapshot; it may be called more than once.
func (s *snapshot) Close() error { return s.end(store.ErrClosed) }

// end gives the snapshot back; later calls fail with why.
func (s *snapshot) end(why error) error {
	if !s.setEnded(why) {
		return nil
	}
	s.store.forget(s)
	return s.store.release(s.view)
}

// setEnded waits for a read that is running.
func (s *snapshot) setEnded(why error) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = s.ended == nil
	if first {
		s.ended = why
	}
	return first
}

// readLog reads rows after a position from disk.
func (s *snapshot) readLog(ctx context.Context, after store.Position, limit int) (rows []store.Entry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readyLocked(ctx); err != nil {
		return nil, err
	}
	if after < s.view.floor-1 {
		return nil, store.ErrFloor
	}
	it, err := s.view.snap.NewIter(&pebble.IterOptions{
		LowerBound: logKey(uint64(after) + 1),
		UpperBound: logKey(uint64(s.view.head) + 1),
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for it.First(); it.Valid() && len(rows) < limit; it.Next() {
		row, err := s.decode(it, uint64(after)+1+uint64(len(rows)))
		if err != nil {
			return nil, err
		}
		if rows = append(rows, row); len(rows)%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return rows, it.Error()
}

// decode reads the row under it, which must be the one at position.
func (s *snapshot) decode(it *pebble.Iterator, position uint64) (store.Entry, error) {
	key := it.Key()
	if len(key) != 9 || beUint64(key[1:]) != position {
		return store.Entry{}, rowError(position, errCorrupt)
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return store.Entry{}, err
	}
	var known *wire.Event
	if len(value) > 0 && store.EntryType(value[0]) == store.EntryEvent {
		known = s.store.cache.get(position)
	}
	e, err := decodeRow(position, value, known)
	if err != nil {
		return brokenRow(position, value, err), nil
	}
	return e, nil
}

func (s *snapshot) newReader() *reader {
	return &reader{store: s.store, snap: s.view.snap, cache: s.store.cache, now: s.store.opt.Now().Unix(), words: s.store.Searches()}
}

func (s *snapshot) readyLocked(ctx context.Context) error {
	if s.ended != nil {
		return s.ended
	}
	return ctx.Err()
}
