package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// txn builds one commit. It reads the database and, before that, what it has
// already decided itself. An error of a method means that nothing of the
// transaction may be committed.
type txn struct {
	db    *pebble.DB
	cache *cache
	batch *pebble.Batch
	now   time.Time
	head  uint64 // the last position given

	// overlay maps the keys of decisions (id, address and tombstone spaces) that
	// this transaction changed to their values; nil is deleted.
	overlay map[string][]byte
	rows    []store.Entry // new rows, from position first
	first   uint64
	voids   []store.Entry // rows of earlier commits that became void
	broken  error         // the first error of writing to the batch
}

func newTxn(db *pebble.DB, c *cache, head store.Position, now time.Time) *txn {
	return &txn{
		db:      db,
		cache:   c,
		batch:   db.NewBatch(),
		now:     now,
		head:    uint64(head),
		first:   uint64(head) + 1,
		overlay: make(map[string][]byte),
	}
}

// empty reports whether there is nothing to commit.
func (t *txn) empty() bool { return t.batch.Empty() }

// finish completes the batch.
func (t *txn) finish() error {
	if len(t.rows) > 0 {
		t.set(keyHead, binary.BigEndian.AppendUint64(nil, t.head))
	}
	return t.broken
}

// append decides about e and, when it is to be stored, writes its rows.
func (t *txn) append(e *wire.Event) (store.Outcome, error) {
	r, err := newRecord(e)
	if err != nil {
		return store.Outcome{Err: err}, nil
	}
	if e.Class() == wire.Ephemeral {
		return t.appendEphemeral(&r), nil
	}
	outcome, err := t.refusal(&r)
	if err != nil || outcome.Err != nil {
		return outcome, err
	}
	if err := t.supersede(&r); err != nil {
		if errors.Is(err, store.ErrSuperseded) {
			return store.Outcome{Err: store.ErrSuperseded}, nil
		}
		return outcome, err
	}
	position := t.push(store.Entry{Type: store.EntryEvent, Event: e, Prefix: store.PrefixOf(e)})
	t.insert(&r, position)
	if e.Kind == store.KindDeletion {
		err = t.deleteTargets(&r)
	}
	return store.Outcome{Position: store.Position(position)}, err
}

func (t *txn) appendEphemeral(r *record) store.Outcome {
	if r.event.Expired(t.now.Unix()) {
		return store.Outcome{Err: store.ErrExpired}
	}
	position := t.push(store.Entry{Type: store.EntryEphemeral, Event: r.event, Prefix: store.PrefixOf(r.event)})
	due := t.now.Add(store.EphemeralAge)
	t.set(logKey(position), eventRow(store.EntryEphemeral, r.event))
	t.set(dueKey(due.Unix(), uint32(due.Nanosecond()), position), nil)
	return store.Outcome{Position: store.Position(position)}
}

// refusal looks for a reason not to store r, other than a newer version.
func (t *txn) refusal(r *record) (store.Outcome, error) {
	value, marked, err := t.get(idKey(r.id))
	if err != nil {
		return store.Outcome{}, err
	}
	if len(value) > 0 {
		return store.Outcome{Position: store.Position(beUint64(value)), Err: store.ErrDuplicate}, nil
	}
	deleted, err := t.deleted(r, marked)
	if err != nil {
		return store.Outcome{}, err
	}
	switch {
	case deleted:
		return store.Outcome{Err: store.ErrDeleted}, nil
	case r.event.Expired(t.now.Unix()):
		return store.Outcome{Err: store.ErrExpired}, nil
	default:
		return store.Outcome{}, nil
	}
}

