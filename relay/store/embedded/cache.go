package embedded

import (
	"sync"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

const cacheShards = 16

// cache keeps decoded events by position. Only committed events of a position
// are put, and a position never gets another event; see doc.go.
type cache struct {
	shards [cacheShards]shard
}

// shard approximates least recently used with two generations: what is used
// moves to the young one, and when that is full it becomes the old one.
type shard struct {
	// Set at construction, never changed.
	maxBytes int // of one generation

	mu sync.Mutex // guards the fields below
	// +checklocks:mu
	young, old map[uint64]*wire.Event // position -> event
	// +checklocks:mu
	bytes int // of the young generation
}

func newCache(maxBytes int64) *cache {
	c := &cache{}
	for i := range c.shards {
		c.shards[i].maxBytes = int(maxBytes / 2 / cacheShards)
	}
	return c
}

// get returns the event at position, or nil.
func (c *cache) get(position uint64) *wire.Event {
	s := &c.shards[position%cacheShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.young[position]; e != nil {
		return e
	}
	e := s.old[position]
	if e != nil {
		s.putLocked(position, e)
	}
	return e
}

func (c *cache) put(position uint64, e *wire.Event) {
	s := &c.shards[position%cacheShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putLocked(position, e)
}

func (s *shard) putLocked(position uint64, e *wire.Event) {
	size := weight(e)
	if s.young[position] != nil || size > s.maxBytes {
		return
	}
	if s.young == nil || s.bytes > s.maxBytes {
		s.old, s.young, s.bytes = s.young, make(map[uint64]*wire.Event), 0
	}
	s.young[position] = e
	s.bytes += size
}

// What a tag takes beside its strings: the header of its list, and when tags are many
// a place in the sets that filters ask.
const (
	perTag   = 24
	inSet    = 64
	manyTags = 16
)

// ownSize is what an event takes itself, its place in the cache included.
const ownSize = 256

// weight estimates the memory of a decoded event in bytes: itself and its place in the
// cache; its wire form and texts; the headers of its lists and strings.
func weight(e *wire.Event) int {
	n := ownSize + e.Size() + perTag*len(e.Tags)
	if len(e.Tags) > manyTags {
		n += inSet * len(e.Tags)
	}
	for _, tag := range e.Tags {
		n += 16 * len(tag)
	}
	return n
}

// writeWeight estimates the memory of everything in w in bytes.
func writeWeight(w *store.Write) int {
	n := 100 * (len(w.Ban) + len(w.Unban))
	if w.Event != nil {
		n += weight(w.Event)
	}
	for _, e := range w.Also {
		n += weight(e)
	}
	for i := range w.Controls {
		n += controlWeight(&w.Controls[i])
	}
	return n
}

func controlWeight(c *store.Control) int {
	n := 64 + len(c.Data)
	for _, scope := range c.Scopes {
		n += 16 + len(scope)
	}
	return n
}
