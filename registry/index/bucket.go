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
	gone  bool  // taken out; an Add that comes later must not file it
	at    int32 // place in the crowd while filed
}

type slot struct {
	filing *filing
	entry  *entry // of filing
}

// bucket is what the map holds for a key: the one entry, or a crowd where
// there is or was more than one. Most keys have one entry, and that costs no
// memory beside the map's (BenchmarkMemory). The map replaces a bucket and never
// changes it; what it points to changes only inside Compute on its key.
type bucket struct {
	one   slot   // when crowd is nil
	crowd *crowd // not empty
}

// add returns the bucket with s in it. There is whether b is one at all; serial
// is for a crowd that begins.
func (b bucket) add(s slot, there bool, serial func() uint64) bucket {
	if !there {
		s.entry.filed = true
		return bucket{one: s}
	}
	if b.crowd == nil {
		c := &crowd{serial: serial()}
		c.add(b.one)
		b = bucket{crowd: c}
	}
	b.crowd.add(s)
	return b
}

// remove takes out e, which is filed here, and returns how many are left.
func (b bucket) remove(e *entry) (left int) {
	e.filed = false
	if b.crowd == nil {
		return 0
	}
	return b.crowd.remove(e)
}

// serial is the same for buckets that give the same handles.
func (b bucket) serial() uint64 {
	if b.crowd == nil {
		return b.one.filing.serial
	}
	return b.crowd.serial
}

// collect appends the handles to dst. When apart is set, filings that another
// bucket of the same lookup may hold too go to shared instead.
func (b bucket) collect(dst []*lifecycle.Handle, shared []*filing, apart bool) ([]*lifecycle.Handle, []*filing) {
	if b.crowd == nil {
		return b.one.collect(dst, shared, apart)
	}
	b.crowd.mu.RLock()
	defer b.crowd.mu.RUnlock()
	for _, s := range b.crowd.slots {
		dst, shared = s.collect(dst, shared, apart)
	}
	return dst, shared
}

func (s slot) collect(dst []*lifecycle.Handle, shared []*filing, apart bool) ([]*lifecycle.Handle, []*filing) {
	if apart && s.filing.several {
		return dst, append(shared, s.filing)
	}
	return append(dst, s.filing.handle), shared
}

// crowd holds the entries of one key, in no order.
type crowd struct {
	serial uint64 // set at construction; unique in the index

	mu sync.RWMutex // guards slots for lookups; nothing else is locked inside it
	// +checklocks:mu
	slots []slot
}

func (c *crowd) add(s slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.entry.filed, s.entry.at = true, int32(len(c.slots))
	c.slots = append(c.slots, s)
}

// remove puts the last slot in the place of e's and returns how many are left.
func (c *crowd) remove(e *entry) (left int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.slots) - 1
	moved := c.slots[last]
	c.slots[e.at], moved.entry.at = moved, e.at
	c.slots[last] = slot{}
	c.slots = c.slots[:last]
	c.shrinkLocked()
	return last
}

// shrinkLocked gives memory back after most have left.
func (c *crowd) shrinkLocked() {
	const keep = 64
	if n := len(c.slots); cap(c.slots) > keep && n < cap(c.slots)/4 {
		c.slots = append(make([]slot, 0, 2*n), c.slots...)
	}
}
