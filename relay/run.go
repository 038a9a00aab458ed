package relay

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"fencepost/relay/store"
)

// sweepEvery is how often expired events are removed and ephemeral rows voided.
const sweepEvery = 10 * time.Second

// Run serves until ctx ends or the relay cannot go on, then drains and releases
// everything. It returns nil after a drain that was asked for and went well.
func (r *Relay) Run(ctx context.Context) error {
	failed := make(chan error, 2)
	r.group.Go("http", func(context.Context) {
		if err := r.server.Serve(r.listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("serve: %w", err)
		}
	})
	r.group.Go("history", func(ctx context.Context) {
		if err := r.parts.history.watch(ctx); err != nil {
			failed <- err
		}
	})
	r.group.Go("follower", r.parts.follower.Run)
	r.group.Go("watch", r.parts.follower.Watch)
	r.group.Go("sweeper", r.sweep)
	r.group.Go("purge", r.parts.purge.run)
	r.parts.permissions.start(r.group)
	r.report(r.group)
	r.startMirrors(r.group)
	var cause error
	select {
	case <-ctx.Done():
	case cause = <-failed:
	case cause = <-r.group.Failed():
	case cause = <-r.parts.conns.Failed():
	}
	return errors.Join(cause, r.drain(context.WithoutCancel(ctx)))
}

// sweep keeps the store free of what has expired, and the log as short as it is to be.
func (r *Relay) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			if _, err := r.parts.store.Sweep(ctx, now); err != nil && ctx.Err() == nil {
				r.log.Error("sweep stopped", "err", err)
			}
			keep := r.current().Retention
			if _, err := r.parts.store.Trim(ctx, store.Retention{Age: keep.Age, Rows: uint64(keep.Rows)}, now); err != nil && ctx.Err() == nil {
				r.log.Error("log is not trimmed", "err", err)
			}
		case <-ctx.Done():
			return
		}
	}
}
