package embedded

import (
	"context"
	"errors"
	"log/slog"
	"math"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"fencepost/relay/store"
	"fencepost/relay/store/commit"
	"fencepost/relay/wire"
)

// OpenFS is Open on another file system.
var OpenFS = open

// Guarded is fs as a new engine sees it.
func Guarded(fs vfs.FS) vfs.FS {
	return guardFS{FS: fs, health: newHealth(slog.New(slog.DiscardHandler), nil)}
}

// AskEveryPlan answers a filter without ids by each plan that could be chosen,
// and returns the ids of each answer.
func AskEveryPlan(ctx context.Context, s *Store, f *wire.Filter, limit int) (answers [][]string, err error) {
	snap, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	r := snap.newReader()
	defer func() { err = errors.Join(err, r.release(), snap.Close()) }()
	q, ok := newQuery(f)
	if !ok {
		return nil, nil
	}
	for _, p := range q.candidates() {
		w := &walk{reader: r, filter: f, left: limit}
		w.follow(&q, p)
		var ids []string
		all := union{walks: []*walk{w}}
		for {
			found, s, err := all.step(ctx)
			if err != nil {
				return nil, err
			}
			if s == ended {
				break
			}
			if s == looked {
				continue
			}
			e, err := r.event(&found.entry)
			if err != nil {
				return nil, err
			}
			ids = append(ids, e.ID)
		}
		answers = append(answers, ids)
	}
	return answers, nil
}

// WorkFor answers a filter and returns how much work that took, samples included.
func WorkFor(ctx context.Context, s *Store, f *wire.Filter, limit int) (n int, err error) {
	snap, err := s.snapshot(ctx)
	if err != nil {
		return 0, err
	}
	r := snap.newReader()
	defer func() { err = errors.Join(err, r.release(), snap.Close()) }()
	walks, err := r.walks(ctx, []*wire.Filter{f}, func(*wire.Filter) int { return limit })
	if err != nil {
		return 0, err
	}
	all := union{walks: walks}
	for {
		if _, s, err := all.step(ctx); err != nil || s == ended {
			return r.work, err
		}
	}
}

// Work is how much work a query has done.
func Work(r store.Rows) int { return r.(*rows).reader.work }

// CheckEvery is how much work is done between two looks at the context.
const CheckEvery = checkEvery

// Cached reports whether the event at position has been read.
func Cached(s *Store, position store.Position) bool { return s.cache.get(uint64(position)) != nil }

// Weight is the memory that an event is taken to need, in bytes.
var Weight = weight

// RetryPause is what stands between two attempts to write tables.
const RetryPause = retryPause

// Waiting is how many calls wait for the writer.
func Waiting(s *Store) int { return s.queue.Waiting() }

// QueueBytes is where the queue is full.
const QueueBytes = commit.QueueBytes

// Decoders of what is on disk.
var (
	DecodeRow  = decodeRow
	ParseEntry = parseEntry
	TagPrefix  = tagPrefix

	ParseMoments  = parseMoments
	AppendMoments = appendMoments
)

// WordsAgain reads a value that says how far the index of words is, and writes it again.
func WordsAgain(value []byte) ([]byte, error) {
	w, err := parseWords(value)
	return w.value(), err
}

// EncodeRow encodes a log row as the transactions do.
func EncodeRow(e store.Entry) []byte {
	switch e.Type {
	case store.EntryRemoval:
		return removalRow(e.Removal)
	case store.EntryVoid:
		return voidRow(e.Void, e.Prefix)
	case store.EntryControl:
		return e.Control.AppendTo([]byte{byte(store.EntryControl)})
	default:
		return eventRow(e.Type, e.Event)
	}
}

// Flush writes what the memtable holds to a table and waits for it.
func Flush(s *Store) error { return s.engine.db.Flush() }

// OpenTables is how many tables iterators have open.
func OpenTables(s *Store) int64 { return s.engine.db.Metrics().TableIters }

// MaxBuffered is the bound of PeakBuffered, but for streams beyond a few thousand.
const MaxBuffered = maxBuffered

// PeakBuffered answers a filter by each plan that could be chosen and returns how
// many index entries the streams of one held at once at most.
func PeakBuffered(ctx context.Context, s *Store, f *wire.Filter) (peak int, err error) {
	q, _ := newQuery(f)
	for _, p := range q.candidates() {
		n, err := peakOf(ctx, s, f, &q, p)
		if err != nil {
			return 0, err
		}
		peak = max(peak, n)
	}
	return peak, nil
}

func peakOf(ctx context.Context, s *Store, f *wire.Filter, q *query, p plan) (peak int, err error) {
	snap, err := s.snapshot(ctx)
	if err != nil {
		return 0, err
	}
	r := snap.newReader()
	defer func() { err = errors.Join(err, r.release(), snap.Close()) }()
	w := &walk{reader: r, filter: f, left: math.MaxInt}
	w.follow(q, p)
	for {
		e, err := w.front(ctx)
		if e == nil || err != nil {
			return peak, err
		}
		if err := w.look(ctx); err != nil {
			return peak, err
		}
		w.has = false
		held := 0
		for _, s := range w.merge.heap {
			held += len(s.buf)
		}
		peak = max(peak, held)
	}
}

// LogRows is how many rows of the log are on disk, below the floor too.
func LogRows(s *Store) (n int, err error) {
	err = eachKey(s.engine.db, spaceLog, func(_, _ []byte) error { n++; return nil })
	return n, err
}

// OverwriteRows changes rows of the log of a store that is closed.
func OverwriteRows(fs vfs.FS, dir string, rows map[uint64][]byte) error {
	db, err := pebble.Open(dir, &pebble.Options{FS: fs})
	if err != nil {
		return err
	}
	for position, row := range rows {
		err = errors.Join(err, db.Set(logKey(position), row, pebble.Sync))
	}
	return errors.Join(err, db.Close())
}

// WordKeys is how many keys the index of words has.
func WordKeys(s *Store) (n int, err error) {
	err = eachKey(s.engine.db, spaceWord, func(_, _ []byte) error { n++; return nil })
	return n, err
}
