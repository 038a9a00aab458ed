package mirror

import (
	"encoding/binary"
	"encoding/hex"
	"sync"
)

// knownIDs bounds how many ids are remembered, twice.
const knownIDs = 1 << 16

// known are ids that the upstream has, as far as they are remembered: the last 65,536
// at least. By the first 8 bytes, which nobody can make equal at will.
type known struct {
	mu sync.Mutex // guards the fields below; nothing else happens under it
	// +checklocks:mu
	young, old map[uint64]struct{}
}

func newKnown() *known { return &known{young: make(map[uint64]struct{})} }

// add remembers an id.
func (k *known) add(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.young) >= knownIDs {
		k.young, k.old = make(map[uint64]struct{}), k.young
	}
	k.young[short(id)] = struct{}{}
}

// remove forgets an id.
func (k *known) remove(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.young, short(id))
	delete(k.old, short(id))
}

// has reports whether an id is remembered.
func (k *known) has(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, young := k.young[short(id)]
	_, old := k.old[short(id)]
	return young || old
}

// short returns the beginning of an id; 0 for what is none.
func short(id string) uint64 {
	var b [8]byte
	if len(id) < 16 {
		return 0
	}
	if _, err := hex.Decode(b[:], []byte(id[:16])); err != nil {
		return 0
	}
	return binary.BigEndian.Uint64(b[:])
}
