package access

import (
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// allRelays is what a request to vanish names to mean every relay (NIP-62).
const allRelays = "ALL_RELAYS"

// vanishesHere reports whether ev is a request to vanish from this relay.
func (p *Policy) vanishesHere(ev *wire.Event) bool {
	if ev.Kind != kindVanish {
		return false
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, t := range ev.Tags {
		if len(t) > 1 && t[0] == "relay" && (t[1] == allRelays || p.rules.isOurs(t[1])) {
			return true
		}
	}
	return false
}

// refuseUnclear refuses a request to vanish from a single relay when this relay
// does not know what it is called: an OK would be a lie.
func (p *Policy) refuseUnclear(ev *wire.Event) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if ev.Kind == kindVanish && len(p.rules.URLs) == 0 {
		return wire.Because(wire.Unsupported, "this relay does not know its URL; name "+allRelays)
	}
	return nil
}

// planVanish obeys a request to vanish: what the author published is erased, and
// what is not stored any more stays refused. The membership ends with it, because
// the list of members names the key. Whatever else was decided about the author
// does not count, so the terms are only what the list rests on.
func (p *Policy) planVanish(ev *wire.Event) (store.Write, error) {
	if ev.CreatedAt <= 0 {
		return store.Write{}, wire.Because(wire.Invalid, "created_at says up to when to vanish")
	}
	terms := p.termsOf(ScopeMembers)
	w, err := p.removeMember(control.Row{Type: control.KeyVanished, Key: ev.PubKey, Until: int64(ev.CreatedAt)})
	w.Event, w.Terms = ev, terms
	w.Erase = &store.Erasure{Author: ev.PubKey, Until: int64(ev.CreatedAt), Cause: store.CauseVanished}
	return w, err
}
