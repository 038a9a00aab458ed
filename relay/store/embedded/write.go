package embedded

import (
	"encoding/binary"

	"fencepost/relay/store"
)

// write decides about w and, when it is to be written, writes all of it.
func (t *txn) write(w *store.Write) (out store.Outcome, err error) {
	event, also, err := prepare(w)
	if err != nil {
		return store.Outcome{Err: err}, nil
	}
	if w.Copied != nil {
		return t.copied(w.Copied)
	}
	if w.Fence != nil && w.Fence.Change != nil {
		return t.change(w.Fence)
	}
	before := t.head
	if event != nil {
		out, err = t.append(event, w.Terms, w.Fence)
	} else if out.Err, err = t.barred(w.Fence); out.Err == nil && err == nil {
		if epoch, moved := t.moved(w.Terms); moved {
			out = store.Outcome{Position: epoch, Err: store.ErrMoved}
		}
	}
	if err != nil || out.Err != nil {
		return out, err
	}
	if out.Frame, err = t.admit(w.Fence, event != nil); err != nil {
		return out, err
	}
	for _, c := range w.Controls {
		position := t.control(c)
		if out.Position == 0 {
			out.Position = position
		}
	}
	for i := range also {
		if _, err := t.append(&also[i], nil, nil); err != nil { // what is refused is left out
			return out, err
		}
	}
	if err := t.ban(w); err != nil {
		return out, err
	}
	if w.Erase != nil {
		t.remember(w.Erase)
	}
	if t.head > before {
		out.Last = store.Position(t.head)
	}
	return out, nil
}

// prepare makes the records of w's events, before any of them is written.
func prepare(w *store.Write) (event *record, also []record, err error) {
	if err := w.Validate(); err != nil {
		return nil, nil, err
	}
	if w.Event != nil {
		r, err := newRecord(w.Event)
		if err != nil {
			return nil, nil, err
		}
		event = &r
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

// moved returns the latest epoch of a scope that is not what a term says.
func (t *txn) moved(terms []store.Term) (latest store.Position, moved bool) {
	for i := range terms {
		epoch, ok := t.fresh.epochs[terms[i].Scope]
		if !ok {
			epoch = t.marks.epochs[terms[i].Scope]
		}
		if epoch != terms[i].Epoch {
			latest, moved = max(latest, epoch), true
		}
	}
	return latest, moved
}

// vanished reports whether a remembered erasure selects r.
func (t *txn) vanished(r *record) bool { return t.marks.selects(r) || t.fresh.selects(r) }

func (t *txn) control(c store.Control) store.Position {
	position := t.push(store.Entry{Type: store.EntryControl, Control: &c})
	row := c.AppendTo([]byte{byte(store.EntryControl)})
	t.set(logKey(position), row)
	t.set(controlKey(position), row)
	for _, scope := range c.Scopes {
		t.set(epochKey(scope), binary.BigEndian.AppendUint64(nil, position))
		t.fresh.epochs[scope] = store.Position(position)
	}
	t.fresh.control = store.Position(position)
	return store.Position(position)
}

// ban carries out what w bans, and then what it unbans. The mark of an id that is
// unbanned stays: it only says that something may forbid the id.
func (t *txn) ban(w *store.Write) error {
	for _, id := range w.Ban {
		key, _ := decode32(id) // Validate has seen that it is one
		value, _, err := t.get(idKey(key))
		if err == nil && len(value) > 0 {
			err = t.removeWithRow(beUint64(value), store.CauseOperator)
		}
		if err != nil {
			return err
		}
		t.decide(idKey(key), []byte{})
		t.decide(banKey(key), []byte{})
	}
	for _, id := range w.Unban {
		key, _ := decode32(id)
		t.decide(banKey(key), nil)
	}
	return nil
}

// remember marks what x selects as refused. Of a key the latest time counts.
func (t *txn) remember(x *store.Erasure) {
	if x.Group != "" {
		self, ok := decode32(x.Self)
		if !ok {
			self = [32]byte{}
		}
		key := groupKey(x.Group, self)
		t.set(key, nil)
		t.fresh.addGroup(key[1:])
		return
	}
	key, _ := decode32(x.Author)
	for _, m := range []*marks{t.marks, t.fresh} {
		if until, ok := m.keys[key]; ok && until >= x.Until {
			return
		}
	}
	t.set(vanishKey(key), binary.BigEndian.AppendUint64(nil, uint64(x.Until)))
	t.fresh.keys[key] = x.Until
}
