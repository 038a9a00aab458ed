package trace

import (
	"bytes"
	"fmt"
	"slices"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// feed is what one CHANGES was answered with.
type feed struct {
	message *wire.ChangesMessage // nil for one that must be refused

	last  store.Position // of the last change
	end   store.Position // of EOSE
	over  bool           // EOSE was the last, but for an ERR
	loose bool           // a frame may have been another generation's: what is missing cannot be told
}

func newFeed(m *wire.ChangesMessage) *generation {
	g := newGeneration(nil)
	g.feed = &feed{message: m}
	if m != nil {
		g.feed.last = store.Position(m.Since.Position)
	}
	return g
}

// asksFor reports whether the feed's filter matches e.
func (f *feed) asksFor(e *wire.Event) bool {
	return f.message != nil && wire.MatchesAny([]*wire.Filter{f.message.Filter}, e)
}

// changesLocked judges a frame of a feed.
func (t *Trace) changesLocked(m wire.RelayMessage) {
	s := t.subs[m.Sub]
	if s == nil {
		t.violateLocked(NeverOpened, m.Sub, "CHANGES "+m.Change)
		return
	}
	if s.next != nil && s.next.feed != nil {
		if g := s.current; g != nil && g.feed != nil && g.open() { // either's
			g.feed.loose, s.next.feed.loose = true, true
			return
		}
		s.begin()
	}
	g := s.current
	switch {
	case g == nil:
		t.violateLocked(NeverOpened, s.id, "CHANGES "+m.Change)
	case g.feed == nil:
		t.violateLocked(Stale, s.id, "CHANGES "+m.Change)
	case g.closed:
		t.violateLocked(AfterClosed, s.id, "CHANGES "+m.Change)
	case g.released:
		t.violateLocked(AfterClose, s.id, "CHANGES "+m.Change)
	default:
		t.changeLocked(s, g, m)
	}
}

func (t *Trace) changeLocked(s *sub, g *generation, m wire.RelayMessage) {
	f := g.feed
	switch {
	case m.Change == "ERR":
		g.closed = true
	case f.over:
		t.violateLocked(AfterClosed, s.id, "CHANGES "+m.Change)
	case m.Change == "EOSE":
		t.feedEndLocked(s, g, m)
	case m.Change == "EVENT":
		if t.nextLocked(s.id, f, m) {
			t.feedEventLocked(s.id, g, m)
		}
	case m.Change == "REMOVED":
		if t.nextLocked(s.id, f, m) {
			t.feedRemovedLocked(s.id, f, m)
		}
	}
}

// nextLocked checks that positions rise.
func (t *Trace) nextLocked(id string, f *feed, m wire.RelayMessage) bool {
	at := store.Position(m.Position)
	if at <= f.last && !f.loose {
		t.violateLocked(FeedOrder, id, fmt.Sprintf("%d after %d", at, f.last))
		return false
	}
	f.last = max(f.last, at)
	return true
}

func (t *Trace) feedEventLocked(id string, g *generation, m wire.RelayMessage) {
	if !g.feed.asksFor(m.Event) {
		t.violateLocked(NotMatching, id, m.Event.ID)
	}
	g.seen[m.Event.ID]++
	if !t.options.Commits {
		return
	}
	at := store.Position(m.Position)
	if !slices.ContainsFunc(t.ledger.of(m.Event.ID), func(c *commit) bool {
		return c.position == at && bytes.Equal(c.event.Raw(), m.Event.Raw())
	}) {
		t.violateLocked(Altered, id, fmt.Sprintf("%s is not what stands at %d", m.Event.ID, at))
	}
}

func (t *Trace) feedRemovedLocked(id string, f *feed, m wire.RelayMessage) {
	if f.message == nil || !f.message.Removed {
		t.violateLocked(NotMatching, id, "removal of "+m.ID)
	}
	commits := t.ledger.of(m.ID)
	if t.options.Commits && (len(commits) == 0 || !f.asksFor(commits[0].event)) {
		t.violateLocked(NotMatching, id, "removal of "+m.ID)
	}
}

func (t *Trace) feedEndLocked(s *sub, g *generation, m wire.RelayMessage) {
	f := g.feed
	if g.eosed {
		t.violateLocked(SecondEOSE, s.id, "")
		return
	}
	g.eosed, f.end = true, store.Position(m.Position)
	if f.end < f.last && !f.loose {
		t.violateLocked(FeedOrder, s.id, fmt.Sprintf("EOSE at %d after %d", f.end, f.last))
	}
	f.last = max(f.last, f.end)
	live := f.message != nil && f.message.Live
	f.over, g.closed = m.More || !live, !live
}

// feedSettledLocked finds what a feed has left out: below the last position that it
// told, whatever became of it afterwards, and up to the end of the log when it is
// live.
func (t *Trace) feedSettledLocked(s *sub, g *generation, excused map[*commit]bool) {
	f := g.feed
	isCurrent := g == s.current && g.open() && s.next == nil && !s.releasing
	if isCurrent && !g.eosed && !f.loose {
		t.violateLocked(MissingAnswer, s.id, "EOSE or ERR")
	}
	if f.message == nil || f.loose {
		return
	}
	for _, c := range t.ledger.commits {
		_, expires := c.event.Expires()
		switch {
		case c.position <= store.Position(f.message.Since.Position), c.gone, expires, excused[c], !f.asksFor(c.event):
		case c.event.Class() == wire.Ephemeral:
		case c.position > f.last && (!isCurrent || f.over):
		case g.seen[c.event.ID] == 0:
			t.violateLocked(MissingEvent, s.id, fmt.Sprintf("%s at %d", c.event.ID, c.position))
		}
	}
}
