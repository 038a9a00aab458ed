package handlers

import (
	"context"
	"errors"
	"time"

	"fencepost/relay/wire"
)

// errTimeout ends a query that costs the store too much. What the client takes
// for reading does not count.
var errTimeout = wire.Because(wire.Failed, "the query takes too long, ask for less")

// budget is the time that the store may still work for one query.
type budget struct{ left time.Duration } // 0 at the beginning is no bound

// spend runs one piece of work within the budget. It returns errTimeout when the
// budget ended it, and work's own error otherwise.
func (b *budget) spend(ctx context.Context, work func(ctx context.Context) error) error {
	if b.left == 0 {
		return work(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, b.left)
	defer cancel()
	begin := time.Now()
	err := work(bounded)
	b.left = max(b.left-time.Since(begin), 1)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return errTimeout
	}
	return err
}
