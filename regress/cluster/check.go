package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

// Verdict is what was looked at and what was wrong with it.
type Verdict struct {
	Accepted   int // events that were accepted
	Sessions   int
	Cut        int // sessions that ended before the last word, of subscribers who stay
	Heard      int // EVENT frames
	HeardLive  int // those after EOSE
	Elsewhere  int // live frames of events that another replica accepted
	Violations []string
}

// Check compares what publishers were told and what subscribers heard with the log. It
// is complete once publishers and subscribers have ended.
func Check(l *Log, ledger *Ledger, subscribers []*Subscriber) *Verdict {
	c := &checker{log: l, sent: make(map[string]*Sent)}
	for _, s := range ledger.All() {
		c.accepted(&s)
		c.sent[s.Event.ID] = &s
		if position, _ := l.Position(s.Event.ID); position != 0 {
			c.order = append(c.order, placed{position, &s})
		}
	}
	slices.SortFunc(c.order, func(a, b placed) int { return int(a.position - b.position) })
	for _, s := range subscribers {
		for _, session := range s.Sessions {
			c.session(session)
		}
	}
	return &c.verdict
}

// checker is a Check that runs.
type checker struct {
	log     *Log
	sent    map[string]*Sent // id -> what was sent
	order   []placed         // what was sent and is in the log, by position
	verdict Verdict
}

type placed struct {
	position int64
	sent     *Sent
}

func (c *checker) fault(format string, args ...any) {
	const most = 50
	if len(c.verdict.Violations) < most {
		c.verdict.Violations = append(c.verdict.Violations, fmt.Sprintf(format, args...))
	}
}

// accepted says whether an event is in the log: once if it was accepted, at most once
// if nobody knows.
func (c *checker) accepted(s *Sent) {
	_, rows := c.log.Position(s.Event.ID)
	if !s.Accepted.IsZero() {
		c.verdict.Accepted++
		if rows == 0 {
			c.fault("lost: %s was accepted by replica %d at %s and is not in the log", s.Event.ID, s.Replica, s.Accepted)
		}
	}
	if rows > 1 {
		c.fault("twice: %s has %d rows in the log", s.Event.ID, rows)
	}
}

// session judges one session.
func (c *checker) session(s *Session) {
	c.verdict.Sessions++
	if s.Cut != "" && !s.Moves {
		c.verdict.Cut++
	}
	heard := make(map[string]bool, len(s.Heard))
	var last, lastLive, firstLive int64
	for i := range s.Heard {
		h := &s.Heard[i]
		position := c.heard(s, h)
		again := heard[h.Event.ID]
		if again {
			c.fault("twice: replica %d sent %s of position %d again (live: %t)", s.Replica, h.Event.ID, position, h.Live)
		}
		heard[h.Event.ID] = true
		last = max(last, position)
		if !h.Live || again || position == 0 {
			continue
		}
		if position <= lastLive {
			c.fault("order: replica %d sent position %d after %d", s.Replica, position, lastLive)
		}
		if firstLive == 0 {
			firstLive = position
		}
		lastLive = max(lastLive, position)
	}
	if !s.Live.IsZero() { // stored events are complete only with EOSE
		c.complete(s, heard, firstLive, last)
	}
}

// heard judges one frame and returns its position.
func (c *checker) heard(s *Session, h *Heard) int64 {
	c.verdict.Heard++
	position, _ := c.log.Position(h.Event.ID)
	sent := c.sent[h.Event.ID]
	switch {
	case position == 0:
		c.fault("unknown: replica %d sent %s, which is not in the log", s.Replica, h.Event.ID)
	case sent == nil:
		c.fault("unknown: replica %d sent %s, which nobody has published", s.Replica, h.Event.ID)
	case !s.Filter.Matches(h.Event):
		c.fault("stale: replica %d sent %s, which the filter does not match", s.Replica, h.Event.ID)
	case !h.Live && nostr.IsEphemeralKind(h.Event.Kind):
		c.fault("stored: replica %d sent %s of kind %d before EOSE", s.Replica, h.Event.ID, h.Event.Kind)
	case h.Live && sent.Replica != s.Replica:
		c.verdict.Elsewhere++
	}
	if h.Live {
		c.verdict.HeardLive++
	}
	return position
}

// complete looks for what a session has missed up to the last position that it heard.
func (c *checker) complete(s *Session, heard map[string]bool, firstLive, last int64) {
	for _, e := range c.order {
		if e.position > last {
			return
		}
		if heard[e.sent.Event.ID] || !s.Filter.Matches(e.sent.Event) {
			continue
		}
		// Nothing ephemeral is owed from before the subscription was live.
		owed := !nostr.IsEphemeralKind(e.sent.Event.Kind) || e.sent.First.After(s.Live) || firstLive != 0 && e.position > firstLive
		if owed {
			c.fault("missing: replica %d did not send %s of position %d, which replica %d accepted at %s; it was asked at %s, live from %s, heard up to %d, cut %q",
				s.Replica, e.sent.Event.ID, e.position, e.sent.Replica, e.sent.Accepted, s.Asked, s.Live, last, s.Cut)
		}
	}
}

// Crossings returns how long live events took from the OK on one replica to a subscriber
// of another, sorted, 0 for those that came before the OK.
func Crossings(ledger *Ledger, subscribers []*Subscriber) (latencies []time.Duration) {
	sent := make(map[string]Sent)
	for _, s := range ledger.All() {
		sent[s.Event.ID] = s
	}
	for _, s := range subscribers {
		for _, session := range s.Sessions {
			for _, h := range session.Heard {
				if from := sent[h.Event.ID]; h.Live && from.Replica != session.Replica && !from.Accepted.IsZero() {
					latencies = append(latencies, max(0, h.At.Sub(from.Accepted)))
				}
			}
		}
	}
	slices.Sort(latencies)
	return latencies
}
