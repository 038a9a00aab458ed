package embedded

import (
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"fencepost/relay/store"
)

// deleteTargets carries out the deletion request r (NIP-09), whose own row is
// written: each stored target is removed, and none may come back.
func (t *txn) deleteTargets(r *record) error {
	for _, target := range store.Targets(r.event) {
		var err error
		if target.ID == "" {
			err = t.deleteAddress(r, target)
		} else {
			err = t.deleteID(r, target.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *txn) deleteID(request *record, id string) error {
	target, ok := decode32(id)
	if !ok {
		return nil
	}
	value, _, err := t.get(idKey(target))
	if err != nil {
		return err
	}
	stored := len(value) > 0
	if stored {
		related, err := t.related(request, target, value)
		if err != nil || !related {
			return err
		}
		e, err := t.event(beUint64(value))
		if err != nil && !(errors.Is(err, errCorrupt) && len(value) >= 16) { // else the indexes have said that it may
			return err
		}
		if err == nil && !store.MayDelete(request.event, e) {
			return nil
		}
	}
	if stored {
		err = t.removeWithRow(beUint64(value), store.CauseDeleted)
	}
	t.decide(idKey(target), []byte{})
	t.decide(tombKey(target, request.pubkey), []byte{})
	return err
}

// related reports, from the indexes alone, whether store.MayDelete can allow
// request to delete the stored id. A request names thousands of events, and to
// decode a large one takes milliseconds: only what is deleted may cost that.
func (t *txn) related(request *record, id [32]byte, stored []byte) (bool, error) {
	if beUint64(stored) >= t.first || len(stored) < 16 {
		return true, nil // decoded and not in the indexes yet, or of an early version
	}
	at := beUint64(stored[8:])
	kind, ok, err := t.indexedKind(appendSuffix(authorPrefix(nil, request.pubkey), at, id))
	if err != nil || ok {
		return kind != store.KindDeletion, err
	}
	kind, ok, err = t.indexedKind(appendSuffix(tagPrefix(nil, 'p', request.event.PubKey), at, id))
	return ok && kind == store.KindGiftWrap, err
}

// indexedKind returns the kind in the index entry under key.
func (t *txn) indexedKind(key []byte) (kind int, ok bool, err error) {
	value, ok, err := getValue(t.db, key)
	if err != nil || !ok {
		return 0, false, err
	}
	e, err := parseEntry(key[len(key)-suffixLen:], value)
	return int(e.kind), true, err
}

func (t *txn) deleteAddress(request *record, target store.Target) error {
	tomb := request.targetKey(spaceTombAdr, target)
	until, ok, err := t.get(tomb)
	if err != nil {
		return err
	}
	if !ok || beUint64(until) < request.at {
		t.decide(tomb, binary.BigEndian.AppendUint64(nil, request.at))
	}
	value, ok, err := t.get(request.targetKey(spaceAddress, target))
	if err != nil || !ok {
		return err
	}
	stored, err := parseVersion(value)
	if err != nil || stored.at > request.at {
		return err
	}
	return t.removeWithRow(stored.position, store.CauseDeleted)
}

// removeWithRow removes the stored event at position and says so in the log, unless it is
// damaged.
func (t *txn) removeWithRow(position uint64, cause store.RemovalCause) error {
	e, err := t.event(position)
	if errors.Is(err, errCorrupt) {
		return t.removeUnread(position, store.VoidRemoved, err)
	}
	if err != nil {
		return err
	}
	removal := store.NewRemoval(cause, store.Position(position), e)
	row := t.push(store.Entry{Type: store.EntryRemoval, Removal: removal, Prefix: store.PrefixOf(e)})
	t.set(logKey(row), removalRow(removal))
	return t.remove(position, store.VoidRemoved)
}

// sweep works on up to limit rows that are due, oldest due first, and returns
// how many there were. It must be the first and only work of its transaction,
// since it looks at the database alone.
func (t *txn) sweep(seconds int64, nanoseconds uint32, limit int) (n int, err error) {
	due, err := t.due(seconds, nanoseconds, limit)
	if err != nil {
		return 0, err
	}
	for _, key := range due {
		if err := t.sweepOne(key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// due returns up to limit keys of the due space up to a time, inclusive.
func (t *txn) due(seconds int64, nanoseconds uint32, limit int) (keys [][]byte, err error) {
	it, err := t.db.NewIter(&pebble.IterOptions{
		LowerBound: []byte{spaceDue},
		UpperBound: append(dueKey(seconds, nanoseconds, 1<<64-1), 0),
	})
	if err != nil {
		return nil, err
	}
	for it.First(); it.Valid() && len(keys) < limit; it.Next() {
		keys = append(keys, append([]byte{}, it.Key()...))
	}
	return keys, errors.Join(it.Error(), it.Close())
}

func (t *txn) sweepOne(due []byte) error {
	if len(due) != 1+8+4+8 {
		return errCorrupt
	}
	position := binary.BigEndian.Uint64(due[13:])
	value, ok, err := getValue(t.db, logKey(position))
	if err != nil {
		return err
	}
	t.unset(due) // also when nothing is there: what is due behind it must not wait
	if !ok {
		return nil
	}
	switch typeOf(value) {
	case store.EntryEvent:
		return t.removeWithRow(position, store.CauseExpired)
	case store.EntryEphemeral:
		row, err := decodeRow(position, value, nil)
		if err != nil {
			t.unread = append(t.unread, err)
		}
		t.void(position, store.VoidEphemeral, row.Prefix)
	case store.EntryRemoval, store.EntryVoid, store.EntryControl: // they are never due
	default:
		return t.removeUnread(position, store.VoidRemoved, rowError(position, errCorrupt))
	}
	return nil
}
