package postgres

import (
	"time"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// txn decides one commit: it changes its state as if everything were written, and
// collects the rows that say so. It does no I/O.
type txn struct {
	*state
	now   time.Time
	first uint64 // position of rows[0]
	rows  []row
	voids []void // rows of earlier commits that become void

	// What changed of the state, each to its last value.
	newTombs        []tomb
	newAddressTombs map[string]int64
	banned          map[[32]byte]bool // false is unbanned
	newEpochs       map[string]store.Position
	newKeys         map[[32]byte]int64
	newGroups       []group
	control         store.Position // the last control row, 0 for none
	newCopying      bool           // copying is to be kept
}

// row is a new log row. record is set while it is a stored event.
type row struct {
	store.Entry
	record *record
	due    time.Time // when the sweep voids an ephemeral event; zero for the others
}

// void is an earlier row that loses its payload because of position by.
type void struct {
	position uint64
	kind     store.VoidKind
	by       uint64 // 0 for the row of an ephemeral event
}

type group struct {
	name []byte
	self [32]byte
}

func newTxn(s *state, now time.Time) *txn {
	return &txn{
		state:           s,
		now:             now,
		first:           s.head + 1,
		newAddressTombs: make(map[string]int64),
		banned:          make(map[[32]byte]bool),
		newEpochs:       make(map[string]store.Position),
		newKeys:         make(map[[32]byte]int64),
	}
}

// empty reports whether there is nothing to commit.
func (t *txn) empty() bool {
	return len(t.rows) == 0 && len(t.voids) == 0 && len(t.newTombs) == 0 && len(t.newAddressTombs) == 0 &&
		len(t.banned) == 0 && len(t.newKeys) == 0 && len(t.newGroups) == 0 && len(t.fences.changed) == 0 && !t.newCopying
}

// write decides about w and, when it is to be written, writes all of it.
func (t *txn) write(w *store.Write) (out store.Outcome) {
	event, also, err := prepare(w)
	if err != nil {
		return store.Outcome{Err: err}
	}
	if w.Copied != nil {
		return t.copied(w.Copied)
	}
	if w.Fence != nil && w.Fence.Change != nil {
		return t.change(w.Fence)
	}
	before := t.head
	if event != nil {
		out = t.append(event, w.Terms, w.Fence)
	} else if _, out.Err = t.fences.apply(w.Fence, false, false); out.Err == nil {
		if epoch, moved := t.moved(w.Terms); moved {
			out = store.Outcome{Position: epoch, Err: store.ErrMoved}
		}
	}
	if out.Err != nil {
		return out
	}
	out.Frame, _ = t.fences.apply(w.Fence, event != nil, true) // it has let the write in
	for i := range w.Controls {
		position := t.addControl(&w.Controls[i])
		if out.Position == 0 {
			out.Position = position
		}
	}
	for _, r := range also {
		_ = t.append(r, nil, nil) // what is refused is left out
	}
	t.ban(w)
	if w.Erase != nil {
		t.remember(w.Erase)
	}
	if t.head > before {
		out.Last = store.Position(t.head)
	}
	return out
}

// prepare makes the records of w's events, before any of them is written.
func prepare(w *store.Write) (event *record, also []*record, err error) {
	if err := w.Validate(); err != nil {
		return nil, nil, err
	}
	if w.Event != nil {
		if event, err = newRecord(w.Event); err != nil {
			return nil, nil, err
		}
	}
	for _, e := range w.Also {
		r, err := newRecord(e)
		if err != nil {
			return nil, nil, err
		}
		also = append(also, r)
	}
	return event, also, nil
}

// append decides about r under terms and a fence, which may be nil, and, when it is to be
// stored, writes its rows.
func (t *txn) append(r *record, terms []store.Term, f *store.Fence) store.Outcome {
	if known := t.byID[r.id]; known != nil {
		return store.Outcome{Position: store.Position(known.position), Err: store.ErrDuplicate}
	}
	if _, err := t.fences.apply(f, true, false); err != nil {
		return store.Outcome{Err: err}
	}
	if epoch, moved := t.moved(terms); moved {
		return store.Outcome{Position: epoch, Err: store.ErrMoved}
	}
	if refused := t.refusal(r); refused != nil {
		return store.Outcome{Err: refused}
	}
	entry := store.Entry{Type: store.EntryEvent, Event: r.event, Prefix: store.PrefixOf(r.event)}
	if r.event.Class() == wire.Ephemeral {
		entry.Type = store.EntryEphemeral
		return store.Outcome{Position: t.push(row{Entry: entry, due: t.now.Add(store.EphemeralAge)})}
	}
	if old := t.byAddress[r.address]; r.address != "" && old != nil {
		t.void(old, store.VoidReplaced, t.head+1)
	}
	position := t.insert(r)
	if r.kind == store.KindDeletion {
		t.deleteTargets(r)
	}
	return store.Outcome{Position: position}
}

// refusal returns the reason not to store r, which is not stored, or nil.
func (t *txn) refusal(r *record) error {
	if _, banned := t.bans[r.id]; banned {
		return store.ErrBanned
	}
	switch {
	case t.vanished(r):
		return store.ErrVanished
	case t.deleted(r):
		return store.ErrDeleted
	case r.event.Expired(t.now.Unix()):
		return store.ErrExpired
	}
	if old := t.byAddress[r.address]; r.address != "" && old != nil && old.before(r) {
		return store.ErrSuperseded
	}
	return nil
}

// before reports whether s is the version that stays beside r (NIP-01).
func (s *stored) before(r *record) bool {
	if s.at != r.at {
		return s.at > r.at
	}
	return string(s.id[:]) < string(r.id[:])
}

// deleted reports whether an earlier deletion request forbids r.
func (t *txn) deleted(r *record) bool {
	if r.kind == store.KindDeletion || r.event.Class() == wire.Ephemeral {
		return false
	}
	for _, owner := range r.owners() {
		if _, ok := t.tombs[tomb{id: r.id, pubkey: owner}]; ok {
			return true
		}
	}
	until, ok := t.addressTombs[r.address]
	return ok && r.address != "" && r.at <= until
}

func (t *txn) addControl(c *store.Control) store.Position {
	position := t.push(row{Entry: store.Entry{Type: store.EntryControl, Control: c}})
	for _, scope := range c.Scopes {
		key := string(text(scope))
		t.epochs[key], t.newEpochs[key] = position, position
	}
	t.control = position
	return position
}

// push gives r the next position.
func (t *txn) push(r row) store.Position {
	t.head++
	r.Position = store.Position(t.head)
	t.rows = append(t.rows, r)
	return r.Position
}
