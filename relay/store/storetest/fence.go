package storetest

import (
	"context"
	"time"

	"fencepost/lifecycle/fence"
	"fencepost/relay/store"
)

// Fence implements store.Store.
func (f *Fake) Fence(ctx context.Context, stream fence.Stream) (state fence.State, now time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.readyLocked(ctx); err != nil {
		return state, now, err
	}
	return f.fences[stream], f.now(), stream.Validate()
}

// fencedLocked returns what w makes of its fence, if it has one.
func (f *Fake) fencedLocked(w *store.Write, now time.Time) (next fence.State, frame store.Frame, err error) {
	if w.Fence == nil {
		return next, frame, nil
	}
	return w.Fence.Apply(f.fences[w.Fence.Stream], w.Event != nil, now, func() (n int, err error) {
		for s := range f.fences {
			if s.Owner == w.Fence.Stream.Owner {
				n++
			}
		}
		return n, nil
	})
}
