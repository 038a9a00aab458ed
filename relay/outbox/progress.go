package outbox

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"fencepost/relay/store"
)

// progress is how far the log is applied, and who waits for more.
type progress struct {
	applied atomic.Uint64 // written under mu

	mu sync.Mutex // guards the field below; nothing else happens under it
	// +checklocks:mu
	gates []*gate // by rising position, above applied, each with somebody who waits
}

// gate opens when its position is applied.
type gate struct {
	at      store.Position
	open    chan struct{} // closed by reach
	waiting int
}

func (p *progress) position() store.Position { return store.Position(p.applied.Load()) }

// reach makes at the applied position and lets those go on who wait for it.
func (p *progress) reach(at store.Position) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.applied.Store(uint64(at))
	n := 0
	for ; n < len(p.gates) && p.gates[n].at <= at; n++ {
		close(p.gates[n].open)
	}
	p.gates = slices.Delete(p.gates, 0, n)
}

// await blocks until at is applied or ctx ends, and returns the context's error
// then.
func (p *progress) await(ctx context.Context, at store.Position) error {
	g := p.enter(at)
	if g == nil {
		return nil
	}
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		p.leave(g)
		return ctx.Err()
	}
}

// enter returns the gate to wait at, or nil when at is applied.
func (p *progress) enter(at store.Position) *gate {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.position() >= at { // under the lock: reach could come in between
		return nil
	}
	i, there := p.findLocked(at)
	if !there {
		p.gates = slices.Insert(p.gates, i, &gate{at: at, open: make(chan struct{})})
	}
	p.gates[i].waiting++
	return p.gates[i]
}

// leave takes out a gate at which nobody waits any more.
func (p *progress) leave(g *gate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g.waiting--; g.waiting > 0 {
		return
	}
	if i, there := p.findLocked(g.at); there {
		p.gates = slices.Delete(p.gates, i, i+1)
	}
}

func (p *progress) findLocked(at store.Position) (i int, there bool) {
	return slices.BinarySearchFunc(p.gates, at, func(g *gate, at store.Position) int { return cmp.Compare(g.at, at) })
}
