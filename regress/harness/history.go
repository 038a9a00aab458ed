package harness

import (
	"context"
	"math"
	"sync"

	"fencepost/lifecycle/pause"
	"fencepost/relay/access"
	"fencepost/relay/outbox"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// history knows the permissions at every position: for each control row there is a
// policy of its own that has applied the log up to there and nothing else. It also
// knows how far the relay has applied it.
type history struct {
	// Set at construction, never changed.
	store  store.Store
	make   func() *access.Policy // without rows
	always context.Context

	mu sync.Mutex // guards the fields below; never held while the relay applies
	// +checklocks:mu
	rules *access.Rules // what a reload has made of them; nil: nothing
	// +checklocks:mu
	rows []store.Entry // control rows
	// +checklocks:mu
	folded map[int]*access.Policy // number of rows -> the policy after these
	// +checklocks:mu
	applied, applying store.Position // the same, unless a row is being applied
}

// at returns the policy as it is once the log is applied up to a position.
func (h *history) at(position store.Position) *access.Policy {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, row := range h.rowsLocked() {
		if row.Position <= position {
			n++
		}
	}
	if p := h.folded[n]; p != nil {
		return p
	}
	p := h.make()
	if h.rules != nil {
		p.SetRules(*h.rules)
	}
	for i := range h.rows[:n] {
		if _, err := p.Apply(&h.rows[i]); err != nil {
			break // the relay stops there as well
		}
	}
	h.folded[n] = p
	return p
}

// rowsLocked returns all control rows that are committed.
func (h *history) rowsLocked() []store.Entry {
	after := store.Position(0)
	if n := len(h.rows); n > 0 {
		after = h.rows[n-1].Position
	}
	more, _ := h.store.ReadControl(h.always, after, math.MaxInt) // a store that is closed has no more of them
	h.rows = append(h.rows, more...)
	return h.rows
}

// rule notes the rules of a reload, which hold at every position.
func (h *history) rule(rules access.Rules) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rules = &rules
	clear(h.folded)
}

// now returns how far the relay has got. The two differ while nobody can tell
// whether the permissions have changed.
func (h *history) now() (applied, applying store.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.applied, h.applying
}

func (h *history) begin(at store.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.applying = at
}

// end notes that the permissions of the row which is being applied are in force.
func (h *history) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.applied = h.applying
}

// watched tells the history which row is being applied.
type watched struct {
	outbox.Controls
	history *history
}

// Apply implements outbox.Controls.
func (w watched) Apply(ctx context.Context, e *store.Entry) error {
	w.history.begin(e.Position)
	err := w.Controls.Apply(ctx, e)
	if err == nil {
		w.history.end()
	}
	return err
}

// watch returns a hook that tells the history when permissions are in force, and
// then does what next does.
func (h *history) watch(next *pause.Hook) *pause.Hook {
	return pause.NewHook(func(p pause.Point) {
		if p == pause.ControlChanged {
			h.end()
		}
		next.At(p)
	})
}

func (h *history) shows(at store.Position, keys []string, ev *wire.Event) bool {
	sight := h.at(at).Sight(ev)
	return sight.May == nil || sight.May(keys)
}

// positions returns those of the control rows above from, up to to.
func (h *history) positions(from, to store.Position) (list []store.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, row := range h.rowsLocked() {
		if row.Position > from && row.Position <= to {
			list = append(list, row.Position)
		}
	}
	return list
}
