package trace

import (
	"bytes"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Got records a frame that the relay wrote.
func (t *Trace) Got(frame []byte) {
	m, err := wire.DecodeRelay(frame)
	allowed := err != nil || m.Event == nil || t.allowed(m.Event)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, "< "+string(frame))
	if err != nil {
		t.violateLocked(Unreadable, "", err.Error())
		return
	}
	if !allowed {
		t.violateLocked(Forbidden, m.Sub, m.Event.ID)
	}
	switch m.Verb {
	case "EVENT":
		t.eventLocked(m)
	case "EOSE":
		t.eoseLocked(m)
	case "CLOSED":
		t.closedLocked(m.Sub)
	case "CHANGES":
		t.changesLocked(m)
	case "OK":
		t.answeredLocked(t.oks, m.ID, "OK "+m.ID)
	case "COUNT":
		t.answeredLocked(t.queries, m.Sub, "COUNT "+m.Sub)
	}
}

func (t *Trace) answeredLocked(owed map[string]int, key, what string) {
	if owed[key] == 0 {
		t.violateLocked(UnexpectedAnswer, "", what)
		return
	}
	owed[key]--
}

func (t *Trace) eventLocked(m wire.RelayMessage) {
	s := t.subs[m.Sub]
	if s == nil {
		t.violateLocked(NeverOpened, m.Sub, "EVENT "+m.Event.ID)
		return
	}
	if s.next != nil && t.eitherEventLocked(s, m.Event) {
		return
	}
	g := t.openGenerationLocked(s, "EVENT "+m.Event.ID)
	if g == nil {
		return
	}
	if !g.matches(m.Event) {
		rule := NotMatching
		if s.olderMatches(m.Event) {
			rule = Stale
		}
		t.violateLocked(rule, s.id, m.Event.ID)
		return
	}
	t.deliveredLocked(s.id, g, m.Event)
}

// eitherEventLocked treats an event that came while a newer REQ was being read.
// It returns false when it is to be judged by the current generation, which is
// the newer one if only that can have sent it.
func (t *Trace) eitherEventLocked(s *sub, e *wire.Event) bool {
	inNew := s.next.matches(e)
	inOld := s.current != nil && s.current.open() && s.current.matches(e) && s.current.seen[e.ID] == 0
	switch {
	case inNew && inOld:
		s.current.seen[e.ID]++
		s.next.maybeSeen[e.ID] = true
		return true
	case inNew:
		s.begin()
	}
	return false
}

// openGenerationLocked returns the generation that a frame belongs to, or says
// why there is none.
func (t *Trace) openGenerationLocked(s *sub, what string) *generation {
	g := s.current
	switch {
	case g == nil:
		t.violateLocked(NeverOpened, s.id, what)
	case g.closed:
		t.violateLocked(AfterClosed, s.id, what)
	case g.released:
		t.violateLocked(AfterClose, s.id, what)
	default:
		return g
	}
	return nil
}

// deliveredLocked judges an event of g that g asked for.
func (t *Trace) deliveredLocked(id string, g *generation, e *wire.Event) {
	commits := t.ledger.of(e.ID)
	if len(commits) > 0 && !bytes.Equal(commits[0].event.Raw(), e.Raw()) {
		t.violateLocked(Altered, id, e.ID)
	}
	if g.seen[e.ID]++; g.seen[e.ID] > max(1, len(commits)) {
		t.violateLocked(Duplicate, id, e.ID)
		return
	}
	if !g.sure() {
		return
	}
	if g.eosed {
		t.liveLocked(id, g, e)
		return
	}
	if g.lastStored != nil && store.Newer(e, g.lastStored) {
		t.violateLocked(StoredOrder, id, e.ID)
	}
	g.lastStored = e
	if len(commits) > 0 {
		g.topStored = max(g.topStored, commits[0].position)
	}
}

func (t *Trace) liveLocked(id string, g *generation, e *wire.Event) {
	at, known := t.ledger.position(e.ID, g.lastLive)
	switch {
	case !known:
	case at <= g.topStored:
		t.violateLocked(StoredAfterEOSE, id, e.ID)
	case at <= g.lastLive:
		t.violateLocked(LiveOrder, id, e.ID)
	default:
		g.lastLive = at
	}
}

func (t *Trace) eoseLocked(m wire.RelayMessage) {
	s := t.subs[m.Sub]
	if s == nil {
		t.violateLocked(NeverOpened, m.Sub, "EOSE")
		return
	}
	if s.next != nil {
		if g := s.current; g != nil && g.feed == nil && g.open() && !g.eosed { // either's
			g.setEOSE(m.Hints, len(t.lines))
			s.next.maybeEOSE = true
			s.next.more = true
			return
		}
		s.begin()
	}
	g := t.openGenerationLocked(s, "EOSE")
	if g == nil {
		return
	}
	if g.feed != nil {
		t.violateLocked(Stale, s.id, "EOSE")
		return
	}
	if g.eosed {
		t.violateLocked(SecondEOSE, s.id, "")
		return
	}
	g.setEOSE(m.Hints, len(t.lines))
}

// closedLocked finds what a CLOSED ends: a generation, a COUNT (NIP-45), a CLOSE
// that is acknowledged or a message that could not be read.
func (t *Trace) closedLocked(id string) {
	s := t.subs[id]
	if s != nil && s.next != nil && (s.current == nil || !s.current.open()) {
		s.begin()
	}
	if s != nil && s.current != nil && s.current.open() && s.current.feed == nil {
		t.closeOneLocked(s)
		return
	}
	if s != nil && s.acks > 0 {
		s.acks--
		s.current.closed = true
		return
	}
	if t.takeLocked(t.queries, id) || t.takeLocked(t.refusals, id) || t.takeLocked(t.strays, id) {
		return
	}
	if s == nil {
		t.violateLocked(NeverOpened, id, "CLOSED")
		return
	}
	t.violateLocked(ForeignClosed, id, "")
}

// closeOneLocked ends the current generation, unless the CLOSED may as well have
// been for something else of that id.
func (t *Trace) closeOneLocked(s *sub) {
	if t.takeLocked(t.queries, s.id) || t.takeLocked(t.refusals, s.id) {
		s.current.maybeClosed = true
		return
	}
	t.takeLocked(t.strays, s.id) // a CLOSED that answers a bad CLOSE is the end all the same
	s.current.closed = true
	if s.next != nil {
		s.next.maybeClosed = true
	}
}

func (t *Trace) takeLocked(owed map[string]int, id string) bool {
	if owed[id] == 0 {
		return false
	}
	owed[id]--
	return true
}
