package outbox

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"fencepost/relay/store"
)

// line is how far something has got, and who waits for more.
type line struct {
	reached atomic.Uint64 // written under mu

	mu sync.Mutex // guards the field below; nothing else happens under it
	// +checklocks:mu
	gates []*gate // by rising position, above reached, each with somebody who waits
}

// gate opens when its position is reached.
type gate struct {
	at      store.Position
	open    chan struct{} // closed by reach
	waiting int
}

func (l *line) position() store.Position { return store.Position(l.reached.Load()) }

// reach makes at the position and lets those go on who wait for it.
func (l *line) reach(at store.Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reached.Store(uint64(at))
	n := 0
	for ; n < len(l.gates) && l.gates[n].at <= at; n++ {
		close(l.gates[n].open)
	}
	l.gates = slices.Delete(l.gates, 0, n)
}

// await blocks until at is reached or ctx ends, and returns the context's error
// then.
func (l *line) await(ctx context.Context, at store.Position) error {
	g := l.enter(at)
	if g == nil {
		return nil
	}
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		l.leave(g)
		return ctx.Err()
	}
}

// enter returns the gate to wait at, or nil when at is reached.
func (l *line) enter(at store.Position) *gate {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.position() >= at { // under the lock: reach could come in between
		return nil
	}
	i, there := l.findLocked(at)
	if !there {
		l.gates = slices.Insert(l.gates, i, &gate{at: at, open: make(chan struct{})})
	}
	l.gates[i].waiting++
	return l.gates[i]
}

// leave takes out a gate at which nobody waits any more.
func (l *line) leave(g *gate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.waiting--; g.waiting > 0 {
		return
	}
	if i, there := l.findLocked(g.at); there {
		l.gates = slices.Delete(l.gates, i, i+1)
	}
}

func (l *line) findLocked(at store.Position) (i int, there bool) {
	return slices.BinarySearchFunc(l.gates, at, func(g *gate, at store.Position) int { return cmp.Compare(g.at, at) })
}
