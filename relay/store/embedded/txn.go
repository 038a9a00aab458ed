package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"fencepost/lifecycle/fence"
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
	marks *marks // the durable ones, not changed
	head  uint64 // the last position given

	// overlay maps the keys of decisions (id, address, tombstone and ban spaces)
	// that this transaction changed to their values; nil is deleted.
	overlay map[string][]byte
	fresh   *marks // what this transaction adds to marks
	fences  map[fence.Stream]*fenced
	rows    []store.Entry // new rows, from position first
	first   uint64
	voids   []store.Entry // rows of earlier commits that became void
	unread  []error       // why events that it removes could not be read
	broken  error         // the first error of writing to the batch
}

func newTxn(db *pebble.DB, c *cache, m *marks, head store.Position, now time.Time) *txn {
	return &txn{
		db:      db,
		cache:   c,
		batch:   db.NewBatch(),
		now:     now,
		head:    uint64(head),
		first:   uint64(head) + 1,
		marks:   m,
		overlay: make(map[string][]byte),
		fresh:   newMarks(),
	}
}

// empty reports whether there is nothing to commit.
func (t *txn) empty() bool { return t.batch.Empty() }

// finish completes the batch.
func (t *txn) finish() error {
	t.writeFences()
	if len(t.rows) > 0 {
		t.set(keyHead, binary.BigEndian.AppendUint64(nil, t.head))
	}
	return t.broken
}

// append decides about r under terms and a fence, which may be nil, and, when it is to be
// stored, writes its rows.
func (t *txn) append(r *record, terms []store.Term, f *store.Fence) (store.Outcome, error) {
	value, marked, err := t.get(idKey(r.id))
	if err != nil {
		return store.Outcome{}, err
	}
	if len(value) > 0 {
		return store.Outcome{Position: store.Position(beUint64(value)), Err: store.ErrDuplicate}, nil
	}
	if refused, err := t.barred(f); err != nil || refused != nil {
		return store.Outcome{Err: refused}, err
	}
	if epoch, moved := t.moved(terms); moved {
		return store.Outcome{Position: epoch, Err: store.ErrMoved}, nil
	}
	refused, err := t.refusal(r, marked)
	if err != nil || refused != nil {
		return store.Outcome{Err: refused}, err
	}
	if r.event.Class() == wire.Ephemeral {
		return store.Outcome{Position: t.insertEphemeral(r)}, nil
	}
	position := t.push(store.Entry{Type: store.EntryEvent, Event: r.event, Prefix: store.PrefixOf(r.event)})
	t.insert(r, position)
	if r.event.Kind == store.KindDeletion {
		err = t.deleteTargets(r)
	}
	return store.Outcome{Position: store.Position(position)}, err
}

// refusal returns the reason not to store r, which is not stored, or nil; then the
// version that it replaces is gone. marked says that somebody deleted or banned its
// id.
func (t *txn) refusal(r *record, marked bool) (refused, err error) {
	if marked {
		if _, banned, err := t.get(banKey(r.id)); err != nil || banned {
			return store.ErrBanned, err
		}
	}
	if t.vanished(r) {
		return store.ErrVanished, nil
	}
	deleted, err := t.deleted(r, marked)
	switch {
	case err != nil:
		return nil, err
	case deleted:
		return store.ErrDeleted, nil
	case r.event.Expired(t.now.Unix()):
		return store.ErrExpired, nil
	default:
		return t.supersede(r)
	}
}

// deleted reports whether an earlier deletion request forbids r; marked says
// that somebody deleted its id.
func (t *txn) deleted(r *record, marked bool) (bool, error) {
	if r.event.Kind == store.KindDeletion || r.event.Class() == wire.Ephemeral {
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

// supersede voids the version that r replaces; store.ErrSuperseded when that one
// stays.
func (t *txn) supersede(r *record) (refused, err error) {
	key := r.addressKey(spaceAddress)
	if key == nil {
		return nil, nil
	}
	value, ok, err := t.get(key)
	if err != nil || !ok {
		return nil, err
	}
	stored, err := parseVersion(value)
	if err != nil {
		return nil, err
	}
	if stored.before(&entry{at: r.at, id: r.id}) {
		return store.ErrSuperseded, nil
	}
	return nil, t.remove(stored.position, store.VoidReplaced)
}

func (t *txn) insertEphemeral(r *record) store.Position {
	position := t.push(store.Entry{Type: store.EntryEphemeral, Event: r.event, Prefix: store.PrefixOf(r.event)})
	due := t.now.Add(store.EphemeralAge)
	t.set(logKey(position), eventRow(store.EntryEphemeral, r.event))
	t.set(dueKey(due.Unix(), uint32(due.Nanosecond()), position), nil)
	return store.Position(position)
}

// insert writes the row of r and everything that finds it.
func (t *txn) insert(r *record, position uint64) {
	expires, _ := r.event.Expires()
	value := appendEntry(nil, position, r.kind, expires)
	t.set(logKey(position), eventRow(store.EntryEvent, r.event))
	t.decide(idKey(r.id), appendStored(position, r.at))
	r.indexKeys(func(key []byte) { t.set(key, value) })
	if t.marks.words {
		r.wordKeys(func(key []byte) { t.set(key, value) })
	}
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
	if errors.Is(err, errCorrupt) {
		return t.removeUnread(position, kind, err)
	}
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
	if t.marks.words {
		r.wordKeys(t.unset)
	}
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
	if store.Position(position) < t.marks.floor {
		t.unset(logKey(position)) // it was kept for the event only
		return
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
