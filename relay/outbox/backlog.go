package outbox

import (
	"cmp"
	"slices"
	"time"

	"fencepost/relay/store"
)

// waiting is a row that is deferred. Of the row itself only the position is kept: it
// is read again, as it may have been emptied meanwhile.
type waiting struct {
	at        store.Position
	aggregate string
	first     bool      // of its aggregate: it is tried when it is due
	due       time.Time // zero: at once
	attempts  int       // that failed
	class     string    // of the last error
}

// backlog holds the deferred rows by position.
type backlog struct {
	rows    []*waiting
	blocked map[string]int // aggregate -> rows of it; not the empty one
}

func newBacklog() backlog { return backlog{blocked: make(map[string]int)} }

// blocks reports whether a row of the aggregate of e is deferred.
func (b *backlog) blocks(e *store.Entry) bool {
	return len(b.blocked) > 0 && b.blocked[e.Aggregate()] > 0
}

func (b *backlog) add(w *waiting) {
	i, _ := b.find(w.at)
	b.rows = slices.Insert(b.rows, i, w)
	if w.aggregate != "" {
		b.blocked[w.aggregate]++
	}
}

func (b *backlog) remove(w *waiting) {
	i, there := b.find(w.at)
	if !there {
		return
	}
	b.rows = slices.Delete(b.rows, i, i+1)
	if w.aggregate == "" {
		return
	}
	if b.blocked[w.aggregate]--; b.blocked[w.aggregate] == 0 {
		delete(b.blocked, w.aggregate)
	}
}

func (b *backlog) find(at store.Position) (i int, there bool) {
	return slices.BinarySearchFunc(b.rows, at, func(w *waiting, at store.Position) int { return cmp.Compare(w.at, at) })
}

// due returns the first row that is to be tried at now, or nil.
func (b *backlog) due(now time.Time) *waiting {
	for _, w := range b.rows {
		if w.first && !w.due.After(now) {
			return w
		}
	}
	return nil
}

// nextDue returns when a row is to be tried; not ok when there is none.
func (b *backlog) nextDue() (at time.Time, ok bool) {
	for _, w := range b.rows {
		if w.first && (!ok || w.due.Before(at)) {
			at, ok = w.due, true
		}
	}
	return at, ok
}

// head returns the first row of an aggregate, or nil.
func (b *backlog) head(aggregate string) *waiting {
	if aggregate == "" {
		return nil
	}
	for _, w := range b.rows {
		if w.aggregate == aggregate {
			return w
		}
	}
	return nil
}

// positions returns those of all rows.
func (b *backlog) positions() []store.Position {
	out := make([]store.Position, len(b.rows))
	for i, w := range b.rows {
		out[i] = w.at
	}
	return out
}
