package relay

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

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
// (NIP-29) have left there. Nobody sees that any more, so there is time: it reads
// the control rows, all of them after each start, and erases again what one of them
// says, which finds little when it was done before.
type purge struct {
	// Set at construction, never changed.
	store store.Store
	self  string          // the relay's public key, hex
	next  outbox.Controls // who applies control rows
	log   *slog.Logger
	wake  chan struct{} // a control row was applied; capacity 1, never closed
}

func newPurge(s store.Store, self string, next outbox.Controls, log *slog.Logger) *purge {
	return &purge{store: s, self: self, next: next, log: log, wake: make(chan struct{}, 1)}
}

// Apply implements outbox.Controls.
func (p *purge) Apply(ctx context.Context, e *store.Entry) error {
	if err := p.next.Apply(ctx, e); err != nil {
		return err
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return nil
}

// run erases until ctx ends.
func (p *purge) run(ctx context.Context) {
	done, backoff := store.Position(0), time.Second
	for ctx.Err() == nil {
		at, err := p.step(ctx, done)
		switch {
		case err != nil && ctx.Err() == nil:
			p.log.Error("cannot erase", "position", done, "err", err)
			rest(ctx, rand.N(backoff)+backoff/2)
			backoff = min(2*backoff, purgePatience)
			continue
		case at == done:
			select {
			case <-p.wake:
			case <-ctx.Done():
			}
		}
		done, backoff = at, time.Second
	}
}

// step carries out the control rows that follow position done, and returns the
// last.
func (p *purge) step(ctx context.Context, done store.Position) (store.Position, error) {
	const page = 256
	rows, err := p.store.ReadControl(ctx, done, page)
	if err != nil {
		return done, err
	}
	for i := range rows {
		row, err := control.Decode(rows[i].Control.Data)
		if err != nil {
			return done, fmt.Errorf("row %d: %w", rows[i].Position, err)
		}
		if x, ok := p.erasure(&row); ok {
			if err := p.erase(ctx, x); err != nil {
				return done, err
			}
		}
		done = rows[i].Position
	}
	return done, nil
}

// erasure returns what a row says is to be removed.
func (p *purge) erasure(r *control.Row) (x store.Erasure, ok bool) {
	switch r.Type {
	case control.KeyVanished:
		return store.Erasure{Author: r.Key, Until: r.Until, Cause: store.CauseVanished}, true
	case control.GroupDeleted:
		return store.Erasure{Group: r.Group, Self: p.self, Cause: store.CauseOperator}, true
	default:
		return store.Erasure{}, false
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
		rest(ctx, purgePause)
	}
	if total > 0 {
		p.log.Info("events erased", "events", total)
	}
	return nil
}

// rest blocks for d or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
