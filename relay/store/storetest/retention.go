package storetest

import (
	"context"
	"time"

	"fencepost/relay/store"
)

// Trim implements store.Store. The fake forgets nothing: it moves the floor.
func (f *Fake) Trim(ctx context.Context, keep store.Retention, now time.Time) (store.Position, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.readyLocked(ctx); err != nil {
		return 0, err
	}
	info := store.LogInfo{Floor: f.floor, Head: store.Position(len(f.rows))}
	aim, moments := keep.Plan(now, info, f.moments)
	f.moments = moments
	for f.floor < aim && f.rows[f.floor-1].Type != store.EntryEphemeral {
		f.floor++
	}
	return f.floor, nil
}

// Searches implements store.Store.
func (f *Fake) Searches() bool { return true }
