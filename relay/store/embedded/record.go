package embedded

import (
	"errors"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// record is an event with the binary forms that keys are made of.
type record struct {
	event  *wire.Event
	id     [32]byte
	pubkey [32]byte
	at     uint64
	kind   uint16
}

var errUnverified = errors.New("event is not a verified one")

func newRecord(e *wire.Event) (record, error) {
	r := record{event: e, at: uint64(e.CreatedAt), kind: uint16(e.Kind)}
	var idOK, keyOK bool
	r.id, idOK = decode32(e.ID)
	r.pubkey, keyOK = decode32(e.PubKey)
	if !idOK || !keyOK || e.CreatedAt < 0 || e.Kind < 0 || e.Kind > 1<<16-1 {
		return r, errUnverified
	}
	return r, nil
}

// indexKeys calls yield with each index key; the slice is reused.
func (r *record) indexKeys(yield func(key []byte)) {
	var space [192]byte
	full := func(prefix []byte) { yield(appendSuffix(prefix, r.at, r.id)) }
	full(append(space[:0], spaceTime))
	full(kindPrefix(space[:0], r.kind))
	full(authorPrefix(space[:0], r.pubkey))
	full(authorKindPrefix(space[:0], r.pubkey, r.kind))
	for _, tag := range r.event.Tags {
		if len(tag) > 1 && indexed(tag[0]) {
			full(tagPrefix(space[:0], tag[0][0], tag[1]))
		}
	}
}

// addressKey returns the key of the event's address in a space, nil when it has
// none.
func (r *record) addressKey(space byte) []byte {
	switch r.event.Class() {
	case wire.Replaceable:
		return addressKey(space, r.kind, r.pubkey, "")
	case wire.Addressable:
		return addressKey(space, r.kind, r.pubkey, r.event.D())
	default:
		return nil
	}
}

// targetKey is addressKey for what a deletion request of r names.
func (r *record) targetKey(space byte, t store.Target) []byte {
	return addressKey(space, uint16(t.Kind), r.pubkey, t.D)
}
