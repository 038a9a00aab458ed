package index

import (
	"sync"

	"fencepost/lifecycle"
)

// filing is one handle with its entries.
type filing struct {
	// Set at construction, never changed.
	handle  *lifecycle.Handle
	serial  uint64 // unique in the index
	several bool   // one event can hit two of the entries
	entries []entry
}

// entry is one key of a filing.
type entry struct {
	// Set at construction, never changed.
	key key

	// Guarded by Compute on key.
	filed bool
	gone  bool // taken out; an Add that comes later must not file it
	at    int  // place in the bucket while filed
}

// bucket holds the entries of one key, in no order. It is in the map only while
// it holds at least one. It changes only inside Compute on its key.
type bucket struct {
	serial uint64 // set at construction; unique in the index

	mu sync.RWMutex // guards slots for lookups; nothing else is locked inside it
	// +checklocks:mu
	slots []slot
}

type slot struct {
	filing *filing
	entry  *entry // of filing
}

func (b *bucket) add(f *filing, e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.filed, e.at = true, len(b.slots)
	b.slots = append(b.slots, slot{filing: f, entry: e})
}

// remove puts the last slot in the place of e's and returns how many are left.
func (b *bucket) remove(e *entry) (left int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := len(b.slots) - 1
	moved := b.slots[last]
	b.slots[e.at], moved.entry.at = moved, e.at
	b.slots[last] = slot{}
	b.slots = b.slots[:last]
	e.filed = false
	b.shrinkLocked()
	return last
}

// shrinkLocked gives memory back after a crowd has left.
func (b *bucket) shrinkLocked() {
	const keep = 64
	if n := len(b.slots); cap(b.slots) > keep && n < cap(b.slots)/4 {
		b.slots = append(make([]slot, 0, 2*n), b.slots...)
	}
}

// collect appends the handles to dst. When apart is set, filings that another
// bucket of the same lookup may hold too go to shared instead.
func (b *bucket) collect(dst []*lifecycle.Handle, shared []*filing, apart bool) ([]*lifecycle.Handle, []*filing) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, s := range b.slots {
		if apart && s.filing.several {
			shared = append(shared, s.filing)
			continue
		}
		dst = append(dst, s.filing.handle)
	}
	return dst, shared
}
