package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"fencepost/lifecycle/fence"
	"fencepost/relay/store"
)

// copied writes c as it is.
func (t *txn) copied(c *store.Copied) (out store.Outcome, err error) {
	kept, err := t.copying()
	if err != nil {
		return out, err
	}
	if kept != c.Before || kept.Token == "" && t.head > 0 { // race: kill between a commit and its answer
		return store.Outcome{Err: store.ErrCopy}, nil
	}
	records, err := copiedRecords(c.Rows)
	if err != nil {
		return store.Outcome{Err: err}, nil
	}
	before := t.head
	for i := range c.Rows {
		if r := records[i]; r != nil {
			position := t.push(store.Entry{Type: store.EntryEvent, Event: r.event, Prefix: store.PrefixOf(r.event)})
			t.insert(r, position)
		} else {
			t.control(*c.Rows[i].Control)
		}
	}
	for _, m := range c.Marks {
		if err := t.mark(m); err != nil {
			return out, err
		}
	}
	t.decide(keyCopying, appendCopying(nil, c.After))
	if t.head > before {
		out.Position, out.Last = store.Position(before+1), store.Position(t.head)
	}
	return out, nil
}

// copiedRecords returns the record of each row, nil for control rows.
func copiedRecords(rows []store.Entry) ([]*record, error) {
	records := make([]*record, len(rows))
	for i := range rows {
		if rows[i].Type != store.EntryEvent {
			continue
		}
		r, err := newRecord(rows[i].Event)
		if err != nil {
			return nil, err
		}
		records[i] = &r
	}
	return records, nil
}

// mark remembers m.
func (t *txn) mark(m store.Mark) error {
	switch m.Kind {
	case store.MarkTomb:
		return t.markID(spaceTombID, m.Key)
	case store.MarkBan:
		return t.markID(spaceBan, m.Key)
	case store.MarkAddress:
		t.decide(append([]byte{spaceTombAdr}, m.Key...), binary.BigEndian.AppendUint64(nil, uint64(m.Until)))
	case store.MarkKey:
		t.set(append([]byte{spaceVanish}, m.Key...), binary.BigEndian.AppendUint64(nil, uint64(m.Until)))
		t.fresh.keys[[32]byte(m.Key)] = m.Until
	case store.MarkFence:
		stream, state, err := m.Fence(t.now)
		if err != nil {
			return err
		}
		t.decide(fenceKey(stream), state.Append(nil))
	case store.MarkGroup:
		t.set(append([]byte{spaceGroup}, m.Key...), nil)
		t.fresh.addGroup(m.Key)
	}
	return nil
}

// markID writes a key that begins with an id, and says in the space of ids that there
// is one, unless the id is stored.
func (t *txn) markID(space byte, key []byte) error {
	id := idKey([32]byte(key[:32]))
	value, _, err := t.get(id)
	if err != nil {
		return err
	}
	if len(value) == 0 {
		t.decide(id, []byte{})
	}
	t.decide(append([]byte{space}, key...), []byte{})
	return nil
}

func (t *txn) copying() (store.Copying, error) {
	value, ok, err := t.get(keyCopying)
	if err != nil || !ok {
		return store.Copying{}, err
	}
	return parseCopying(value)
}

func appendCopying(dst []byte, c store.Copying) []byte {
	done := byte(0)
	if c.Done {
		done = 1
	}
	return append(append(dst, done), c.Token...)
}

func parseCopying(value []byte) (c store.Copying, err error) {
	if len(value) == 0 || value[0] > 1 {
		return c, fmt.Errorf("progress of a copy: %w", errCorrupt)
	}
	return store.Copying{Done: value[0] == 1, Token: string(value[1:])}, nil
}

// refuseCopying returns store.ErrCopying for a database that holds part of another.
func refuseCopying(e *engine) error {
	value, ok, err := getValue(e.db, keyCopying)
	if err != nil || !ok {
		return err
	}
	c, err := parseCopying(value)
	if err == nil && c.Token != "" && !c.Done {
		err = store.ErrCopying
	}
	return err
}

// Copying returns how far a copy into this store is.
func (s *Store) Copying(ctx context.Context) (c store.Copying, err error) {
	snap, err := s.snapshot(ctx)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	value, ok, err := snap.get(ctx, keyCopying)
	if err != nil || !ok {
		return c, err
	}
	return parseCopying(value)
}

