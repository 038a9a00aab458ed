package embedded

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"fencepost/relay/store"
)

// ReadControl implements store.Store.
func (s *Store) ReadControl(ctx context.Context, after store.Position, limit int) ([]store.Entry, error) {
	snap, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := snap.readControl(ctx, after, limit)
	return rows, errors.Join(err, snap.Close())
}

// readControl reads control rows after a position.
func (s *snapshot) readControl(ctx context.Context, after store.Position, limit int) (rows []store.Entry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readyLocked(ctx); err != nil {
		return nil, err
	}
	if after >= s.view.head {
		return nil, nil
	}
	it, err := s.view.snap.NewIter(&pebble.IterOptions{
		LowerBound: controlKey(uint64(after) + 1),
		UpperBound: controlKey(uint64(s.view.head) + 1),
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for it.First(); it.Valid() && len(rows) < limit; it.Next() {
		row, err := decodeControlAt(it)
		if err != nil {
			return nil, err
		}
		if rows = append(rows, row); len(rows)%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return rows, it.Error()
}

// decodeControlAt reads the copy of a control row under it.
func decodeControlAt(it *pebble.Iterator) (store.Entry, error) {
	if len(it.Key()) != 1+8 {
		return store.Entry{}, errCorrupt
	}
	position := beUint64(it.Key()[1:])
	value, err := it.ValueAndErr()
	if err != nil {
		return store.Entry{}, err
	}
	row, err := decodeRow(position, value, nil)
	if err == nil && row.Type != store.EntryControl {
		err = rowError(position, errCorrupt)
	}
	return row, err
}
