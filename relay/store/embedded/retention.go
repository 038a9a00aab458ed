package embedded

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"fencepost/relay/store"
)

// trimRows is how many rows one commit of a trim looks at.
const trimRows = 2000

// Trim implements store.Store. A row of the log that holds a stored event stays where it
// is, below the floor too: queries find the event there.
func (s *Store) Trim(ctx context.Context, keep store.Retention, now time.Time) (store.Position, error) {
	for {
		r := &request{Keep: &keep, Now: now}
		s.queue.Do(ctx, r)
		if r.Err != nil {
			return 0, r.Err
		}
		if r.Removed < trimRows {
			info, err := s.Log(ctx)
			return info.Floor, err
		}
	}
}

// trim removes rows that keep does not cover, moves the floor, and returns how many rows
// it looked at, up to trimRows. It must be the only work of its transaction.
func (t *txn) trim(keep store.Retention, now time.Time) (n int, err error) {
	kept, err := loadMoments(t.db)
	if err != nil {
		return 0, err
	}
	aim, moments := keep.Plan(now, store.LogInfo{Floor: t.marks.floor, Head: store.Position(t.head)}, kept)
	if !slices.Equal(kept, moments) {
		t.set(keyTimes, appendMoments(nil, moments))
	}
	floor := uint64(t.marks.floor)
	it, err := t.db.NewIter(&pebble.IterOptions{LowerBound: logKey(floor), UpperBound: logKey(uint64(aim))})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for it.First(); it.Valid() && n < trimRows; it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return n, err
		}
		if len(it.Key()) != 9 || beUint64(it.Key()[1:]) != floor {
			return n, rowError(floor, errCorrupt)
		}
		kind := typeOf(value)
		if kind == store.EntryEphemeral {
			break
		}
		if kind != store.EntryEvent {
			t.unset(logKey(floor))
		}
		floor++
		n++
	}
	if store.Position(floor) > t.marks.floor {
		t.fresh.floor = store.Position(floor)
		t.set(keyFloor, binary.BigEndian.AppendUint64(nil, floor))
	}
	return n, it.Error()
}

// loadFloor returns the first position of the log that r holds.
func loadFloor(r pebble.Reader) (store.Position, error) {
	value, ok, err := getValue(r, keyFloor)
	if err != nil || !ok {
		return 1, err
	}
	if floor := beUint64(value); floor > 0 {
		return store.Position(floor), nil
	}
	return 0, fmt.Errorf("floor of the log: %w", errCorrupt)
}

func loadMoments(r pebble.Reader) (moments []store.Moment, err error) {
	value, _, err := getValue(r, keyTimes)
	if err != nil {
		return nil, err
	}
	return parseMoments(value)
}

func parseMoments(value []byte) (moments []store.Moment, err error) {
	if len(value)%16 != 0 {
		return nil, fmt.Errorf("times of the log: %w", errCorrupt)
	}
	for ; len(value) > 0; value = value[16:] {
		moments = append(moments, store.Moment{Position: store.Position(beUint64(value)), At: int64(beUint64(value[8:]))})
	}
	return moments, nil
}

func appendMoments(dst []byte, moments []store.Moment) []byte {
	for _, m := range moments {
		dst = binary.BigEndian.AppendUint64(dst, uint64(m.Position))
		dst = binary.BigEndian.AppendUint64(dst, uint64(m.At))
	}
	return dst
}
