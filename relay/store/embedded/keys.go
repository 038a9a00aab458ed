package embedded

import (
	"crypto/sha256"
	"encoding/binary"
)

// The database, byte by byte. Integers are big-endian, so that keys sort by
// value; ids and public keys are their 32 bytes.
//
//	key                                             value
//	00 "schema"                                     version(4)
//	00 "epoch"                                      16 hex characters
//	00 "head"                                       position(8) of the last log row
//	00 "floor"                                      position(8) of the first log row; 1 without it
//	00 "times"                                      position(8) time(8) of each store.Moment, oldest first
//	00 "words"                                      done(1) position(8): how far the index of words is; without it there is none
//	00 "copying"                                    done(1) token: how far a copy into this store is
//	01 position(8)                                  log row, see row.go; below the floor those of stored events only
//	02 id(32)                                       position(8) created_at(8) of a stored event; empty: not stored, and deleted by somebody or banned
//	03 kind(2) pubkey(32) text(d)                   position(8) created_at(8) id(32): the stored version of an address
//	04 id(32) pubkey(32)                            empty: pubkey deleted id
//	05 kind(2) pubkey(32) text(d)                   created_at(8): versions up to this are deleted
//	06 seconds(8) nanoseconds(4) position(8)        empty: the row is due for the sweep at this time
//	07 position(8)                                  a copy of that log row, which is a control row
//	08 scope                                        position(8) of the last control row that named it
//	09 id(32)                                       empty: banned
//	0a pubkey(32)                                   until(8): what Erase of it and this created_at selects is refused
//	0b text(group) pubkey(32)                       empty: what Erase of the group selects, with this Self (zeros for none), is refused
//	0c text(replica) position(8)                    attempts(4) microseconds(8) class: a dead letter
//	0f pubkey(32) name                              state of the fence of a stream, as package fence encodes it
//	10 newest(8) id(32)                             entry
//	11 kind(2) newest(8) id(32)                     entry
//	12 pubkey(32) newest(8) id(32)                  entry
//	13 pubkey(32) kind(2) newest(8) id(32)          entry
//	14 letter(1) text(value) newest(8) id(32)       entry
//	15 text(word) newest(8) id(32)                  entry, where Options.Search keeps an index of words
//
// So an append of a regular event needs one look-up: spaces 04 and 09 are asked
// only for an id that space 02 marks. When an id with deletions of strangers is
// stored, the mark is overwritten, which is right: who may delete an event never
// changes. Spaces 08, 0a and 0b are held in memory, see marks.go. A store that was
// written before there were spaces 07 to 0b has none of what they hold.
//
// newest is the complement of created_at: ascending keys are newest first, ties
// by lowest id, which is the order of answers. An index holds the first value of
// each tag with a one-letter name. An entry is position(8) kind(2), and
// expires(8) for an event that expires; so expiry and kinds are decided without
// reading the event.
//
// text is the length(1) and the bytes of a value of up to 64 bytes, or ff and
// the SHA-256 of a longer one. No text is the beginning of another.
const (
	spaceMeta    = 0x00
	spaceLog     = 0x01
	spaceID      = 0x02
	spaceAddress = 0x03
	spaceTombID  = 0x04
	spaceTombAdr = 0x05
	spaceDue     = 0x06
	spaceControl = 0x07
	spaceEpoch   = 0x08
	spaceBan     = 0x09
	spaceVanish  = 0x0a
	spaceGroup   = 0x0b
	spaceLetter  = 0x0c
	spaceFence   = 0x0f

	spaceTime       = 0x10
	spaceKind       = 0x11
	spaceAuthor     = 0x12
	spaceAuthorKind = 0x13
	spaceTag        = 0x14
	spaceWord       = 0x15
	spaceIndexEnd   = 0x16
)

const (
	maxText   = 64   // bytes of a value that a key holds as it is
	hashed    = 0xff // stands before the SHA-256 of a longer one
	suffixLen = 8 + 32
)

var (
	keySchema = append([]byte{spaceMeta}, "schema"...)
	keyEpoch  = append([]byte{spaceMeta}, "epoch"...)
	keyHead   = append([]byte{spaceMeta}, "head"...)

	keyFloor = append([]byte{spaceMeta}, "floor"...)
	keyTimes = append([]byte{spaceMeta}, "times"...)
	keyWords = append([]byte{spaceMeta}, "words"...)

	keyCopying = append([]byte{spaceMeta}, "copying"...)
)

func logKey(position uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{spaceLog}, position)
}

func idKey(id [32]byte) []byte { return append([]byte{spaceID}, id[:]...) }

// addressKey serves both address spaces.
func addressKey(space byte, kind uint16, pubkey [32]byte, d string) []byte {
	key := binary.BigEndian.AppendUint16([]byte{space}, kind)
	return appendText(append(key, pubkey[:]...), d)
}

func tombKey(id, pubkey [32]byte) []byte {
	key := append(make([]byte, 0, 65), spaceTombID)
	return append(append(key, id[:]...), pubkey[:]...)
}

func dueKey(seconds int64, nanoseconds uint32, position uint64) []byte {
	key := binary.BigEndian.AppendUint64([]byte{spaceDue}, uint64(seconds))
	key = binary.BigEndian.AppendUint32(key, nanoseconds)
	return binary.BigEndian.AppendUint64(key, position)
}

func controlKey(position uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{spaceControl}, position)
}

func epochKey(scope string) []byte { return append([]byte{spaceEpoch}, scope...) }

func banKey(id [32]byte) []byte { return append([]byte{spaceBan}, id[:]...) }

func vanishKey(pubkey [32]byte) []byte { return append([]byte{spaceVanish}, pubkey[:]...) }

func groupKey(group string, self [32]byte) []byte {
	return append(appendText([]byte{spaceGroup}, group), self[:]...)
}

// Prefixes of index streams; a suffix completes a key.

func kindPrefix(dst []byte, kind uint16) []byte {
	return binary.BigEndian.AppendUint16(append(dst, spaceKind), kind)
}

func authorPrefix(dst []byte, pubkey [32]byte) []byte {
	return append(append(dst, spaceAuthor), pubkey[:]...)
}

func authorKindPrefix(dst []byte, pubkey [32]byte, kind uint16) []byte {
	dst = append(append(dst, spaceAuthorKind), pubkey[:]...)
	return binary.BigEndian.AppendUint16(dst, kind)
}

func tagPrefix(dst []byte, letter byte, value string) []byte {
	return appendText(append(dst, spaceTag, letter), value)
}

func appendSuffix(dst []byte, at uint64, id [32]byte) []byte {
	return append(binary.BigEndian.AppendUint64(dst, ^at), id[:]...)
}

func appendText(dst []byte, value string) []byte {
	if len(value) <= maxText {
		return append(append(dst, byte(len(value))), value...)
	}
	sum := sha256.Sum256([]byte(value))
	return append(append(dst, hashed), sum[:]...)
}

// indexed reports whether tags of this name are in the index (NIP-01).
func indexed(name string) bool {
	return len(name) == 1 && (name[0] >= 'a' && name[0] <= 'z' || name[0] >= 'A' && name[0] <= 'Z')
}
