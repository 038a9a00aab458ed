package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"fencepost/relay/wire"
)

// checkEvery is how many pieces of work are done between two looks at the
// context.
const checkEvery = 64

// firstRoom is for how many entries a stream makes room when it has its first.
const firstRoom = 16

// reader reads ids, indexes and events of one snapshot through one iterator, which
// its streams share. An iterator keeps memtables in memory that were written out
// since, as a snapshot does not; so it must be released before a caller is waited
// for. Not safe for concurrent use.
type reader struct {
	// Set at construction, never changed.
	store *Store
	snap  *pebble.Snapshot
	cache *cache
	now   int64 // Unix seconds that decide expiry
	words bool  // there is an index of words

	it      *pebble.Iterator // nil until it is needed
	owner   *stream          // whose next entry the iterator stands at
	work    int              // seeks, entries read and entries looked at so far
	streams int              // made for this query so far
}

// stream is one run of index keys with a common prefix, newest first, read in
// chunks that grow while it is used.
type stream struct {
	prefix []byte
	from   []byte // where the next chunk begins
	since  uint64 // created_at of the oldest entry wanted

	buf   []entry
	next  int  // index into buf
	chunk int  // entries of the next fill
	ended bool // nothing follows buf
}

// window is the inclusive range of created_at that a filter asks for.
type window struct{ since, until uint64 }

func newStream(prefix []byte, w window, chunk int) *stream {
	from := binary.BigEndian.AppendUint64(append(make([]byte, 0, len(prefix)+suffixLen+1), prefix...), ^w.until)
	return &stream{prefix: prefix, from: from, since: w.since, chunk: chunk}
}

// head returns the next entry, filling the buffer when it is used up; nil at
// the end.
func (s *stream) head(ctx context.Context, r *reader) (*entry, error) {
	if s.next == len(s.buf) {
		if s.ended {
			return nil, nil
		}
		if err := r.fill(ctx, s); err != nil {
			return nil, err
		}
		if len(s.buf) == 0 {
			return nil, nil
		}
	}
	return &s.buf[s.next], nil
}

// fill reads the next chunk of s.
func (r *reader) fill(ctx context.Context, s *stream) error {
	if err := r.position(ctx, s); err != nil {
		return err
	}
	s.buf, s.next = s.buf[:0], 0
	s.chunk = min(s.chunk, r.mostBuffered())
	for len(s.buf) < s.chunk {
		if !r.it.Valid() || !bytes.HasPrefix(r.it.Key(), s.prefix) {
			s.ended = true
			break
		}
		value, err := r.it.ValueAndErr()
		if err != nil {
			return err
		}
		e, err := parseEntry(r.it.Key()[len(s.prefix):], value)
		if err != nil {
			return err
		}
		if e.at < s.since {
			s.ended = true
			break
		}
		s.room()
		s.buf = append(s.buf, e)
		if err := r.worked(ctx); err != nil {
			return err
		}
		r.it.Next()
	}
	s.chunk = min(2*s.chunk, maxChunk)
	if !s.ended {
		last := &s.buf[len(s.buf)-1]
		s.from = append(appendSuffix(s.from[:len(s.prefix)], last.at, last.id), 0)
	}
	return r.it.Error()
}

// room makes room for another entry: little at first, as many streams have few,
// then for the chunk at once.
func (s *stream) room() {
	if n := len(s.buf); n == cap(s.buf) {
		most := s.chunk
		if n == 0 {
			most = min(most, firstRoom)
		}
		s.buf = slices.Grow(s.buf, most-n)
	}
}

// mostBuffered returns how many entries each stream of the query may buffer. A
// stranger's filters make thousands of streams.
func (r *reader) mostBuffered() int {
	return max(maxBuffered/max(r.streams, 1), minChunk)
}

// position brings the iterator to where s goes on. It stands there already when
// s was the last to use it.
func (r *reader) position(ctx context.Context, s *stream) error {
	if err := r.open(); err != nil {
		return err
	}
	if r.owner != s {
		r.owner = s
		r.it.SeekGE(s.from)
		if err := r.worked(ctx); err != nil {
			return err
		}
	}
	return r.it.Error()
}

// stored returns the position of the event with this id, 0 when none is stored.
func (r *reader) stored(ctx context.Context, id [32]byte) (uint64, error) {
	if err := r.open(); err != nil {
		return 0, err
	}
	r.owner = nil
	found := r.it.SeekPrefixGE(idKey(id))
	if err := r.worked(ctx); err != nil {
		return 0, err
	}
	if !found {
		return 0, r.it.Error()
	}
	value, err := r.it.ValueAndErr()
	return beUint64(value), err // empty: deleted or banned, and not stored
}

// open opens the iterator, unless it is open.
func (r *reader) open() (err error) {
	if r.it == nil {
		r.it, err = r.snap.NewIter(&pebble.IterOptions{LowerBound: []byte{spaceID}, UpperBound: []byte{spaceIndexEnd}})
	}
	return err
}

// worked counts a piece of work; an error when the context has ended.
func (r *reader) worked(ctx context.Context) error {
	if r.work++; r.work%checkEvery == 0 {
		return ctx.Err()
	}
	return nil
}

// event returns the event of an entry, from the cache or from disk; nil for a damaged
// one, which is to be left out.
func (r *reader) event(e *entry) (*wire.Event, error) {
	found, err := loadEvent(r.snap, r.cache, e.position)
	if r.store.leaveOut(err) {
		return nil, nil
	}
	return found, err
}

// load reads the event of found, unless that was done already. A damaged one stays nil.
func (r *reader) load(found *item) (err error) {
	if found.event == nil {
		found.event, err = r.event(&found.entry)
	}
	return err
}

// release closes the iterator. The next stream that reads on makes another.
func (r *reader) release() error {
	if r.it == nil {
		return nil
	}
	it := r.it
	r.it, r.owner = nil, nil
	return it.Close()
}
