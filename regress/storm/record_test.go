package storm_test

import (
	"fmt"

	"fencepost/relay/wire"
)

// record is what one connection saw, in order. Its reader owns it until the storm
// is over.
type record struct {
	name string
	key  string // public key that authenticates before anything else, "" for none

	authSent, authed uint64 // never: it did not
	notes            []note
	generations      []*generation
	floor            uint64 // when the last barrier was sent that has been answered
}

type noteKind uint8

const (
	gotEvent   noteKind = iota + 1
	gotClosed           // a subscription was ended by the relay
	gotBarrier          // a barrier was answered
	gotCount            // COUNT was answered, with a number or with CLOSED
	gotEnd              // the connection has ended
)

// note is one thing that was received.
type note struct {
	kind  noteKind
	at    uint64
	floor uint64 // the record's, then

	generation *generation   // gotEvent, gotClosed
	event      *wire.Event   // gotEvent
	live       bool          // gotEvent: certainly passed on as it was written
	text       string        // gotClosed, gotEnd; gotCount when it was refused
	open       []*generation // gotBarrier: sent before it and not ended
	filter     *wire.Filter  // gotCount
	sent       uint64        // gotCount
	count      int           // gotCount
}

// generation is one REQ.
type generation struct {
	filter *wire.Filter
	number int
	sent   uint64
	sure   bool // it is certain which EOSE and which CLOSED are its own
	eosed  bool
	over   bool // the relay has ended it

	older *generation // may still be served before this one's EOSE
}

// slot is a subscription id of one connection.
type slot struct {
	id       string
	record   *record
	current  *generation // nil before the first REQ and after CLOSE
	last     *generation // the one before CLOSE
	barred   bool        // CLOSE was sent, and a barrier after it was answered
	unclear  bool        // nobody knows whose CLOSED that was
	problems *problems
}

// opens notes that a REQ is about to be sent.
func (s *slot) opens(f *wire.Filter, at uint64) {
	g := &generation{filter: f, number: len(s.record.generations), sent: at, sure: true}
	old := s.current
	if old == nil && !s.barred {
		old = s.last
	}
	if old != nil && !old.over {
		g.older, g.sure = old, old.sure && old.eosed // or nobody knows whose EOSE comes first
	}
	s.current, s.barred, s.unclear = g, false, false
	s.record.generations = append(s.record.generations, g)
}

// closes notes that CLOSE is about to be sent.
func (s *slot) closes() { s.current, s.last, s.barred = nil, s.current, false }

// event judges what can be judged at once: a frame of no open filter.
func (s *slot) event(e *wire.Event, at uint64) {
	g, live := s.current, false
	switch {
	case g == nil && s.barred:
		s.problems.add("after the end", "%s %s received %s after CLOSE and a barrier", s.record.name, s.id, e.ID)
		return
	case g == nil:
		g = s.last
	case g.over:
		s.problems.add("after the end", "%s %s received %s after its CLOSED", s.record.name, s.id, e.ID)
		return
	default:
		live = g.eosed && g.sure
	}
	if !g.filter.Matches(e) && (live || !g.olderMatches(e)) {
		s.problems.add("stale", "%s %s received %s, which no open filter matches", s.record.name, s.id, e.ID)
		return
	}
	s.record.note(note{kind: gotEvent, at: at, generation: g, event: e, live: live})
}

func (g *generation) olderMatches(e *wire.Event) bool {
	for o := g.older; o != nil; o = o.older {
		if o.filter.Matches(e) {
			return true
		}
	}
	return false
}

func (s *slot) eose() {
	switch g := s.current; {
	case g == nil && s.barred, g != nil && (g.over || g.eosed && g.sure):
		s.problems.add("after the end", "%s %s received an EOSE too much", s.record.name, s.id)
	case g != nil:
		g.eosed = true
	}
}

func (s *slot) ended(text string, at uint64) {
	switch g := s.current; {
	case g == nil && s.barred, g != nil && g.over:
		s.problems.add("after the end", "%s %s received CLOSED %q after its end", s.record.name, s.id, text)
	case g == nil: // it was on its way when CLOSE was sent
	case g.older != nil && (!g.eosed || !g.sure):
		s.unclear = true
	default:
		g.over = true
		s.record.note(note{kind: gotClosed, at: at, generation: g, text: text})
	}
}

func (r *record) note(n note) {
	n.floor = r.floor
	r.notes = append(r.notes, n)
}

// problems are what must not be. One goroutine at a time has them.
type problems struct {
	counts   map[string]int
	examples []string
}

func (p *problems) add(what, format string, args ...any) {
	if p.counts == nil {
		p.counts = map[string]int{}
	}
	if p.counts[what]++; p.counts[what] <= 3 {
		p.examples = append(p.examples, what+": "+fmt.Sprintf(format, args...))
	}
}

func (p *problems) join(o *problems) {
	for what, n := range o.counts {
		if p.counts == nil {
			p.counts = map[string]int{}
		}
		p.counts[what] += n
	}
	p.examples = append(p.examples, o.examples...)
}
