package handlers

import (
	"context"
	"time"
)

// Bounded returns the context of a budget that has d left, and its end.
func Bounded(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	b := &bounded{Context: ctx, until: time.Now().Add(d)}
	return b, b.end
}
