package trace

import (
	"slices"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// commit is one event in the log.
type commit struct {
	position store.Position
	event    *wire.Event
	line     int  // how long the transcript was
	gone     bool // replaced or deleted since: it may be missing
}

// ledger is what was committed, in position order.
type ledger struct {
	commits   []*commit
	byID      map[string][]*commit
	byAddress map[string]*commit
}

func newLedger() ledger {
	return ledger{byID: make(map[string][]*commit), byAddress: make(map[string]*commit)}
}

func (l *ledger) of(id string) []*commit { return l.byID[id] }

// position returns where the event stands: the first place above after, else
// the last. An ephemeral event may have been committed several times.
func (l *ledger) position(id string, after store.Position) (at store.Position, known bool) {
	for _, c := range l.byID[id] {
		at, known = c.position, true
		if at > after {
			break
		}
	}
	return at, known
}

func (l *ledger) add(c commit) {
	l.commits = append(l.commits, &c)
	l.byID[c.event.ID] = append(l.byID[c.event.ID], &c)
	if address := c.event.Address(); address != "" {
		if old := l.byAddress[address]; old != nil {
			old.gone = true
		}
		l.byAddress[address] = &c
	}
	if c.event.Kind == store.KindDeletion {
		for _, target := range store.Targets(c.event) {
			l.remove(c.event, target)
		}
	}
}

func (l *ledger) remove(request *wire.Event, target store.Target) {
	if target.ID == "" {
		c := l.byAddress[store.Address(target.Kind, request.PubKey, target.D)]
		if c != nil && c.event.CreatedAt <= request.CreatedAt {
			c.gone = true
		}
		return
	}
	for _, c := range l.byID[target.ID] {
		c.gone = c.gone || store.MayDelete(request, c.event)
	}
}

// required returns how often g must have had the event of c by now.
func (l *ledger) required(g *generation, c *commit) int {
	if _, expires := c.event.Expires(); c.gone || expires || !g.matches(c.event) {
		return 0
	}
	if c.event.Class() != wire.Ephemeral {
		if !g.complete() && c.line < g.eoseLine {
			return 0
		}
		return 1
	}
	later := slices.DeleteFunc(slices.Clone(l.byID[c.event.ID]), func(c *commit) bool {
		return c.line < g.eoseLine // it may have passed before the generation began
	})
	return len(later)
}
