package trace

import (
	"slices"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// sub is one subscription id with its generations.
type sub struct {
	id        string
	older     []*generation
	current   *generation // nil before the first REQ
	next      *generation // of a REQ that is being read
	releasing bool        // CLOSE is being read
	acks      int         // CLOSED owed for CLOSE
}

// generation is what one REQ was answered with.
type generation struct {
	filters []*wire.Filter // nil for a REQ that must be refused
	feed    *feed          // of a CHANGES, which has no filters of a REQ; nil for a REQ

	released bool // CLOSE was read
	closed   bool // CLOSED came
	eosed    bool // EOSE came
	eoseLine int
	more     bool // stored events may have been left out

	seen       map[string]int // event id -> times
	lastStored *wire.Event
	topStored  store.Position // highest position of the stored events
	lastLive   store.Position

	// What came while the REQ was being read and may have been the older one's.
	maybeSeen   map[string]bool
	maybeEOSE   bool
	maybeClosed bool // also: a CLOSED that may have answered a COUNT
}

func newGeneration(filters []*wire.Filter) *generation {
	return &generation{filters: filters, seen: make(map[string]int), maybeSeen: make(map[string]bool)}
}

// begin makes next the current generation; there is none after the first call.
func (s *sub) begin() {
	if s.current != nil {
		s.older = append(s.older, s.current)
	}
	s.current, s.next = s.next, nil
	s.acks = 0 // a CLOSED that is still queued would end the newer one
}

// release ends the current generation, as CLOSE does.
func (s *sub) release(ack bool) {
	s.releasing = false
	if s.current == nil || !s.current.open() {
		return
	}
	s.current.released = true
	if ack && !s.current.maybeClosed {
		s.acks++
	}
}

func (g *generation) open() bool { return !g.released && !g.closed }

func (g *generation) matches(e *wire.Event) bool { return wire.MatchesAny(g.filters, e) }

// sure reports whether it is known if EOSE has come.
func (g *generation) sure() bool { return g.eosed || !g.maybeEOSE }

// complete reports whether all stored events were owed: no limit hid any.
func (g *generation) complete() bool { return !g.more }

// setEOSE notes EOSE and whether it left room for hidden events: by the hint
// (NIP-67) or, when the relay gives none, by the limits asked for.
func (g *generation) setEOSE(hints []string, line int) {
	g.eosed, g.eoseLine = true, line
	g.more = slices.Contains(hints, "more")
	for _, f := range g.filters {
		g.more = g.more || f.LimitZero || len(hints) == 0 && f.Limit > 0
	}
}

// olderMatches reports whether a generation before the current one asked for e.
func (s *sub) olderMatches(e *wire.Event) bool {
	return slices.ContainsFunc(s.older, func(g *generation) bool { return g.matches(e) })
}
