package harness

import (
	"context"
	"sync"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// ledger is the fake store with a list of what was committed. Whoever reads the
// list finds in it whatever the log held a moment ago.
type ledger struct {
	store.Store

	mu sync.Mutex // guards the field below; held across Append, which never blocks
	// +checklocks:mu
	rows []row
}

type row struct {
	position store.Position
	event    *wire.Event
}

// Append implements store.Store.
func (l *ledger) Append(ctx context.Context, writes []store.Write) []store.Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.Store.Append(ctx, writes)
	for i, o := range out {
		if o.Err == nil {
			l.rows = append(l.rows, row{position: o.Position, event: writes[i].Event})
		}
	}
	return out
}

// after returns the commits that follow the first n.
func (l *ledger) after(n int) []row {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rows[n:len(l.rows):len(l.rows)]
}