// deleted reports whether an earlier deletion request forbids r; marked says
// that somebody deleted its id.
func (t *txn) deleted(r *record, marked bool) (bool, error) {
	if r.event.Kind == store.KindDeletion {
		return false, nil
	}
	var owners []string
	if marked {
		owners = store.Owners(r.event)
	}
	for _, owner := range owners {
		key, ok := decode32(owner)
		if !ok {
			continue
		}
		if _, found, err := t.get(tombKey(r.id, key)); err != nil || found {
			return found, err
		}
	}
	key := r.addressKey(spaceTombAdr)
	if key == nil {
		return false, nil
	}
	until, found, err := t.get(key)
	return found && r.at <= beUint64(until), err
}

// supersede voids the version that r replaces and takes its address;
// store.ErrSuperseded when that one stays.
func (t *txn) supersede(r *record) error {
	key := r.addressKey(spaceAddress)
	if key == nil {
		return nil
	}
	value, ok, err := t.get(key)
	if err != nil || !ok {
		return err
	}
	stored, err := parseVersion(value)
	if err != nil {
		return err
	}
	if stored.before(&entry{at: r.at, id: r.id}) {
		return store.ErrSuperseded
	}
	return t.remove(stored.position, store.VoidReplaced)
}

// insert writes the row of r and everything that finds it.
func (t *txn) insert(r *record, position uint64) {
	expires, _ := r.event.Expires()
	value := appendEntry(nil, position, r.kind, expires)
	t.set(logKey(position), eventRow(store.EntryEvent, r.event))
	t.decide(idKey(r.id), appendStored(position, r.at))
	r.indexKeys(func(key []byte) { t.set(key, value) })
	if key := r.addressKey(spaceAddress); key != nil {
		t.decide(key, appendVersion(position, r))
	}
	if expires != 0 {
		t.set(dueKey(expires, 0, position), nil)
	}
}

// remove voids the stored event at position and takes it out of every index.
func (t *txn) remove(position uint64, kind store.VoidKind) error {
	e, err := t.event(position)
	if err != nil {
		return err
	}
	r, err := newRecord(e)
	if err != nil {
		return rowError(position, err)
	}
	t.void(position, kind, store.PrefixOf(e))
	t.decide(idKey(r.id), nil)
	r.indexKeys(t.unset)
	if key := r.addressKey(spaceAddress); key != nil {
		t.decide(key, nil)
	}
	if expires, ok := e.Expires(); ok {
		t.unset(dueKey(expires, 0, position))
	}
	return nil
}

// void empties a row of this transaction or of an earlier one.
func (t *txn) void(position uint64, kind store.VoidKind, prefix [8]byte) {
	e := store.Entry{Position: store.Position(position), Type: store.EntryVoid, Void: kind, Prefix: prefix}
	if position >= t.first {
		t.rows[position-t.first] = e
	} else {
		t.voids = append(t.voids, e)
	}
	t.set(logKey(position), voidRow(kind, prefix))
}

// push gives e the next position.
func (t *txn) push(e store.Entry) uint64 {
	t.head++
	e.Position = store.Position(t.head)
	t.rows = append(t.rows, e)
	return t.head
}

// event returns the stored event at position.
func (t *txn) event(position uint64) (*wire.Event, error) {
	if position >= t.first {
		return t.rows[position-t.first].Event, nil
	}
	return loadEvent(t.db, t.cache, position)
}

func (t *txn) set(key, value []byte) { t.note(t.batch.Set(key, value, nil)) }

func (t *txn) unset(key []byte) { t.note(t.batch.Delete(key, nil)) }

func (t *txn) note(err error) {
	if t.broken == nil && err != nil {
		t.broken = fmt.Errorf("write batch: %w", err)
	}
}

// decide sets, or with nil deletes, a key that later decisions look at.
func (t *txn) decide(key, value []byte) {
	t.overlay[string(key)] = value
	if value == nil {
		t.unset(key)
		return
	}
	t.set(key, value)
}

func (t *txn) get(key []byte) (value []byte, ok bool, err error) {
	if value, changed := t.overlay[string(key)]; changed {
		return value, value != nil, nil
	}
	return getValue(t.db, key)
}
