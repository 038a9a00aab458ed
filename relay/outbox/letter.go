package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Letters keeps dead letters; see store.Letters for the promises.
type Letters interface {
	PutDeadLetter(ctx context.Context, l store.DeadLetter) error
	TakeDeadLetter(ctx context.Context, replica string, at store.Position) (bool, error)
	DeadLetters(ctx context.Context, max int) ([]store.DeadLetter, error)
}

// Classes of errors in dead letters and metrics.
const (
	classDamaged = "damaged" // the row cannot be read
	classNewer   = "newer"   // the row is of a newer version of the program
	classPanic   = "panic"   // the delivery breaks
	classCrowded = "crowded" // too many rows wait for it
	classOther   = "other"
)

func classOf(err error) string {
	var p *panicked
	switch {
	case errors.As(err, &p):
		return classPanic
	case errors.Is(err, store.ErrNewer):
		return classNewer
	case errors.Is(err, store.ErrDamaged):
		return classDamaged
	default:
		return classOther
	}
}

// bury makes a dead letter of w, and then tries what waits for it. After an error w
// is deferred as before.
func (f *Follower) bury(ctx context.Context, w *waiting) error {
	e, err := f.read(ctx, w.at)
	if err == nil {
		err = f.letter(ctx, w)
	}
	if err != nil {
		return err
	}
	f.drop(w, e)
	return f.drain(ctx, f.backlog.head(w.aggregate))
}

// letter keeps the dead letter of w. It comes first: what is not written down is not
// given up.
func (f *Follower) letter(ctx context.Context, w *waiting) error {
	if f.letters == nil {
		return nil
	}
	err := f.letters.PutDeadLetter(ctx, store.DeadLetter{
		Position: w.at, Replica: f.replica, Attempts: w.attempts, Class: w.class, At: f.now(),
	})
	if err != nil {
		return fmt.Errorf("keep dead letter %d: %w", w.at, err)
	}
	return nil
}

// drop gives w up, and ends the subscriptions that could miss it (O17). As with a
// delivery it is lifted first.
func (f *Follower) drop(w *waiting, e *store.Entry) {
	f.lift(w)
	f.pause.At(pause.DeferredLifted)
	f.logger.Error("event is a dead letter", "position", w.at, "attempts", w.attempts, "class", w.class)
	f.metrics.DeadLetter(w.class)
	f.endConcerned(e, reasonBroken, func(*lifecycle.Handle) bool { return true })
}

// endConcerned ends those of the chosen subscriptions that are owed the row.
func (f *Follower) endConcerned(e *store.Entry, r wire.Reason, chosen func(h *lifecycle.Handle) bool) {
	f.candidates = f.index.All(f.candidates[:0])
	for _, h := range f.candidates {
		if chosen(h) && f.concerns(e, h) {
			f.end(h, e.Position, r)
		}
	}
	clear(f.candidates)
}

// concerns reports whether h could be sent the row. If finding out breaks as well, it
// could.
func (f *Follower) concerns(e *store.Entry, h *lifecycle.Handle) (could bool) {
	defer func() {
		if recover() != nil {
			could = true
		}
	}()
	switch {
	case e.Type == store.EntryRemoval && !h.WantsRemoved():
		return false
	case e.Removal != nil:
		return wire.MatchesAny(h.Filters(), e.Removal.Event)
	default:
		return e.CouldMatch(h.Filters()) || e.Matches(h.Filters(), f.now().Unix())
	}
}

// requests are dead letters to be tried again, which the follower has not taken.
type requests struct {
	wake chan struct{} // one waiting wake-up at most; never closed

	mu sync.Mutex // guards the field below; nothing else happens under it
	// +checklocks:mu
	waiting []store.Position
}

// DeadLetters returns up to max dead letters, also those of other replicas that share
// the database.
func (f *Follower) DeadLetters(ctx context.Context, max int) ([]store.DeadLetter, error) {
	if f.letters == nil {
		return nil, nil
	}
	return f.letters.DeadLetters(ctx, max)
}

// Requeue forgets a dead letter of this replica and has its row tried again: it goes
// to those live subscriptions that are older than the row, in the order of its
// aggregate. A row that fails again becomes a dead letter again. It does not wait for
// that. store.ErrNoLetter when there is none.
func (f *Follower) Requeue(ctx context.Context, at store.Position) error {
	if f.letters == nil {
		return store.ErrNoLetter
	}
	found, err := f.letters.TakeDeadLetter(ctx, f.replica, at)
	if err != nil {
		return fmt.Errorf("take dead letter %d: %w", at, err)
	}
	if !found {
		return store.ErrNoLetter
	}
	f.requests.add(at)
	return nil
}

// takeRequests defers the rows of dead letters that are to be tried again.
func (f *Follower) takeRequests(ctx context.Context) error {
	all := f.requests.take()
	for i, at := range all {
		e, err := f.read(ctx, at)
		if err != nil {
			f.requests.add(all[i:]...) // their letters are taken already
			return err
		}
		w := &waiting{at: at, aggregate: e.Aggregate()}
		head := f.backlog.head(w.aggregate)
		w.first = head == nil || head.at > at
		f.put(w)
	}
	return nil
}

func (r *requests) add(at ...store.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, at...)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *requests) take() []store.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.waiting
	r.waiting = nil
	return out
}
