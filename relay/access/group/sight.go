package group

import (
	"slices"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

// Sight says who may see a stored or live event, as far as groups go: may answers
// for the holder of keys, from the state as it is then, and scopes are what its
// answers rest on. Both are nil for an event that groups have nothing to do with.
// The caller makes the grant of scopes first and asks may second. May locks for
// reading, blocks never and allocates nothing.
func (b *Book) Sight(ev *wire.Event) (scopes []*lifecycle.Scope, may func(keys []string) bool) {
	relayMade := isState(ev.Kind) && ev.PubKey == b.opt.Self
	var ids []string
	if !relayMade {
		ids = named(ev)
	} else if d := ev.D(); validID(d) {
		ids = []string{d}
	}
	switch len(ids) {
	case 0:
		return nil, nil
	case 1:
		if g := b.find(ids[0]); g != nil {
			return []*lifecycle.Scope{g.scope}, func(keys []string) bool { return g.shows(ev, relayMade, keys) }
		}
	}
	for _, id := range ids {
		if g := b.find(id); g != nil {
			scopes = append(scopes, g.scope)
		}
	}
	if len(scopes) < len(ids) {
		// Some are no groups yet. What they turn into moves this one.
		scopes = append(scopes, b.strangers)
	}
	return scopes, func(keys []string) bool {
		for _, id := range ids {
			if g := b.find(id); g == nil && !b.announces(ev, keys) || g != nil && !g.shows(ev, relayMade, keys) {
				return false
			}
		}
		return true
	}
}

// announces says who may see an event of a group that there is not: everybody,
// unless it is the request for a group that will be hidden, whose row stands behind
// it in the log.
func (b *Book) announces(ev *wire.Event, keys []string) bool {
	switch {
	case ev.PubKey == b.opt.Self && (isState(ev.Kind) || isRequest(ev.Kind)):
		return false // it stands behind the row that makes the group
	case ev.Kind == kindCreateGroup:
		return !hides(ev) || slices.Contains(keys, ev.PubKey)
	default:
		return true
	}
}
