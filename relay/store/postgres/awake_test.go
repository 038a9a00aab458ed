package postgres_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// patience bounds every wait for what must come. It is less than a mutant gets.
	patience = 40 * time.Second

	// beat is how often a process that runs finds that it does, and still that after which
	// it did not.
	beat  = 10 * time.Millisecond
	still = 50 * time.Millisecond
)

// awake returns a clock that begins with 0 and stands still while this process does not
// run, so that a machine which is busy with others breaks no promise about times.
func awake(t *testing.T) func() time.Duration {
	t.Helper()
	var ran atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error {
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		for last := time.Now(); ; {
			select {
			case <-ticker.C:
				now := time.Now()
				took := now.Sub(last)
				if last = now; took > still {
					took = beat
				}
				ran.Add(int64(took))
			case <-ctx.Done():
				return nil
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = g.Wait() // no errors
	})
	return func() time.Duration { return time.Duration(ran.Load()) }
}

// within returns a context that ends once this process has run for d.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	clock := awake(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	var g errgroup.Group
	g.Go(func() error {
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		for clock() < d {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return nil
			}
		}
		cancel(context.DeadlineExceeded)
		return nil
	})
	t.Cleanup(func() {
		cancel(nil)
		_ = g.Wait() // no errors
	})
	return ctx
}
