package access

import (
	"slices"
	"sync"

	"fencepost/lifecycle"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// maxShapes bounds the events that a tally remembers.
const maxShapes = 4096

// tally is what the answers to one query rest on, so that it is known afterwards
// whether they still stand: what holds for every reader, what the reader is on this
// relay, and what it is in the groups of the events that were shown. What others
// lose meanwhile does not count, nor do requests to vanish: anybody can publish
// those, and leave groups, as often as they like, and no COUNT would ever end.
type tally struct {
	// Set at construction, never changed.
	p       *Policy
	keys    []string
	common  uint64 // see Policy.common
	version uint64
	readsAt bool // whether the reader might read
	holds   int  // how many of keys are not banned

	mu sync.Mutex // guards the fields below; held for computing only
	// +checklocks:mu
	shown map[shape]*wire.Event // one of each
	// +checklocks:mu
	full bool
}

// shape is what a group looks at: of two events with the same shape it shows both to
// a reader or none.
type shape struct {
	group *lifecycle.Scope
	kind  int
	self  bool // by the relay
	own   bool // by the reader
	id    string
}

func (p *Policy) newTally(keys []string) *tally {
	return &tally{
		p: p, keys: keys, common: p.common.Load(), version: p.Version(),
		readsAt: p.reads(keys), holds: len(p.unbanned(keys)), shown: map[shape]*wire.Event{},
	}
}

// add takes in that ev, which rests on these scopes of groups, was shown.
func (t *tally) add(ev *wire.Event, scopes []*lifecycle.Scope) {
	s := shape{group: scopes[0], kind: ev.Kind, self: ev.PubKey == t.p.self, own: slices.Contains(t.keys, ev.PubKey)}
	_, private := ev.Tag("private")
	_, hidden := ev.Tag("hidden")
	if private || hidden || len(scopes) > 1 {
		s.id = ev.ID
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch _, there := t.shown[s]; {
	case there:
	case len(t.shown) < maxShapes:
		t.shown[s] = ev
	default:
		t.full = true
	}
}

// check returns store.ErrMoved when something that was shown might not be now. The
// state is read before the counters that say whether it has changed, whoever changes
// it moves them afterwards: a change that it overlooks came after the check.
func (t *tally) check() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.p
	held := p.unbanned(t.keys)
	stands := p.reads(t.keys) == t.readsAt && len(held) == t.holds
	for _, ev := range t.shown {
		_, may := p.groups.Sight(ev)
		stands = stands && (may == nil || may(held))
	}
	if !stands || p.common.Load() != t.common || t.full && p.Version() != t.version {
		return store.ErrMoved
	}
	return nil
}

// isCommon reports whether rows of type t take something from every reader. They are
// the operator's.
func isCommon(t control.Type) bool {
	return t == control.KindsAllowed || t == control.KindsDisallowed || t == control.EventBanned
}