// ReadStored returns up to limit stored events and control rows after a position, in
// position order, whatever retention took from the log. Meant for a store at rest.
func (s *Store) ReadStored(ctx context.Context, after store.Position, limit int) (_ []store.Entry, err error) {
	snap, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	controls, err := snap.readControl(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	events, err := snap.readEvents(ctx, after, limit)
	return store.Merge(events, controls, limit), err
}

// ReadMarks returns up to limit marks that come after one, in the order of
// store.Mark.Compare; the zero mark stands before the first.
func (s *Store) ReadMarks(ctx context.Context, after store.Mark, limit int) (marks []store.Mark, err error) {
	snap, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	for _, space := range markSpaces {
		if space.kind < after.Kind {
			continue
		}
		from := []byte{space.space}
		if space.kind == after.Kind {
			from = append(append(from, after.Key...), 0)
		}
		found, err := snap.readMarks(ctx, space.kind, from, limit-len(marks))
		if err != nil {
			return nil, err
		}
		marks = append(marks, found...)
	}
	return marks, nil
}

// markSpaces says where the marks of each kind are. Their keys are those of package
// store behind the byte of the space.
var markSpaces = [...]struct {
	kind  store.MarkKind
	space byte
}{
	{store.MarkTomb, spaceTombID},
	{store.MarkAddress, spaceTombAdr},
	{store.MarkBan, spaceBan},
	{store.MarkKey, spaceVanish},
	{store.MarkGroup, spaceGroup},
	{store.MarkFence, spaceFence},
}

func (s *snapshot) get(ctx context.Context, key []byte) (value []byte, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readyLocked(ctx); err != nil {
		return nil, false, err
	}
	return getValue(s.view.snap, key)
}

// readEvents reads the stored events after a position and passes over other rows.
func (s *snapshot) readEvents(ctx context.Context, after store.Position, limit int) (rows []store.Entry, err error) {
	if after >= s.view.head {
		return nil, nil
	}
	upTo := logKey(uint64(s.view.head) + 1)
	err = s.each(ctx, logKey(uint64(after)+1), upTo, func(key, value []byte) (more bool, err error) {
		if len(key) != 9 || len(value) == 0 {
			return false, errCorrupt
		}
		if store.EntryType(value[0]) == store.EntryEvent && len(rows) < limit {
			row, err := decodeRow(beUint64(key[1:]), value, nil)
			if err != nil {
				return false, err
			}
			rows = append(rows, row)
		}
		return len(rows) < limit, nil
	})
	return rows, err
}

// readMarks reads marks of one kind from a key on.
func (s *snapshot) readMarks(ctx context.Context, kind store.MarkKind, from []byte, limit int) (marks []store.Mark, err error) {
	if limit <= 0 {
		return nil, nil
	}
	err = s.each(ctx, from, []byte{from[0] + 1}, func(key, value []byte) (more bool, err error) {
		m := store.Mark{Kind: kind, Key: bytes.Clone(key[1:])}
		switch kind {
		case store.MarkAddress, store.MarkKey:
			m.Until = int64(beUint64(value))
		case store.MarkFence:
			if m, err = fenceMark(m.Key, value); err != nil {
				return false, err
			}
		}
		marks = append(marks, m)
		return len(marks) < limit, nil
	})
	return marks, err
}

// fenceMark makes the mark of a fence from its key, without the byte of the space.
func fenceMark(key, value []byte) (store.Mark, error) {
	state, err := fence.Decode(value)
	if err == nil && len(key) <= 32 {
		err = errCorrupt
	}
	if err != nil {
		return store.Mark{}, err
	}
	return store.FenceMark(fence.Stream{Owner: hex.EncodeToString(key[:32]), Name: string(key[32:])}, state), nil
}

// each calls yield with the keys of [from, upTo) and their values, which are reused,
// until it wants no more.
func (s *snapshot) each(ctx context.Context, from, upTo []byte, yield func(key, value []byte) (more bool, err error)) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readyLocked(ctx); err != nil {
		return err
	}
	it, err := s.view.snap.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: upTo})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	n := 0
	for it.First(); it.Valid(); it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		more, err := yield(it.Key(), value)
		if err != nil || !more {
			return err
		}
		if n++; n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return it.Error()
}
