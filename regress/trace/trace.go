package trace

import (
	"errors"
	"strings"
	"sync"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Options say what the caller knows about the relay.
type Options struct {
	CloseAck bool  // the relay answers CLOSE with CLOSED
	Commits  bool  // the caller reports every commit with Committed
	Judge    Judge // what the reader may see; nil: everything. It needs Commits
}

// Judge says what a reader is allowed to see (G4). It is asked without a lock.
type Judge interface {
	// May says whether the reader may get ev, of that position, at this moment.
	May(at store.Position, ev *wire.Event) bool
	// Owed says whether it was allowed all the time since the commit: what nobody
	// has taken away must come.
	Owed(at store.Position, ev *wire.Event) bool
}

// Trace is what happened on one connection.
type Trace struct {
	// Set at construction, never changed.
	options Options

	mu sync.Mutex // guards the fields below; never held across a callback
	// +checklocks:mu
	lines []string // the transcript
	// +checklocks:mu
	found []Violation
	// +checklocks:mu
	subs map[string]*sub // every id that a REQ or a CLOSE has named
	// +checklocks:mu
	reading *sub // what the message being read is about; nil for other messages
	// +checklocks:mu
	oks map[string]int // event id -> OKs owed
	// +checklocks:mu
	queries map[string]int // id -> COUNTs not answered
	// +checklocks:mu
	refusals map[string]int // id -> malformed COUNTs that CLOSED may answer
	// +checklocks:mu
	strays map[string]int // id -> other malformed messages that CLOSED may answer
	// +checklocks:mu
	ledger ledger
	// +checklocks:mu
	ended bool
}

// New returns an empty trace.
func New(o Options) *Trace {
	return &Trace{
		options: o, subs: make(map[string]*sub), oks: make(map[string]int),
		queries: make(map[string]int), refusals: make(map[string]int), strays: make(map[string]int),
		ledger: newLedger(),
	}
}

// Sent records a message that the relay has read and that has taken effect.
func (t *Trace) Sent(msg []byte) {
	t.Reading(msg)
	t.Read()
}

// Reading records that the relay begins to read a message. Read must follow
// before the next message.
func (t *Trace) Reading(msg []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, "> "+string(msg))
	m, err := wire.Decode(msg)
	if err != nil {
		t.readingBadLocked(err)
		return
	}
	switch m := m.(type) {
	case *wire.ReqMessage:
		t.openLocked(m.ID, newGeneration(m.Filters))
	case *wire.ChangesMessage:
		t.openLocked(m.ID, newFeed(m))
	case *wire.CloseMessage:
		t.reading = t.subLocked(m.ID)
		t.reading.releasing = true
	case *wire.CountMessage:
		t.queries[m.ID]++
	case *wire.EventMessage:
		t.oks[m.Event.ID]++
	case *wire.AuthMessage:
		t.oks[m.Event.ID]++
	}
}

// readingBadLocked notes how a message that is not NIP-01 may be answered.
func (t *Trace) readingBadLocked(err error) {
	var bad *wire.Error
	if !errors.As(err, &bad) {
		return
	}
	switch {
	case bad.EventID != "":
		t.oks[bad.EventID]++
	case bad.HasSub && bad.Verb == "REQ" && wire.ValidSub(bad.Sub):
		t.openLocked(bad.Sub, newGeneration(nil))
	case bad.HasSub && bad.Verb == "CHANGES" && wire.ValidSub(bad.Sub):
		t.openLocked(bad.Sub, newFeed(nil))
	case bad.HasSub && bad.Verb == "COUNT":
		t.refusals[bad.Sub]++
	case bad.HasSub:
		t.strays[bad.Sub]++
	}
}

func (t *Trace) openLocked(id string, g *generation) {
	t.reading = t.subLocked(id)
	t.reading.next = g
}

func (t *Trace) subLocked(id string) *sub {
	s := t.subs[id]
	if s == nil {
		s = &sub{id: id}
		t.subs[id] = s
	}
	return s
}

// Read records that the message of the last Reading has taken effect.
func (t *Trace) Read() {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.reading
	t.reading = nil
	switch {
	case s == nil:
	case s.next != nil:
		s.begin()
	case s.releasing:
		s.release(t.options.CloseAck)
	}
}

// Committed records that an event was committed at a position. Calls come in
// position order and no later than the first frame that carries the event.
func (t *Trace) Committed(at store.Position, ev *wire.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ledger.add(commit{position: at, event: ev, line: len(t.lines)})
}

// Ended records that the connection is over: nothing more is owed.
func (t *Trace) Ended() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
}

// Violations returns what has been found so far.
func (t *Trace) Violations() []Violation {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Violation(nil), t.found...)
}

// Transcript returns everything that was recorded, a line a message: "> " for
// what the relay read, "< " for what it wrote.
func (t *Trace) Transcript() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}

func (t *Trace) violateLocked(r Rule, sub, text string) {
	t.found = append(t.found, Violation{Rule: r, Line: len(t.lines), Sub: sub, Text: text})
}
