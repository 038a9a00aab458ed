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
// the list of members names the key. It rests on nothing: whatever was decided about
// the author, it is obeyed. A request that is not newer than one that was obeyed has
// nothing to do, and is stored like any event.
func (p *Policy) planVanish(ev *wire.Event) (store.Write, error) {
	until := int64(ev.CreatedAt)
	if until <= 0 {
		return store.Write{}, wire.Because(wire.Invalid, "created_at says up to when to vanish")
	}
	if p.hasVanished(ev) {
		return store.Write{Event: ev}, nil
	}
	w, err := p.removeMember(control.Row{Type: control.KeyVanished, Key: ev.PubKey, Until: until})
	w.Event = ev
	w.Erase = &store.Erasure{Author: ev.PubKey, Until: until, Cause: store.CauseVanished}
	return w, err
}

// hasVanished reports whether the author of ev has vanished up to its created_at.
func (p *Policy) hasVanished(ev *wire.Event) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.vanishedByLocked(ev.PubKey, ev)
}
