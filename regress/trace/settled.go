package trace

import (
	"fmt"
	"maps"
	"slices"
)

// Settled returns everything that was violated. The caller says that nothing is
// under way any more: all that was read has been answered, all that was committed
// has been fanned out, and all that was queued has been passed to Got. What is
// still owed then is missing.
func (t *Trace) Settled() []Violation {
	excused := t.excused()
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.found
	t.found = slices.Clip(slices.Clone(found))
	if !t.ended {
		t.answersLocked()
		for _, id := range slices.Sorted(maps.Keys(t.subs)) {
			t.settledLocked(t.subs[id], excused)
		}
	}
	t.inventedLocked()
	all := t.found
	t.found = found
	return all
}

func (t *Trace) answersLocked() {
	for _, id := range slices.Sorted(maps.Keys(t.oks)) {
		if n := t.oks[id]; n > 0 {
			t.violateLocked(MissingAnswer, "", fmt.Sprintf("%d OK for %s", n, id))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.queries)) {
		if n := t.queries[id]; n > 0 && !t.maybeClosedLocked(id) {
			t.violateLocked(MissingAnswer, id, fmt.Sprintf("%d COUNT", n))
		}
	}
}

// maybeClosedLocked reports whether a CLOSED for id went to either of two.
func (t *Trace) maybeClosedLocked(id string) bool {
	s := t.subs[id]
	return s != nil && s.current != nil && s.current.maybeClosed
}

func (t *Trace) settledLocked(s *sub, excused map[*commit]bool) {
	if s.acks > 0 {
		t.violateLocked(MissingAnswer, s.id, "CLOSED for CLOSE")
	}
	for _, g := range append(slices.Clone(s.older), s.current) {
		if g != nil && g.feed != nil {
			t.feedSettledLocked(s, g, excused)
		}
	}
	g := s.current
	if g == nil || g.feed != nil || !g.open() || g.maybeClosed || s.next != nil || s.releasing {
		return
	}
	if !g.eosed {
		if !g.maybeEOSE {
			t.violateLocked(MissingAnswer, s.id, "EOSE or CLOSED")
		}
		return
	}
	for _, c := range t.ledger.commits {
		if excused[c] {
			continue
		}
		got := g.seen[c.event.ID]
		if g.maybeSeen[c.event.ID] {
			got++
		}
		if got < t.ledger.required(g, c) {
			t.violateLocked(MissingEvent, s.id, fmt.Sprintf("%s at %d", c.event.ID, c.position))
		}
	}
}

// inventedLocked finds events that were delivered and never committed.
func (t *Trace) inventedLocked() {
	if !t.options.Commits {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(t.subs)) {
		s := t.subs[id]
		for _, g := range append(slices.Clone(s.older), s.current) {
			if g == nil {
				continue
			}
			for _, event := range slices.Sorted(maps.Keys(g.seen)) {
				if len(t.ledger.of(event)) == 0 {
					t.violateLocked(NeverCommitted, id, event)
				}
			}
		}
	}
}
