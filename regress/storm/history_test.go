package storm_test

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"sort"
	"strings"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// history is the log of a storm with what it adds up to. States are numbered: the
// n-th is the one after n control rows.
type history struct {
	self   string
	lags   bool // what was granted may not be in force yet where somebody else asks
	states []fold
	events []logged // those whose payload is left, in position order

	positions map[[8]byte]store.Position // first bytes of an id -> where it was written
	firsts    []deed                     // by when they were sent: the lowest row of all that were sent later
	lasts     []deed                     // by when they were granted: the highest row of all that were granted before
}

type logged struct {
	position store.Position
	event    *wire.Event
}

// deed says by when a control row was sent or granted.
type deed struct {
	at  uint64
	row int // number of the row, from 1
}

// newHistory works the log out. A row that nobody in the ledger has asked for, as
// when the town was founded, may have been applied at any time.
func newHistory(of *host, entries []store.Entry, l *ledger) (*history, error) {
	self := of.self
	h := &history{self: self, lags: of.lags(), states: []fold{newFold(of.walled)}, positions: map[[8]byte]store.Position{}}
	asked, operated := "", 0
	for i := range entries {
		e := &entries[i]
		switch {
		case e.Type == store.EntryVoid:
			h.positions[e.Prefix] = e.Position
		case e.Type == store.EntryEvent:
			h.positions[e.Prefix] = e.Position
			h.events = append(h.events, logged{e.Position, e.Event})
			if e.Event.PubKey != self { // its own stand between a request and its rows
				asked = e.Event.ID
			}
		case e.Control != nil:
			row, err := control.Decode(e.Control.Data)
			if err != nil {
				return nil, err
			}
			h.states = append(h.states, h.states[len(h.states)-1].after(e.Position, &row))
			token := asked
			if !strings.HasPrefix(string(row.Type), "group.") {
				token = operatorToken(operated)
				operated++
			}
			h.date(l.requests[token])
		}
	}
	h.order()
	return h, nil
}

// operatorToken is what the ledger calls the n-th thing that the operator does.
// Each is one row, and they come one after another.
func operatorToken(n int) string { return fmt.Sprintf("operator %d", n) }

func (h *history) date(r *request) {
	if r == nil {
		return
	}
	row := len(h.states) - 1
	h.firsts = append(h.firsts, deed{r.sent, row})
	if r.granted != never {
		h.lasts = append(h.lasts, deed{r.granted, row})
	}
}

func (h *history) order() {
	byTime := func(a, b deed) int { return cmp.Compare(a.at, b.at) }
	slices.SortFunc(h.firsts, byTime)
	for i := len(h.firsts) - 2; i >= 0; i-- {
		h.firsts[i].row = min(h.firsts[i].row, h.firsts[i+1].row)
	}
	slices.SortFunc(h.lasts, byTime)
	for i := 1; i < len(h.lasts); i++ {
		h.lasts[i].row = max(h.lasts[i].row, h.lasts[i-1].row)
	}
}

// most returns the newest state that the relay can have been in at a time: a row
// that was sent later was not applied, and none behind it.
func (h *history) most(at uint64) int {
	if i := sort.Search(len(h.firsts), func(i int) bool { return h.firsts[i].at > at }); i < len(h.firsts) {
		return h.firsts[i].row - 1
	}
	return len(h.states) - 1
}

// least returns the oldest state that the relay can have been in at a time: a row
// that was granted before had been applied. Of another replica that is not said: what
// it has applied only its frames show.
func (h *history) least(at uint64) int {
	if h.lags {
		return 0
	}
	if i := sort.Search(len(h.lasts), func(i int) bool { return h.lasts[i].at >= at }); i > 0 {
		return h.lasts[i-1].row
	}
	return 0
}

// before returns the state at a position.
func (h *history) before(p store.Position) int {
	return sort.Search(len(h.states)-1, func(i int) bool { return h.states[i+1].at >= p })
}

// position returns where an event was written.
func (h *history) position(e *wire.Event) (store.Position, bool) {
	var prefix [8]byte
	_, _ = hex.Decode(prefix[:], []byte(e.ID[:16])) // DecodeRelay has checked it
	p, ok := h.positions[prefix]
	return p, ok
}

// any reports whether ok holds in one of the states from least to most.
func (h *history) any(least, most int, ok func(*fold) bool) bool {
	for i := least; i <= most; i++ {
		if ok(&h.states[i]) {
			return true
		}
	}
	return false
}
