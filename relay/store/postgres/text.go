package postgres

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

const (
	maxText = 64   // bytes of a value that an index holds as it is
	hashed  = 0xff // stands before the SHA-256 of a longer one
)

// text is the form of a value in an index: the length(1) and the bytes of up to 64,
// or ff and the SHA-256 of more.
func text(value string) []byte { return appendText(nil, value) }

func appendText(dst []byte, value string) []byte {
	if len(value) <= maxText {
		return append(append(dst, byte(len(value))), value...)
	}
	sum := sha256.Sum256([]byte(value))
	return append(append(dst, hashed), sum[:]...)
}

// addressOf is kind(2) pubkey(32) text(d).
func addressOf(kind int, pubkey [32]byte, d string) string {
	key := binary.BigEndian.AppendUint16(nil, uint16(kind))
	return string(appendText(append(key, pubkey[:]...), d))
}

// decode32 reads 64 lower-case hex digits.
func decode32(s string) (out [32]byte, ok bool) {
	if !nostr.IsValid32ByteHex(s) {
		return out, false
	}
	_, err := hex.Decode(out[:], []byte(s))
	return out, err == nil
}

// indexed reports whether tags of this name are in the index (NIP-01).
func indexed(name string) bool {
	return len(name) == 1 && (name[0] >= 'a' && name[0] <= 'z' || name[0] >= 'A' && name[0] <= 'Z')
}

// record is an event with the forms that rows are made of.
type record struct {
	event   *wire.Event
	id      [32]byte
	pubkey  [32]byte
	at      int64
	kind    int
	address string // empty for none
}

var errUnverified = errors.New("event is not a verified one")

func newRecord(e *wire.Event) (*record, error) {
	r := &record{event: e, at: int64(e.CreatedAt), kind: e.Kind}
	var idOK, keyOK bool
	r.id, idOK = decode32(e.ID)
	r.pubkey, keyOK = decode32(e.PubKey)
	if !idOK || !keyOK || e.CreatedAt < 0 || e.Kind < 0 || e.Kind > 1<<16-1 {
		return nil, errUnverified
	}
	switch e.Class() {
	case wire.Replaceable:
		r.address = addressOf(e.Kind, r.pubkey, "")
	case wire.Addressable:
		r.address = addressOf(e.Kind, r.pubkey, e.D())
	}
	return r, nil
}

// newest is the complement of the time: ascending order is newest first.
func (r *record) newest() int64 { return ^r.at }

// owners returns the keys that may delete r by its id and that are keys at all.
func (r *record) owners() (keys [][32]byte) {
	for _, owner := range store.Owners(r.event) {
		if key, ok := decode32(owner); ok {
			keys = append(keys, key)
		}
	}
	return keys
}
