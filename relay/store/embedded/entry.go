package embedded

import (
	"bytes"
	"encoding/binary"
	"errors"
)

var errCorrupt = errors.New("database has a malformed record")

// entry is one index entry: where the event is, and what decides its order,
// its expiry and its kind without reading it.
type entry struct {
	at       uint64 // created_at
	id       [32]byte
	position uint64
	kind     uint16
	expires  int64 // Unix seconds, never when 0
}

// before is the order of answers: newest first, ties by lowest id.
func (e *entry) before(o *entry) bool {
	if e.at != o.at {
		return e.at > o.at
	}
	return bytes.Compare(e.id[:], o.id[:]) < 0
}

// same reports whether both name one event.
func (e *entry) same(o *entry) bool { return e.at == o.at && e.id == o.id }

func (e *entry) expired(now int64) bool { return e.expires != 0 && e.expires <= now }

func appendEntry(dst []byte, position uint64, kind uint16, expires int64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, position)
	dst = binary.BigEndian.AppendUint16(dst, kind)
	if expires != 0 {
		dst = binary.BigEndian.AppendUint64(dst, uint64(expires))
	}
	return dst
}

// parseEntry reads the suffix of an index key and its value.
func parseEntry(suffix, value []byte) (e entry, err error) {
	if len(suffix) != suffixLen || len(value) != 10 && len(value) != 18 {
		return e, errCorrupt
	}
	e.at = ^binary.BigEndian.Uint64(suffix)
	copy(e.id[:], suffix[8:])
	e.position = binary.BigEndian.Uint64(value)
	e.kind = binary.BigEndian.Uint16(value[8:])
	if len(value) == 18 {
		e.expires = int64(binary.BigEndian.Uint64(value[10:]))
	}
	return e, nil
}

func appendVersion(position uint64, r *record) []byte {
	value := binary.BigEndian.AppendUint64(nil, position)
	value = binary.BigEndian.AppendUint64(value, r.at)
	return append(value, r.id[:]...)
}

func parseVersion(value []byte) (e entry, err error) {
	if len(value) != 8+8+32 {
		return e, errCorrupt
	}
	e.position = binary.BigEndian.Uint64(value)
	e.at = binary.BigEndian.Uint64(value[8:])
	copy(e.id[:], value[16:])
	return e, nil
}

// appendStored makes the value of a stored id; beUint64 reads the position.
func appendStored(position, at uint64) []byte {
	value := binary.BigEndian.AppendUint64(make([]byte, 0, 16), position)
	return binary.BigEndian.AppendUint64(value, at)
}

// beUint64 reads the first 8 bytes of a value; a shorter one, which no version wrote, is 0.
func beUint64(value []byte) uint64 {
	if len(value) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(value)
}

// decode32 reads 64 lower-case hex digits. Upper-case ones are another string
// to the predicate, so they are none here.
func decode32(s string) (out [32]byte, ok bool) {
	if len(s) != 64 {
		return out, false
	}
	for i := range out {
		high, low := nibble(s[2*i]), nibble(s[2*i+1])
		if high > 15 || low > 15 {
			return out, false
		}
		out[i] = high<<4 | low
	}
	return out, true
}

func nibble(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	default:
		return 0xff
	}
}
