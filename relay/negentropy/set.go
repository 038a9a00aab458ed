package negentropy

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"
)

// Item is one event of a set.
type Item struct {
	At uint64 // created_at, Unix seconds
	ID [32]byte
}

// ItemBytes is what one item of a Set costs in memory.
const ItemBytes = 8 + 32 + 32

// Set is a set of events in the order of the protocol: by time, then by id.
type Set struct {
	items []Item
	sums  []sum // sums[i] is that of the ids of items[:i]
}

// NewSet makes a set of items, which it keeps and sorts. Of equal items one counts.
func NewSet(items []Item) *Set {
	slices.SortFunc(items, compare)
	items = slices.Compact(items)
	s := &Set{items: items, sums: make([]sum, len(items)+1)}
	for i := range items {
		s.sums[i+1] = s.sums[i].plus(&items[i].ID)
	}
	return s
}

// Len returns how many items the set has.
func (s *Set) Len() int { return len(s.items) }

func compare(a, b Item) int {
	if c := cmp.Compare(a.At, b.At); c != 0 {
		return c
	}
	return bytes.Compare(a.ID[:], b.ID[:])
}

// find returns the index of the first item that is not below b, at or behind from.
func (s *Set) find(from int, b *bound) int {
	return from + sort.Search(len(s.items)-from, func(i int) bool { return !b.above(&s.items[from+i]) })
}

const fingerprintLen = 16

// fingerprint is that of items[lower:upper].
func (s *Set) fingerprint(lower, upper int) [fingerprintLen]byte {
	total := s.sums[upper].minus(&s.sums[lower])
	text := make([]byte, 0, 32+10)
	for _, limb := range total {
		text = binary.LittleEndian.AppendUint64(text, limb)
	}
	hash := sha256.Sum256(appendVarint(text, uint64(upper-lower)))
	return [fingerprintLen]byte(hash[:fingerprintLen])
}

// sum is a number of 256 bits, the least significant limb first.
type sum [4]uint64

func (s *sum) plus(id *[32]byte) (out sum) {
	var carry uint64
	for i := range s {
		out[i], carry = bits.Add64(s[i], binary.LittleEndian.Uint64(id[8*i:]), carry)
	}
	return out
}

func (s *sum) minus(o *sum) (out sum) {
	var borrow uint64
	for i := range s {
		out[i], borrow = bits.Sub64(s[i], o[i], borrow)
	}
	return out
}

// bound stands before all items that are not below it: time, then the beginning of an id.
type bound struct {
	at     uint64
	prefix [32]byte
	n      int // bytes of prefix that count, the others are zero
}

// infinity is the time of the bound behind all items.
const infinity = 1<<64 - 1

var end = bound{at: infinity}

// boundOf returns the bound that stands before item, and before nothing less.
func boundOf(item *Item) bound { return bound{at: item.At, prefix: item.ID, n: 32} }

// between returns the shortest bound that is above before and not above after.
func between(before, after *Item) bound {
	b := bound{at: after.At}
	if before.At != after.At {
		return b
	}
	for b.n < 32 {
		b.prefix[b.n] = after.ID[b.n]
		b.n++
		if before.ID[b.n-1] != after.ID[b.n-1] {
			break
		}
	}
	return b
}

// above reports whether item is below b.
func (b *bound) above(item *Item) bool {
	if item.At != b.at {
		return item.At < b.at
	}
	return bytes.Compare(item.ID[:], b.prefix[:]) < 0 // zeros behind the prefix are below every id with it
}

// before reports whether b is below o.
func (b *bound) before(o *bound) bool {
	if b.at != o.at {
		return b.at < o.at
	}
	return bytes.Compare(b.prefix[:], o.prefix[:]) < 0
}
