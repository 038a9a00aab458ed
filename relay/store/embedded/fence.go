package embedded

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"fencepost/lifecycle/fence"
	"fencepost/relay/store"
)

// fenceKey is the key of a stream that is valid.
func fenceKey(s fence.Stream) []byte {
	owner, _ := decode32(s.Owner)
	return append(append([]byte{spaceFence}, owner[:]...), s.Name...)
}

// fenced is a fence as a transaction has it.
type fenced struct {
	key    []byte
	state  fence.State
	stored bool // it is in the database
	dirty  bool // finish writes it
}

// change carries out a write that changes a fence.
func (t *txn) change(f *store.Fence) (out store.Outcome, err error) {
	out.Frame, out.Err, err = t.fence(f, false, true)
	return out, err
}

// barred returns why f does not let an event in, or nil. A nil f lets everything in.
func (t *txn) barred(f *store.Fence) (refused, err error) {
	if f == nil {
		return nil, nil
	}
	_, refused, err = t.fence(f, true, false)
	return refused, err
}

// admit renews the lease of f, which did not bar the write, and gives its event a number.
func (t *txn) admit(f *store.Fence, event bool) (store.Frame, error) {
	if f == nil {
		return store.Frame{}, nil
	}
	frame, refused, err := t.fence(f, event, true)
	return frame, errors.Join(refused, err)
}

// fence applies f, and with keep takes the new state over.
func (t *txn) fence(f *store.Fence, event, keep bool) (frame store.Frame, refused, err error) {
	e, err := t.fenced(f.Stream)
	if err != nil {
		return frame, nil, err
	}
	next, frame, err := f.Apply(e.state, event, t.now, func() (int, error) { return t.streams(e.key[:1+32]) })
	switch {
	case store.Refused(err):
		return store.Frame{}, err, nil
	case err == nil && keep:
		e.state, e.dirty = next, true
	}
	return frame, nil, err
}

// fenced returns the fence of a stream, which is read once a transaction.
func (t *txn) fenced(s fence.Stream) (*fenced, error) {
	if e := t.fences[s]; e != nil {
		return e, nil
	}
	e := &fenced{key: fenceKey(s)}
	var err error
	if e.state, err = loadFence(t.db, e.key); err != nil {
		return nil, err
	}
	if e.stored = e.state.Exists(); t.fences == nil {
		t.fences = make(map[fence.Stream]*fenced)
	}
	t.fences[s] = e
	return e, nil
}

// writeFences writes what became of the fences, each once a commit.
func (t *txn) writeFences() {
	for _, e := range t.fences {
		if e.dirty {
			t.set(e.key, e.state.Append(nil))
		}
	}
}

func loadFence(r pebble.Reader, key []byte) (state fence.State, err error) {
	value, ok, err := getValue(r, key)
	if err != nil || !ok {
		return state, err
	}
	return fence.Decode(value)
}

// streams counts the streams whose keys begin with prefix, new ones included.
func (t *txn) streams(prefix []byte) (n int, err error) {
	upTo := append([]byte{}, prefix...)
	for i := len(upTo) - 1; ; i-- { // the first byte is never ff
		if upTo[i]++; upTo[i] != 0 {
			break
		}
	}
	it, err := t.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: upTo})
	if err != nil {
		return 0, err
	}
	for it.First(); it.Valid() && n < store.MaxStreams; it.Next() {
		n++
	}
	for _, e := range t.fences {
		if e.dirty && !e.stored && bytes.HasPrefix(e.key, prefix) {
			n++
		}
	}
	return n, errors.Join(it.Error(), it.Close())
}

// Fence implements store.Store.
func (s *Store) Fence(ctx context.Context, stream fence.Stream) (state fence.State, now time.Time, err error) {
	if err := stream.Validate(); err != nil {
		return state, now, err
	}
	snap, err := s.snapshot(ctx)
	if err != nil {
		return state, now, err
	}
	state, err = snap.fence(ctx, fenceKey(stream))
	return state, s.opt.Now(), errors.Join(err, snap.Close())
}

func (s *snapshot) fence(ctx context.Context, key []byte) (fence.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readyLocked(ctx); err != nil {
		return fence.State{}, err
	}
	return loadFence(s.view.snap, key)
}
