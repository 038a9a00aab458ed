package harness

import (
	"context"
	"maps"
	"math"
	"slices"
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

// Committed calls tell with every event that was committed, by handlers or by the
// test, in order and without the first n. It returns how many there are.
func (r *Relay) Committed(n int, tell func(at store.Position, ev *wire.Event)) int {
	rows := r.ledger.after(n)
	for _, x := range rows {
		tell(x.position, x.event)
	}
	return n + len(rows)
}

// Append implements store.Store.
func (l *ledger) Append(ctx context.Context, writes []store.Write) []store.Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	always := context.WithoutCancel(ctx)
	before, _ := l.Store.Log(always) // a store that is closed appends nothing either
	out := l.Store.Append(ctx, writes)
	fresh := make(map[store.Position]*wire.Event)
	for i, o := range out {
		if o.Err == nil && writes[i].Event != nil {
			fresh[o.Position] = writes[i].Event // the log may have voided it by now
		}
	}
	entries, _ := l.Store.ReadLog(always, before.Head, math.MaxInt)
	for _, e := range entries {
		if e.Event != nil && e.Removal == nil {
			fresh[e.Position] = e.Event // the relay's own come with another's
		}
	}
	for _, at := range slices.Sorted(maps.Keys(fresh)) {
		l.rows = append(l.rows, row{position: at, event: fresh[at]})
	}
	return out
}

// after returns the commits that follow the first n.
func (l *ledger) after(n int) []row {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rows[n:len(l.rows):len(l.rows)]
}
