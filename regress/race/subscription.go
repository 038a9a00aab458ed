package race

import (
	"time"

	"fencepost/relay/wire"
)

// remembered is how many topics of an id are not used again at once, so that a
// late frame is not taken for one of a newer generation.
const remembered = 6

// subscription judges the frames of one id of one connection. Not safe for
// concurrent use.
type subscription struct {
	id     string
	name   string // for reports
	ledger *ledger
	report *Report

	generations []*generation // that the relay may still serve, oldest first
	closed      bool          // CLOSE was sent after the last REQ
	barred      bool          // and its barrier was answered
	recent      []string      // topics last used
}

// current returns the generation that the client wants, nil when there is none.
func (s *subscription) current() *generation {
	if s.closed || len(s.generations) == 0 {
		return nil
	}
	return s.generations[len(s.generations)-1]
}

// opened notes that a REQ is about to be sent.
func (s *subscription) opened(g *generation) {
	s.report.Generations++
	if s.current() != nil {
		s.report.Replacements++
	}
	s.closed, s.barred = false, false
	s.generations = append(s.generations, g)
	if s.recent = append(s.recent, g.topic); len(s.recent) > remembered {
		s.recent = s.recent[1:]
	}
}

// barrier notes that a barrier sent after CLOSE was answered.
func (s *subscription) barrier() {
	s.generations, s.barred = nil, true
}

// event judges an EVENT frame.
func (s *subscription) event(e *wire.Event) {
	for i, g := range s.generations {
		if g.filter.Matches(e) {
			s.generations = s.generations[i:] // a frame of a generation ends the older ones
			s.accept(g, e)
			return
		}
	}
	s.report.count(&s.report.Stale, "stale: %s received event %s, which no open filter matches", s.name, e.ID)
}

func (s *subscription) accept(g *generation, e *wire.Event) {
	if _, again := g.seen[e.ID]; again {
		s.report.count(&s.report.Duplicate, "duplicate: %s received event %s again", s.name, e.ID)
		return
	}
	g.seen[e.ID], g.unsure = struct{}{}, false
	if !g.inOrder(s.ledger, e) {
		s.report.count(&s.report.OutOfOrder, "out of order: %s received event %s too late", s.name, e.ID)
	}
}

// eose judges an EOSE frame.
func (s *subscription) eose(now time.Time) {
	n := len(s.generations)
	if n == 0 {
		s.report.count(&s.report.Stale, "stale: %s received EOSE after its end", s.name)
		return
	}
	if first := s.firstOwed(); first < n-1 {
		// It cannot be told whose it is. Those before are over in any case.
		s.generations = s.generations[first:]
		s.generations[0].owed = false
		for _, g := range s.generations {
			g.eoseAt = now
		}
		return
	}
	g := s.generations[n-1]
	s.generations = s.generations[n-1:]
	if g.eosed {
		s.report.count(&s.report.Duplicate, "duplicate: %s received EOSE again", s.name)
		return
	}
	g.owed, g.eosed, g.unsure, g.eoseAt = false, true, false, now
}

// firstOwed returns the oldest generation whose EOSE may still come, the last
// one when there is none.
func (s *subscription) firstOwed() int {
	for i, g := range s.generations {
		if g.owed {
			return i
		}
	}
	return len(s.generations) - 1
}

// ended judges a CLOSED frame.
func (s *subscription) ended() {
	switch {
	case s.barred:
		s.report.count(&s.report.Stale, "stale: %s received CLOSED after its end", s.name)
	case s.closed || len(s.generations) == 0:
		// The relay acknowledges CLOSE.
	case len(s.generations) == 1:
		s.report.Ended++
		s.generations = nil
	default:
		// It may be for an older one, or acknowledge a CLOSE before the last REQ.
		s.generations[len(s.generations)-1].unsure = true
	}
}

// missing counts the records that have not come, and judges no event twice.
func (s *subscription) missing(g *generation, expected []record, cut time.Time) {
	s.report.Judged += len(expected)
	g.judged = cut
	for _, r := range g.lacking(expected) {
		s.report.count(&s.report.Missing, "missing: %s did not receive event %s in time", s.name, r.event.ID)
	}
}
