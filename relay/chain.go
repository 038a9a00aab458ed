package relay

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"fencepost/relay/outbox"
	"fencepost/relay/store"
)

// chain is a log that other processes write too, for the one who follows it. What it
// returns goes on from the very row that was read before. A database that has lost commits
// in a crash and was written on looks as if it had only grown; but the row at the position
// from which the follower goes on is another one then, since a crash loses the end.
type chain struct {
	outbox.Log

	applied func() store.Position // up to where the follower has come
	broken  chan struct{}         // receives once the log is another one; never closed

	seen []link // rows that were read, by position; owned by the goroutine that reads
}

// link is what a row is known by. It stays the same when the row is voided.
type link struct {
	at    store.Position
	known bool // false: it could not be read
	name  [8]byte
}

func linkOf(e *store.Entry) link {
	l := link{at: e.Position, known: true, name: e.Prefix}
	if e.Type != store.EntryControl {
		return l
	}
	if l.known = e.Control != nil; l.known { // it is about no event, and never voided
		sum := sha256.Sum256(e.Control.AppendTo(nil))
		copy(l.name[:], sum[:])
	}
	return l
}

// begin takes note of the row at a position, which retention may have taken.
func (c *chain) begin(ctx context.Context, at store.Position) error {
	if at == 0 {
		return nil
	}
	page, err := c.Log.ReadLog(ctx, at-1, 1)
	if err != nil && !errors.Is(err, store.ErrFloor) {
		return fmt.Errorf("read log: %w", err)
	}
	c.remember(page)
	return nil
}

// ReadLog implements outbox.Log. errHistory when the row at after is not the one that was
// read before; the rows behind it stand for something else then.
func (c *chain) ReadLog(ctx context.Context, after store.Position, limit int) ([]store.Entry, error) {
	if after != c.applied() { // a row that was deferred is read again
		return c.Log.ReadLog(ctx, after, limit)
	}
	if after > 0 {
		page, err := c.Log.ReadLog(ctx, after-1, limit+1)
		if err == nil {
			return c.next(after, page)
		}
		if !errors.Is(err, store.ErrFloor) {
			return nil, err
		}
	}
	page, err := c.Log.ReadLog(ctx, after, limit) // retention took the row at after
	c.remember(page)
	return page, err
}

// next returns the rows of a page behind its first one, which stands at after.
func (c *chain) next(after store.Position, page []store.Entry) ([]store.Entry, error) {
	if len(page) == 0 || page[0].Position != after || c.differs(linkOf(&page[0])) {
		select {
		case c.broken <- struct{}{}:
		default:
		}
		return nil, errHistory
	}
	c.remember(page)
	return page[1:], nil
}

// differs reports whether another row was read where l stands.
func (c *chain) differs(l link) bool {
	for _, was := range c.seen {
		if was.at == l.at {
			return was.known && l.known && was.name != l.name
		}
	}
	return false
}

// remember keeps what the rows of a page are known by: a page may be applied in part, and
// the next one begins within it.
func (c *chain) remember(page []store.Entry) {
	if len(page) == 0 {
		return
	}
	c.seen = slices.Grow(c.seen[:0], len(page))
	for i := range page {
		c.seen = append(c.seen, linkOf(&page[i]))
	}
}
