package index

import "fencepost/relay/wire"

// Buckets returns how many keys hold an entry.
func (x *Index) Buckets() int { return x.buckets.Size() }

// Entries returns how many entries all buckets hold.
func (x *Index) Entries() (n int) {
	x.buckets.Range(func(_ key, b bucket) bool {
		n += b.len()
		return true
	})
	return n
}

// Visited returns how many entries a lookup of ev looks at.
func (x *Index) Visited(ev *wire.Event) (n int) {
	for _, b := range x.hits(nil, ev) {
		n += b.len()
	}
	return n
}

func (b bucket) len() int {
	if b.crowd == nil {
		return 1
	}
	return len(b.crowd.slots)
}
