package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"

	"github.com/cockroachdb/pebble/v2"

	"fencepost/relay/store"
)

// marks is what every append is compared with, so it is in memory: an entry for
// each scope that ever moved, each key that vanished and each group that was
// erased, about 150 bytes each. The writer's are what is durable.
type marks struct {
	epochs  map[string]store.Position // scope -> position of the last control row that named it
	keys    map[[32]byte]int64        // vanished key -> created_at up to which it is erased
	groups  map[string]struct{}       // text(group), and text(group) self(32), of erased groups
	control store.Position            // the newest control row, 0 for none
	floor   store.Position            // the first row of the log
	words   bool                      // the index of words is kept; not changed by commits
}

func newMarks() *marks {
	return &marks{
		epochs: make(map[string]store.Position),
		keys:   make(map[[32]byte]int64),
		groups: make(map[string]struct{}),
	}
}

// loadMarks reads the marks that r holds.
func loadMarks(r pebble.Reader) (*marks, error) {
	m := newMarks()
	floor, err := loadFloor(r)
	m.floor = floor
	index, wordsErr := loadWords(r)
	m.words = index.begun
	return m, errors.Join(
		err,
		wordsErr,
		eachKey(r, spaceControl, func(key, _ []byte) error {
			m.control = store.Position(beUint64(key))
			return nil
		}),
		eachKey(r, spaceEpoch, func(scope, value []byte) error {
			m.epochs[string(scope)] = store.Position(beUint64(value))
			return nil
		}),
		eachKey(r, spaceVanish, func(key, value []byte) error {
			if len(key) != 32 || len(value) != 8 {
				return errCorrupt
			}
			m.keys[[32]byte(key)] = int64(binary.BigEndian.Uint64(value))
			return nil
		}),
		eachKey(r, spaceGroup, func(key, _ []byte) error {
			if len(key) < 1+32 {
				return errCorrupt
			}
			m.addGroup(key)
			return nil
		}),
	)
}

// eachKey calls yield with every key of a space, without the space's byte, and its
// value; both are reused.
func eachKey(r pebble.Reader, space byte, yield func(key, value []byte) error) (err error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: []byte{space}, UpperBound: []byte{space + 1}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for it.First(); it.Valid(); it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := yield(it.Key()[1:], value); err != nil {
			return fmt.Errorf("space %d: %w", space, err)
		}
	}
	return it.Error()
}

// addGroup takes text(group) self(32).
func (m *marks) addGroup(key []byte) {
	m.groups[string(key[:len(key)-32])] = struct{}{}
	m.groups[string(key)] = struct{}{}
}

// add takes over what a commit added.
func (m *marks) add(fresh *marks) {
	maps.Copy(m.epochs, fresh.epochs)
	maps.Copy(m.keys, fresh.keys)
	maps.Copy(m.groups, fresh.groups)
	m.control = max(m.control, fresh.control)
	m.floor = max(m.floor, fresh.floor)
}

// selects reports whether an erasure that is marked selects r, as
// store.Erasure.Selects does.
func (m *marks) selects(r *record) bool {
	if r.event.Kind == store.KindVanish || len(m.keys) == 0 && len(m.groups) == 0 {
		return false
	}
	if m.hasKey(r.pubkey, r) {
		return true
	}
	for _, tag := range r.event.Tags {
		if len(tag) > 1 && m.selectsTag(tag[0], tag[1], r) {
			return true
		}
	}
	return m.isOwn(r)
}

func (m *marks) selectsTag(name, value string, r *record) bool {
	switch {
	case name == "h" && len(m.groups) > 0:
		var space [1 + maxText]byte
		_, ok := m.groups[string(appendText(space[:0], value))]
		return ok
	case name == "p" && r.event.Kind == store.KindGiftWrap:
		key, ok := decode32(value)
		return ok && m.hasKey(key, r)
	default:
		return false
	}
}

func (m *marks) hasKey(key [32]byte, r *record) bool {
	until, ok := m.keys[key]
	return ok && int64(r.at) <= until
}

// isOwn reports whether r is one of the relay's own about an erased group.
func (m *marks) isOwn(r *record) bool {
	if len(m.groups) == 0 || r.kind < firstGroupKind || r.kind > lastGroupKind {
		return false
	}
	var space [1 + maxText + 32]byte
	_, ok := m.groups[string(append(appendText(space[:0], r.event.D()), r.pubkey[:]...))]
	return ok
}
