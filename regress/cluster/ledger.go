package cluster

import (
	"slices"
	"sync"
	"time"

	"fencepost/relay/wire"
)

// Ledger is what publishers were told. Its methods may be called from any goroutine.
type Ledger struct {
	mu sync.Mutex // guards the fields below
	// +checklocks:mu
	byID map[string]*Sent
	// +checklocks:mu
	refused map[string]int // text of an OK false -> how often
	// +checklocks:mu
	cut int // how often a connection ended before the answer
}

// Sent is one event and what became of it.
type Sent struct {
	Event    *wire.Event
	Replica  int       // number of the one that it was sent to
	First    time.Time // when it was sent first
	Accepted time.Time // when OK true came; zero if it never did
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{byID: make(map[string]*Sent), refused: make(map[string]int)}
}

func (l *Ledger) sends(e *wire.Event, replica int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byID[e.ID] = &Sent{Event: e, Replica: replica, First: time.Now()}
}

func (l *Ledger) accepts(e *wire.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byID[e.ID].Accepted = time.Now()
}

func (l *Ledger) refuses(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused[text]++
}

func (l *Ledger) cuts() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut++
}

// Counts returns how many events were accepted, what refusals there were, and how many
// connections ended before an answer.
func (l *Ledger) Counts() (accepted int, refused map[string]int, cut int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	refused = make(map[string]int, len(l.refused))
	for text, n := range l.refused {
		refused[text] = n
	}
	for _, s := range l.byID {
		if !s.Accepted.IsZero() {
			accepted++
		}
	}
	return accepted, refused, l.cut
}

// All returns everything that was sent, in no order.
func (l *Ledger) All() (all []Sent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.byID {
		all = append(all, *s)
	}
	return all
}

// Gap returns the longest time between two acceptances on one of the replicas, which
// are counted together, from one moment to another.
func (l *Ledger) Gap(from, to time.Time, replicas ...int) (longest time.Duration) {
	var times []time.Time
	for _, s := range l.All() {
		if slices.Contains(replicas, s.Replica) && s.Accepted.After(from) && s.Accepted.Before(to) {
			times = append(times, s.Accepted)
		}
	}
	times = append(times, to)
	slices.SortFunc(times, time.Time.Compare)
	for _, at := range times {
		longest = max(longest, at.Sub(from))
		from = at
	}
	return longest
}
