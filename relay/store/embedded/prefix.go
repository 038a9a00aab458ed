package embedded

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"fencepost/relay/store"
)

// Prefixed implements store.Snapshot.
func (s *snapshot) Prefixed(ctx context.Context, prefix string, limit int) (found []store.Record, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readyLocked(ctx); err != nil {
		return nil, err
	}
	low, high, ok := idRange(prefix)
	if !ok {
		return nil, nil
	}
	it, err := s.view.snap.NewIter(&pebble.IterOptions{LowerBound: low, UpperBound: high})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	looks := 0
	for it.First(); it.Valid() && len(found) < limit; it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		if looks++; looks%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(value) == 0 {
			continue // deleted or banned, and not stored
		}
		position := beUint64(value)
		e, err := loadEvent(s.view.snap, s.store.cache, position)
		if s.store.leaveOut(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, store.Record{Position: store.Position(position), Event: e})
	}
	return found, it.Error()
}

// idRange returns the keys from the first to beyond the last id that begins with
// prefix; not ok when none can.
func idRange(prefix string) (low, high []byte, ok bool) {
	if len(prefix) < 8 || len(prefix) > 64 || len(prefix)%2 != 0 {
		return nil, nil, false
	}
	low = []byte{spaceID}
	for i := 0; i < len(prefix); i += 2 {
		h, l := nibble(prefix[i]), nibble(prefix[i+1])
		if h > 15 || l > 15 {
			return nil, nil, false
		}
		low = append(low, h<<4|l)
	}
	high = append([]byte{}, low...)
	for i := len(high) - 1; ; i-- { // the space's byte takes the last carry
		if high[i]++; high[i] != 0 {
			return low, high, true
		}
	}
}
