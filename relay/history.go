package relay

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"fencepost/relay/outbox"
	"fencepost/relay/store"
)

// historyEvery is how often a relay makes sure that its log is the one it began with.
const historyEvery = time.Second

// errHistory ends a relay under which the log has changed.
var errHistory = errors.New("the log has another history than before: its database was restored, or another one took over")

// errTrimmed ends a relay that was stopped for so long that the log does not hold any
// more what it had still to fan out.
var errTrimmed = errors.New("the log was trimmed beyond what this replica had fanned out: it was stopped for too long")

// history is the log that a relay began with.
type history struct {
	// Set at construction, never changed.
	store  store.Store
	start  store.LogInfo
	log    outbox.Log    // for the follower
	broken chan struct{} // of the chain, nil where there is none

	applied func() store.Position // up to where the follower has come; set before anything runs

	newest atomic.Uint64 // see head
}

// newHistory returns the history of s as it is now.
func newHistory(ctx context.Context, s store.Store) (h *history, err error) {
	h = &history{store: s, log: followed(s)}
	if h.start, err = s.Log(ctx); err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	h.newest.Store(uint64(h.start.Head))
	if !isShared(s) {
		return h, nil
	}
	c := &chain{Log: h.log, applied: func() store.Position { return h.applied() }, broken: make(chan struct{}, 1)}
	h.log, h.broken = c, c.broken
	return h, c.begin(ctx, h.start.Head)
}

// watch blocks until the log is another one, or lacks rows that were not applied, or a
// copy into the store begins, which is the error, or ctx ends: nil. After a
// restore or a failover that lost commits, positions that were applied stand for other
// rows, of which no subscriber would hear. Who starts anew reads all again, and clients
// see that they were cut.
func (h *history) watch(ctx context.Context) error {
	tick := time.NewTicker(historyEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-h.broken:
			return errHistory
		case <-ctx.Done():
			return nil
		}
		if err := h.look(ctx); err != nil {
			return err
		}
	}
}

// head returns the newest position of the log that was seen, a second ago at most while
// the store answers. It does not ask.
func (h *history) head() store.Position { return store.Position(h.newest.Load()) }

// look returns why the relay has to end.
func (h *history) look(ctx context.Context) error {
	applied := h.applied()
	info, err := h.store.Log(ctx)
	switch {
	case err != nil: // nobody can tell
		return nil
	case info.Epoch != h.start.Epoch || info.Head < applied:
		return errHistory
	case applied+1 < info.Floor:
		return errTrimmed
	}
	h.newest.Store(uint64(info.Head))
	s, ok := h.store.(shared)
	if !ok {
		return nil
	}
	// A copy sees who runs, unless that had lost its connections.
	if c, err := s.Copying(ctx); err == nil && c.Token != "" && !c.Done {
		return store.ErrCopying
	}
	return nil
}
