package lifecycle

import (
	"context"
	"time"
)

// Rest blocks for d, or until ctx ends.
func Rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
