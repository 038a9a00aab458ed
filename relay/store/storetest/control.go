package storetest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// ReadControl implements store.Store.
func (f *Fake) ReadControl(ctx context.Context, after store.Position, limit int) ([]store.Entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.readyLocked(ctx); err != nil {
		return nil, err
	}
	var out []store.Entry
	for _, r := range f.rows {
		if r.Type == store.EntryControl && r.Position > after && len(out) < limit {
			out = append(out, r.Entry)
		}
	}
	return out, nil
}

// Erase implements store.Store.
func (f *Fake) Erase(ctx context.Context, x store.Erasure, limit int) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.readyLocked(ctx); err != nil {
		return 0, err
	}
	if err := x.Validate(); err != nil {
		return 0, err
	}
	found := records(f.rows, x.Selects)
	found = found[:min(max(limit, 0), len(found))]
	for _, r := range found {
		f.removeLocked(f.rows[r.Position-1].Entry, x.Cause)
	}
	if len(found) > 0 {
		f.wake()
	}
	return len(found), nil
}

// writeLocked decides about w and, when it is to be written, carries it out.
func (f *Fake) writeLocked(w *store.Write, now time.Time) (out store.Outcome) {
	if err := w.Validate(); err != nil {
		return store.Outcome{Err: err}
	}
	if w.Copied != nil {
		return f.copiedLocked(w.Copied)
	}
	if w.Event != nil {
		if first, ok := f.storedLocked(w.Event); ok {
			return store.Outcome{Position: first, Err: store.ErrDuplicate}
		}
	}
	fenced, frame, err := f.fencedLocked(w, now)
	if err != nil {
		return store.Outcome{Err: err}
	}
	if epoch, ok := f.movedLocked(w.Terms); ok {
		return store.Outcome{Position: epoch, Err: store.ErrMoved}
	}
	before := len(f.rows)
	if w.Event != nil {
		if out = f.appendLocked(w.Event, now); out.Err != nil {
			return out
		}
	}
	if out.Frame = frame; w.Fence != nil {
		f.fences[w.Fence.Stream] = fenced
	}
	for _, c := range w.Controls {
		position := f.addControlLocked(c)
		if out.Position == 0 {
			out.Position = position
		}
	}
	for _, e := range w.Also {
		_ = f.appendLocked(e, now) // what is refused is left out
	}
	f.banLocked(w.Ban, w.Unban)
	if w.Erase != nil {
		f.erased = append(f.erased, *w.Erase)
	}
	if len(f.rows) > before {
		out.Last = store.Position(len(f.rows))
	}
	return out
}

// movedLocked returns the latest epoch of a scope that is not what a term says.
func (f *Fake) movedLocked(terms []store.Term) (latest store.Position, moved bool) {
	for _, t := range terms {
		if epoch := f.epochLocked(t.Scope); epoch != t.Epoch {
			latest, moved = max(latest, epoch), true
		}
	}
	return latest, moved
}

func (f *Fake) epoch(scope string) store.Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.epochLocked(scope)
}

// epochLocked returns the position of the last control row that names scope.
func (f *Fake) epochLocked(scope string) (epoch store.Position) {
	for _, r := range f.rows {
		if r.Type == store.EntryControl && slices.Contains(r.Control.Scopes, scope) {
			epoch = r.Position
		}
	}
	return epoch
}

func (f *Fake) addControlLocked(c store.Control) store.Position {
	position := store.Position(len(f.rows)) + 1
	f.rows = append(f.rows, row{Entry: store.Entry{Position: position, Type: store.EntryControl, Control: &c}})
	return position
}

func (f *Fake) banLocked(ban, unban []string) {
	for _, id := range ban {
		f.banned[id] = struct{}{}
		if stored, ok := find(f.rows, func(o *wire.Event) bool { return o.ID == id }); ok {
			f.removeLocked(stored, store.CauseOperator)
		}
	}
	for _, id := range unban {
		delete(f.banned, id)
	}
}

func (f *Fake) bannedLocked(e *wire.Event) bool {
	_, ok := f.banned[e.ID]
	return ok
}

func (f *Fake) vanishedLocked(e *wire.Event) bool {
	return f.marked.vanished(e) || slices.ContainsFunc(f.erased, func(x store.Erasure) bool { return x.Selects(e) })
}

// Prefixed implements store.Snapshot.
func (s *snapshot) Prefixed(ctx context.Context, prefix string, limit int) ([]store.Record, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if len(prefix) < 8 || len(prefix) > 64 || len(prefix)%2 != 0 || !nostr.IsValid32ByteHex((prefix + strings.Repeat("0", 64))[:64]) {
		return nil, nil
	}
	found := records(s.rows, func(e *wire.Event) bool { return strings.HasPrefix(e.ID, prefix) })
	slices.SortFunc(found, func(a, b store.Record) int { return strings.Compare(a.Event.ID, b.Event.ID) })
	return found[:min(max(limit, 0), len(found))], nil
}
