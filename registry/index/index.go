package index

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v3"

	"fencepost/lifecycle"
)

// Index finds handles by event. See the package comment.
type Index struct {
	// Set at construction, never changed.
	filings *xsync.MapOf[*lifecycle.Handle, *filing]
	buckets *xsync.MapOf[key, bucket]
	scratch sync.Pool // of *scratch

	serial atomic.Uint64 // last one given to a filing or crowd
}

// New returns an empty index.
func New() *Index {
	seed := maphash.MakeSeed()
	return &Index{
		filings: xsync.NewMapOfWithHasher[*lifecycle.Handle, *filing](
			func(h *lifecycle.Handle, s uint64) uint64 { return maphash.Comparable(seed, h) ^ s }),
		buckets: xsync.NewMapOfWithHasher[key, bucket](
			func(k key, s uint64) uint64 { return maphash.Comparable(seed, k) ^ s }),
		scratch: sync.Pool{New: func() any { return new(scratch) }},
	}
}

// Len returns how many handles are in the index, those included whose filters
// match nothing.
func (x *Index) Len() int { return x.filings.Size() }

// All appends every handle to dst, in no order. One that is added or removed meanwhile
// may be missed.
func (x *Index) All(dst []*lifecycle.Handle) []*lifecycle.Handle {
	x.filings.Range(func(h *lifecycle.Handle, _ *filing) bool {
		dst = append(dst, h)
		return true
	})
	return dst
}

// Add files h under the keys of its filters. Adding what is there does nothing.
// Its cost is in proportion to the values in the chosen lists.
func (x *Index) Add(h *lifecycle.Handle) {
	f := x.newFiling(h)
	if _, there := x.filings.LoadOrStore(h, f); there {
		return
	}
	for i := range f.entries {
		x.file(f, &f.entries[i])
	}
}

func (x *Index) newFiling(h *lifecycle.Handle) *filing {
	keys, several := keysOf(h)
	f := &filing{handle: h, serial: x.nextSerial(), several: several, entries: make([]entry, len(keys))}
	for i, k := range keys {
		f.entries[i].key = k
	}
	return f
}

// file goes through Compute, as removal does, so that nobody adds to a bucket
// that has just been deleted.
func (x *Index) file(f *filing, e *entry) {
	x.buckets.Compute(e.key, func(b bucket, there bool) (bucket, bool) {
		if e.gone { // Remove overtook Add; see TestRemoveDuringAddLeavesNothing
			return b, !there
		}
		return b.add(slot{filing: f, entry: e}, there, x.nextSerial), false
	})
}

func (x *Index) nextSerial() uint64 { return x.serial.Add(1) }

// Remove takes h out and reports whether this call found it. It may be called
// again, and while Add or another Remove of h runs. A nil h is never there.
func (x *Index) Remove(h *lifecycle.Handle) bool {
	f, there := x.filings.LoadAndDelete(h)
	if !there {
		return false
	}
	for i := range f.entries {
		x.unfile(&f.entries[i])
	}
	return true
}

func (x *Index) unfile(e *entry) {
	x.buckets.Compute(e.key, func(b bucket, there bool) (bucket, bool) {
		e.gone = true
		if !e.filed {
			return b, !there
		}
		return b, b.remove(e) == 0
	})
}
