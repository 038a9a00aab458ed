package storetest

import (
	"context"
	"slices"
	"sync"
	"time"

	"fencepost/lifecycle/fence"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Fake is a store.Store in memory: slow, obvious, without goroutines or timers.
type Fake struct {
	// Set at construction, never changed.
	now     func() time.Time
	changed chan struct{} // one waiting wake-up at most; never closed

	mu sync.Mutex // guards the fields below; held for computing only
	// +checklocks:mu
	rows []row // rows[i] has position i+1; replaced as a whole when a row changes
	// +checklocks:mu
	tombs map[string]struct{} // id and deleter, of ids that may not be stored
	// +checklocks:mu
	buried map[string]int64 // address -> versions up to this created_at may not be stored
	// +checklocks:mu
	banned map[string]struct{} // ids that may not be stored
	// +checklocks:mu
	erased []store.Erasure // what may not be stored because of a Write's Erase
	// +checklocks:mu
	fences map[fence.Stream]fence.State
	// +checklocks:mu
	marked marks // what a copy brought that has no other place here
	// +checklocks:mu
	copying store.Copying
	// +checklocks:mu
	floor store.Position // the first row that ReadLog returns
	// +checklocks:mu
	moments []store.Moment // for retention by age
	// +checklocks:mu
	letters []store.DeadLetter // by replica and position
	// +checklocks:mu
	closed bool
}

// row is a log row with the time at which the sweep has work with it.
type row struct {
	store.Entry
	due time.Time // never when zero
}

var _ store.Store = (*Fake)(nil)

// NewFake returns an empty store that reads the time from now.
func NewFake(now func() time.Time) *Fake {
	return &Fake{
		now:     now,
		floor:   1,
		changed: make(chan struct{}, 1),
		tombs:   make(map[string]struct{}),
		buried:  make(map[string]int64),
		banned:  make(map[string]struct{}),
		fences:  make(map[fence.Stream]fence.State),
		marked:  marks{addresses: make(map[string]int64), groups: make(map[string]struct{})},
	}
}

// Append implements store.Store. It never blocks.
func (f *Fake) Append(ctx context.Context, writes []store.Write) []store.Outcome {
	f.mu.Lock()
	defer f.mu.Unlock()
	outcomes := make([]store.Outcome, len(writes))
	if err := f.readyLocked(ctx); err != nil {
		for i := range outcomes {
			outcomes[i].Err = err
		}
		return outcomes
	}
	now, before := f.now(), len(f.rows)
	for i := range writes {
		outcomes[i] = f.writeLocked(&writes[i], now)
	}
	if len(f.rows) > before {
		f.wake()
	}
	return outcomes
}

// Snapshot implements store.Store.
func (f *Fake) Snapshot(ctx context.Context) (store.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.readyLocked(ctx); err != nil {
		return nil, err
	}
	return &snapshot{fake: f, rows: f.rows}, nil
}

// ReadLog implements store.Store.
func (f *Fake) ReadLog(ctx context.Context, after store.Position, limit int) ([]store.Entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.readyLocked(ctx); err != nil {
		return nil, err
	}
	if after < f.floor-1 {
		return nil, store.ErrFloor
	}
	if after >= store.Position(len(f.rows)) {
		return nil, nil
	}
	var out []store.Entry
	for _, r := range f.rows[after:] {
		if len(out) >= limit {
			break
		}
		out = append(out, r.Entry)
	}
	return out, nil
}

// Changed implements store.Store.
func (f *Fake) Changed() <-chan struct{} { return f.changed }

// Log implements store.Store.
func (f *Fake) Log(ctx context.Context) (store.LogInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.readyLocked(ctx); err != nil {
		return store.LogInfo{}, err
	}
	info := store.LogInfo{Epoch: "fake", Floor: f.floor, Head: store.Position(len(f.rows))}
	for _, r := range f.rows {
		if r.Type == store.EntryControl {
			info.Control = r.Position
		}
	}
	return info, nil
}

// Sweep implements store.Store.
func (f *Fake) Sweep(ctx context.Context, now time.Time) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.readyLocked(ctx); err != nil {
		return 0, err
	}
	due := slices.DeleteFunc(slices.Clone(f.rows), func(r row) bool {
		return r.due.IsZero() || r.due.After(now)
	})
	slices.SortStableFunc(due, func(a, b row) int { return a.due.Compare(b.due) })
	for _, r := range due {
		if r.Type == store.EntryEphemeral {
			f.voidLocked(r.Position, store.VoidEphemeral)
		} else {
			f.removeLocked(r.Entry, store.CauseExpired)
		}
	}
	if len(due) > 0 {
		f.wake()
	}
	return len(due), nil
}

// Close implements store.Store.
func (f *Fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
}

func (f *Fake) readyLocked(ctx context.Context) error {
	if f.closed {
		return store.ErrClosed
	}
	return ctx.Err()
}

// wake leaves a wake-up unless one is waiting already.
func (f *Fake) wake() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// live reports whether r is a stored event.
func (r row) live() bool { return r.Type == store.EntryEvent }

// find returns the first stored event that ok accepts.
func find(rows []row, ok func(*wire.Event) bool) (store.Entry, bool) {
	for _, r := range rows {
		if r.live() && ok(r.Event) {
			return r.Entry, true
		}
	}
	return store.Entry{}, false
}
