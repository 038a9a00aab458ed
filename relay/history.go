package relay

import (
	"context"
	"errors"
	"time"

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
	log interface {
		Log(ctx context.Context) (store.LogInfo, error)
	}
	epoch   store.Epoch
	applied func() store.Position
}

// watch blocks until the log is another one, or lacks rows that were not applied, which
// is the error, or ctx ends: nil. After a
// restore or a failover that lost commits, positions that were applied stand for other
// rows, of which no subscriber would hear. Who starts anew reads all again, and clients
// see that they were cut.
func (h history) watch(ctx context.Context) error {
	tick := time.NewTicker(historyEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		applied := h.applied()
		info, err := h.log.Log(ctx)
		switch {
		case err != nil: // nobody can tell
		case info.Epoch != h.epoch || info.Head < applied:
			return errHistory
		case applied+1 < info.Floor:
			return errTrimmed
		}
	}
}
