package embedded

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"fencepost/relay/store"
	"fencepost/relay/store/commit"
)

// Store is a store.Store in one folder. Its methods may be called from any
// goroutine.
type Store struct {
	// Set at construction, never changed.
	fs      vfs.FS
	dir     string
	lock    *pebble.Lock
	opt     Options
	epoch   store.Epoch
	cache   *cache
	queue   *commit.Queue[entry]
	changed chan struct{} // one waiting wake-up at most; never closed
	writer  sync.WaitGroup
	close   func() error // runs shutdown once

	damaged  atomic.Uint64 // see Damaged
	refusing atomic.Bool   // see Refusing

	// Owned by the writer goroutine, then by shutdown.
	engine   *engine   // nil while it cannot be opened
	marks    *marks    // of engine
	failedAt time.Time // when the database could last not be opened anew

	mu sync.Mutex // guards the fields below; held for memory only
	// +checklocks:mu
	current *view // what readers get; nil while there is nothing to read
	// +checklocks:mu
	tail tail
	// +checklocks:mu
	open map[*snapshot]struct{} // snapshots that hold a view
	// +checklocks:mu
	unreadable error // why current is nil
}

// view is a durable state of the database, shared by the snapshots of that
// moment. Store.mu guards refs.
type view struct {
	snap    *pebble.Snapshot
	head    store.Position
	control store.Position // the newest control row, 0 for none
	floor   store.Position // the first row of the log
	refs    int            // snapshots that hold it, and one while it is current
}

func newStore(fs vfs.FS, dir string, lock *pebble.Lock, e *engine, epoch store.Epoch, opt Options) *Store {
	s := &Store{
		fs:      fs,
		dir:     dir,
		lock:    lock,
		opt:     opt,
		epoch:   epoch,
		cache:   newCache(opt.eventCacheBytes()),
		queue:   commit.NewQueue[entry](),
		changed: make(chan struct{}, 1),
		engine:  e,
		open:    make(map[*snapshot]struct{}),
	}
	s.close = sync.OnceValue(s.shutdown)
	return s
}

// Append implements store.Store. It blocks while the queue is full and until
// the events are durable; an ended ctx withdraws what the writer has not taken.
func (s *Store) Append(ctx context.Context, writes []store.Write) []store.Outcome {
	if len(writes) == 0 {
		return nil
	}
	bytes := 0
	for i := range writes {
		bytes += writeWeight(&writes[i])
	}
	r := commit.Append[entry](writes, bytes)
	s.queue.Do(ctx, r)
	return r.Outcomes
}

// Sweep implements store.Store. Each commit takes sweepRows, so that appends
// come in between.
func (s *Store) Sweep(ctx context.Context, now time.Time) (int, error) {
	total := 0
	for {
		r := &request{Until: now}
		s.queue.Do(ctx, r)
		total += r.Removed
		if r.Err != nil || r.Removed < sweepRows {
			return total, r.Err
		}
	}
}

// Changed implements store.Store.
func (s *Store) Changed() <-chan struct{} { return s.changed }

// Log implements store.Store. It does no I/O.
func (s *Store) Log(ctx context.Context) (store.LogInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return store.LogInfo{}, err
	}
	return store.LogInfo{Epoch: s.epoch, Floor: s.current.floor, Head: s.current.head, Control: s.current.control}, nil
}

// Snapshot implements store.Store. It does no I/O.
func (s *Store) Snapshot(ctx context.Context) (store.Snapshot, error) {
	snap, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return snap, nil
}

func (s *Store) snapshot(ctx context.Context) (*snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return nil, err
	}
	s.current.refs++
	snap := &snapshot{store: s, view: s.current}
	s.open[snap] = struct{}{}
	return snap, nil
}

// ReadLog implements store.Store. The last few thousand rows come from memory,
// older ones from disk.
func (s *Store) ReadLog(ctx context.Context, after store.Position, limit int) ([]store.Entry, error) {
	rows, done, err := s.readTail(ctx, after, limit)
	if done || err != nil {
		return rows, err
	}
	snap, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	rows, err = snap.readLog(ctx, after, limit)
	return rows, errors.Join(err, snap.Close())
}

func (s *Store) readTail(ctx context.Context, after store.Position, limit int) (rows []store.Entry, done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return nil, false, err
	}
	if after < s.current.floor-1 {
		return nil, false, store.ErrFloor
	}
	if after >= s.current.head || limit <= 0 {
		return nil, true, nil
	}
	rows, done = s.tail.after(after, limit)
	return rows, done, nil
}

// Close implements store.Store. It must not be called by the writer.
func (s *Store) Close() error { return s.close() }

func (s *Store) shutdown() error {
	s.queue.Close()
	s.writer.Wait()
	err := s.retire(store.ErrClosed)
	if s.engine != nil {
		err = errors.Join(err, s.engine.close())
	}
	return errors.Join(err, s.lock.Close())
}

func (s *Store) readableLocked(ctx context.Context) error {
	if s.current == nil {
		return s.unreadable
	}
	return ctx.Err()
}

// adopt makes the durable state of a freshly opened database what readers see.
func (s *Store) adopt(e *engine) error {
	value, ok, err := getValue(e.db, keyHead)
	if err == nil && (!ok || len(value) != 8) {
		err = errCorrupt
	}
	if err != nil {
		return fmt.Errorf("head of the log: %w", err)
	}
	m, err := loadMarks(e.db)
	if err != nil {
		return fmt.Errorf("read permissions: %w", err)
	}
	s.engine, s.marks = e, m
	return s.publish(s.newView(store.Position(beUint64(value))), nil, nil)
}

// newView returns a view of what the engine holds, for the writer.
func (s *Store) newView(head store.Position) *view {
	return &view{snap: s.engine.db.NewSnapshot(), head: head, control: s.marks.control, floor: s.marks.floor, refs: 1}
}

// publish makes v current, with the rows that its commit added and emptied.
func (s *Store) publish(v *view, rows, voids []store.Entry) error {
	return s.release(s.swap(v, rows, voids))
}

// wake leaves a wake-up unless one is waiting already.
func (s *Store) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *Store) swap(v *view, rows, voids []store.Entry) (old *view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, s.current, s.unreadable = s.current, v, nil
	s.tail.add(rows, voids)
	return old
}

// retire takes everything from the readers: calls fail with why from now on,
// and so do the open snapshots. It waits for reads that are running.
func (s *Store) retire(why error) error {
	old, open := s.withdraw(why)
	err := s.release(old)
	for _, snap := range open {
		err = errors.Join(err, snap.end(why))
	}
	return err
}

func (s *Store) withdraw(why error) (old *view, open []*snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, s.current, s.unreadable, s.tail = s.current, nil, why, tail{}
	for snap := range s.open {
		open = append(open, snap)
	}
	return old, open
}

// release gives up one reference to v, which may be nil.
func (s *Store) release(v *view) error {
	if v == nil || !s.unref(v) {
		return nil
	}
	return v.snap.Close()
}

func (s *Store) unref(v *view) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v.refs--
	return v.refs == 0
}

// forget takes a snapshot that ended off the list.
func (s *Store) forget(snap *snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, snap)
}
