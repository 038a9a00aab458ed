package race

import (
	"time"

	"fencepost/relay/wire"
)

// generation is one REQ of one subscription id.
type generation struct {
	topic  string
	filter *wire.Filter

	owed   bool      // no EOSE was counted as its own
	eosed  bool      // its EOSE came, for certain
	eoseAt time.Time // when its EOSE may have come, zero when none has
	unsure bool      // a CLOSED came that may be its own
	judged time.Time // up to when missing events were counted

	seen   map[string]struct{} // ids of the events received
	stored int                 // how many of them came before EOSE
	last   *wire.Event         // the last one before EOSE
	latest map[int]int         // publisher -> highest sequence number received live
}

func newGeneration(topic string, f *wire.Filter) *generation {
	return &generation{
		topic: topic, filter: f, owed: true,
		seen: make(map[string]struct{}), latest: make(map[int]int),
	}
}

// answered reports whether the relay said something that ends the wait for EOSE.
func (g *generation) answered() bool { return g.eosed || g.unsure || !g.eoseAt.IsZero() }

// inOrder notes an event and reports whether it may follow those before it.
func (g *generation) inOrder(l *ledger, e *wire.Event) bool {
	switch {
	case g.eosed:
		return g.liveInOrder(l, e)
	case !g.eoseAt.IsZero():
		return true // stored or live, nobody knows
	}
	g.stored++
	before := g.last
	g.last = e
	return before == nil || e.CreatedAt < before.CreatedAt || e.CreatedAt == before.CreatedAt && e.ID > before.ID
}

func (g *generation) liveInOrder(l *ledger, e *wire.Event) bool {
	r, ok := l.find(e.ID)
	if !ok {
		return true
	}
	latest, some := g.latest[r.publisher]
	if !some || r.seq > latest {
		g.latest[r.publisher] = r.seq
		return true
	}
	// An unanswered event may be committed at any later time.
	return r.acked.IsZero()
}

// expected returns the events that must have reached the generation once those
// answered up to the cut have been fanned out.
func (g *generation) expected(l *ledger, cut time.Time) []record {
	if g.eoseAt.IsZero() || g.unsure {
		return nil
	}
	// Before EOSE all must come that was not cut off, but for what is never stored.
	whole := g.stored < storedLimit && !g.ephemeral()
	if !g.eosed {
		// Stored events may still come: count as if all were.
		if whole = len(g.seen) < storedLimit && !g.ephemeral(); !whole {
			return nil
		}
	}
	from := g.eoseAt
	if g.judged.After(from) {
		from = g.judged
	}
	var out []record
	for _, r := range l.acked(g.topic, from, cut) {
		if g.filter.Matches(r.event) && (whole || r.sent.After(g.eoseAt)) {
			out = append(out, r)
		}
	}
	return out
}

// ephemeral events may be over before the relay looks at the REQ.
func (g *generation) ephemeral() bool { return wire.ClassOf(g.filter.Kinds[0]) == wire.Ephemeral }

// lacking returns those of the records that have not come.
func (g *generation) lacking(records []record) []record {
	var out []record
	for _, r := range records {
		if _, ok := g.seen[r.event.ID]; !ok {
			out = append(out, r)
		}
	}
	return out
}
