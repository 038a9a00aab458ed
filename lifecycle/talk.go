package lifecycle

import "slices"

// Talk is one negotiation of a client with the relay (NIP-77), from the message that
// opens it to whichever end comes first: the client's, or the relay's NEG-ERR. It has no
// part in subscriptions. Its methods may be called from any goroutine.
//
// Its answers rest on permissions, as EVENT frames do: one that is queued while something
// moves that it rests on stays, is judged again outside the lock, and is taken if it
// stands. Otherwise the talk ends, and its NEG-ERR is taken instead (G4).
type Talk struct {
	// Set at construction, never changed.
	conn *Conn
	own  *Grant        // of a NEG-ERR, which rests on nothing
	over chan struct{} // closed when the talk is

	// Guarded by conn.mu.
	ended  bool
	left   bool // ended by the client
	rests  *Grant
	stands func() bool
}

// Talk returns a talk that has just begun, and whose answers rest on nothing.
func (c *Conn) Talk() *Talk {
	t := &Talk{conn: c, over: make(chan struct{}), stands: func() bool { return true }}
	t.own, t.rests = &Grant{talk: t}, &Grant{talk: t}
	return t
}

// Over returns a channel that is closed when the talk is over.
func (t *Talk) Over() <-chan struct{} { return t.over }

// RestOn says what all answers rest on that are queued from now on. stands is asked when
// g does not hold any more whether they may be shown all the same; it is called without
// the lifecycle lock.
func (t *Talk) RestOn(g *Grant, stands func() bool) {
	t.conn.mu.Lock()
	defer t.conn.mu.Unlock()
	t.rests, t.stands = &Grant{terms: g.terms, while: g.while, talk: t}, stands
}

// Answer queues text for a, with the NEG-ERR that may come in its place, unless the talk
// is over: then it gives the room back and returns false.
func (t *Talk) Answer(a Answer, text, instead []byte) bool {
	t.conn.mu.Lock()
	defer t.conn.mu.Unlock()
	both := append(text, instead...)
	return t.answerLocked(a, Frame{kind: kindTalk, grant: t.rests, text: both[:len(text):len(both)]})
}

// Fail ends the talk and queues text, the NEG-ERR, for a. As Answer it does nothing when
// the talk is over.
func (t *Talk) Fail(a Answer, text []byte) bool {
	t.conn.mu.Lock()
	defer t.conn.mu.Unlock()
	if !t.answerLocked(a, Frame{kind: kindTalk, grant: t.own, text: text}) {
		return false
	}
	t.endLocked()
	return true
}

func (t *Talk) answerLocked(a Answer, f Frame) bool {
	if t.ended {
		a.dropLocked()
		return false
	}
	a.sendLocked(f)
	return true
}

// Expire ends the talk and queues text, the NEG-ERR that nobody waits for, if there is
// room. It returns false when the talk is over.
func (t *Talk) Expire(text []byte) bool {
	c := t.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.ended {
		return false
	}
	t.endLocked()
	if c.state == open && c.queue.fits(1, len(text)) {
		c.queue.push(Frame{kind: kindTalk, grant: t.own, text: text})
		c.wakeLocked()
	}
	return true
}

// End ends the talk because the client has: nothing is queued for it any more, and what
// is queued is not written, a NEG-ERR included, which the client would take for one of
// its next talk. It returns false when the talk was over.
func (t *Talk) End() bool {
	t.conn.mu.Lock()
	defer t.conn.mu.Unlock()
	t.left = true
	if t.ended {
		return false
	}
	t.endLocked()
	return true
}

func (t *Talk) endLocked() {
	t.ended = true
	close(t.over)
}

// judge returns the question whether the answers stand.
func (t *Talk) judge() func() bool {
	t.conn.mu.Lock()
	defer t.conn.mu.Unlock()
	return t.stands
}

// wanted reports whether a frame of the talk, which has this grant, is to be written: an
// answer until the talk is over, a NEG-ERR until the client has ended it.
func (t *Talk) wanted(g *Grant) bool { // race: NEG-CLOSE against the answer to NEG-OPEN
	return !t.left && (g == t.own || !t.ended)
}

// undecided reports whether f is an answer that does not rest on what it did.
func (f Frame) undecided() bool { return f.kind == kindTalk && !f.grant.Holds() }

// settleLocked answers the question about a queued answer of the talk: it stands on what
// holds now, or the NEG-ERR behind its text takes its place.
func (t *Talk) settleLocked(q *question) {
	items := t.conn.queue.items[t.conn.queue.head:]
	at := slices.IndexFunc(items, func(f Frame) bool { return f.kind == kindTalk && f.grant == q.asked })
	if t.ended || at < 0 {
		return
	}
	f := &items[at]
	if q.allowed {
		t.rests, f.grant = q.grant, q.grant
		return
	}
	t.conn.queue.discount(*f)
	f.text, f.grant = f.text[len(f.text):cap(f.text)], t.own
	t.conn.queue.count(*f)
	t.endLocked()
}
