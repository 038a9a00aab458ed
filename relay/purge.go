package relay

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"fencepost/lifecycle"
	"fencepost/relay/access/control"
	"fencepost/relay/outbox"
	"fencepost/relay/store"
)

const (
	// purgeChunk is how many events one call removes: others want to write too.
	purgeChunk = 256
	// purgePause lies between two of them.
	purgePause = 10 * time.Millisecond
	// purgePatience is the longest wait after an error.
	purgePatience = time.Minute
)

// purge removes from the store what requests to vanish (NIP-62) and deleted groups
// (NIP-29) have left there. Nobody sees that any more, so there is time. After each
// start it carries out again what all control rows say, which finds little when it
// was done before.
type purge struct {
	// Set at construction, never changed.
	store store.Store
	self  string          // the relay's public key, hex
	next  outbox.Controls // who applies control rows
	log   *slog.Logger
	wake  chan struct{} // there is something to do; capacity 1, never closed

	mu sync.Mutex // guards the field below; never held across I/O, a callback or another lock
	// +checklocks:mu
	left []store.Erasure // to be done, in the order of the rows
}

// newPurge returns a purge that begins with left.
func newPurge(s store.Store, self string, left []store.Erasure, next outbox.Controls, log *slog.Logger) *purge {
	return &purge{store: s, self: self, left: left, next: next, log: log, wake: make(chan struct{}, 1)}
}

// Apply implements outbox.Controls.
func (p *purge) Apply(ctx context.Context, e *store.Entry) error {
	if err := p.next.Apply(ctx, e); err != nil {
		return err
	}
	x, ok, err := erasureOf(e, p.self)
	if ok {
		p.add(x)
	}
	return err
}

func (p *purge) add(x store.Erasure) {
	p.mu.Lock()
	p.left = append(p.left, x)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run erases until ctx ends.
func (p *purge) run(ctx context.Context) {
	backoff := time.Second
	for ctx.Err() == nil {
		x, ok := p.first()
		if !ok {
			select {
			case <-p.wake:
			case <-ctx.Done():
			}
			continue
		}
		if err := p.erase(ctx, x); err != nil {
			if ctx.Err() == nil {
				p.log.Error("cannot erase", "err", err)
			}
			lifecycle.Rest(ctx, rand.N(backoff)+backoff/2)
			backoff = min(2*backoff, purgePatience)
			continue
		}
		p.done()
		backoff = time.Second
	}
}

// first returns what is next to be done.
func (p *purge) first() (x store.Erasure, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.left) == 0 {
		return store.Erasure{}, false
	}
	return p.left[0], true
}

// done takes that out.
func (p *purge) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left = p.left[1:]; len(p.left) == 0 {
		p.left = nil
	}
}

// erasureOf returns what a control row says is to be removed; ok is false for one
// that says nothing of the kind.
func erasureOf(e *store.Entry, self string) (x store.Erasure, ok bool, err error) {
	r, err := control.Decode(e.Control.Data)
	if err != nil {
		return store.Erasure{}, false, fmt.Errorf("row %d: %w", e.Position, err)
	}
	switch r.Type {
	case control.KeyVanished:
		return store.Erasure{Author: r.Key, Until: r.Until, Cause: store.CauseVanished}, true, nil
	case control.GroupDeleted:
		return store.Erasure{Group: r.Group, Self: self, Cause: store.CauseOperator}, true, nil
	default:
		return store.Erasure{}, false, nil
	}
}

func (p *purge) erase(ctx context.Context, x store.Erasure) error {
	total := 0
	for {
		n, err := p.store.Erase(ctx, x, purgeChunk)
		if err != nil {
			return err
		}
		total += n
		if n < purgeChunk {
			break
		}
		lifecycle.Rest(ctx, purgePause)
	}
	if total > 0 {
		p.log.Info("events erased", "events", total)
	}
	return nil
}
