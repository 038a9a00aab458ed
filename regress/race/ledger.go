package race

import (
	"sync"
	"time"

	"fencepost/relay/wire"
)

// record is one event of the storm.
type record struct {
	event     *wire.Event
	topic     string
	publisher int
	seq       int       // of its publisher
	sent      time.Time // before it was sent
	acked     time.Time // zero when no OK true came
}

// ledger knows every event of the storm.
type ledger struct {
	mu sync.Mutex // guards the fields below; never held across I/O
	// +checklocks:mu
	byID map[string]*record // event id -> record
	// +checklocks:mu
	byTopic map[string][]*record // topic -> records in the order sent
}

func newLedger() *ledger {
	return &ledger{byID: make(map[string]*record), byTopic: make(map[string][]*record)}
}

// add is called before the event is sent.
func (l *ledger) add(r record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byID[r.event.ID] = &r
	l.byTopic[r.topic] = append(l.byTopic[r.topic], &r)
}

func (l *ledger) ack(id string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byID[id].acked = at
}

func (l *ledger) find(id string) (record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.byID[id]
	if !ok {
		return record{}, false
	}
	return *r, true
}

// acked returns the events of a topic that were answered OK after from and not
// after to.
func (l *ledger) acked(topic string, from, to time.Time) []record {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []record
	for _, r := range l.byTopic[topic] {
		if !r.acked.IsZero() && r.acked.After(from) && !r.acked.After(to) {
			out = append(out, *r)
		}
	}
	return out
}
