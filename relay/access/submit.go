package access

import (
	"fmt"
	"slices"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Kinds that have rules of their own.
const (
	kindVanish = store.KindVanish // NIP-62

	kindDeleteEvent = 9005 // a moderator's request (NIP-29)
	kindPin         = 9010 // another

	kindAdded   = 8000  // a member was added (NIP-43)
	kindRemoved = 8001  // a member was removed
	kindList    = 13534 // the list of members
	kindJoin    = 28934 // a request to become a member
	kindInvite  = 28935 // an invite code of the relay, which this one does not give
	kindLeave   = 28936 // a request to stop being one
)

// MaySubmit refuses what the holder of keys cannot publish, from what ev claims:
// it is asked before the signature is checked. A refusal is a wire.Reason:
// auth-required when a key would help, restricted when the keys did not. It does
// not block.
func (p *Policy) MaySubmit(keys []string, ev *wire.Event) error {
	if err := mayPass(keys, ev); err != nil {
		return err
	}
	if p.vanishesHere(ev) {
		return nil // NIP-62: whoever asks, and whatever they were allowed before
	}
	return p.mayPublish(keys, ev)
}

// mayPass applies NIP-70, from which nothing is exempt.
func mayPass(keys []string, ev *wire.Event) error {
	protected, err := ev.EmbedsProtected()
	if err != nil {
		return err
	}
	if protected { // a repost would publish it anyway
		return wire.Because(wire.Blocked, "a repost must not carry a protected event")
	}
	if ev.Protected() && !slices.Contains(keys, ev.PubKey) {
		return authOr(keys, "a protected event is accepted from its author only")
	}
	return nil
}

// mayPublish says whether the author may publish here, through the holder of keys.
// A member may bring what others wrote; the relay itself, as which its mirrors come, not.
func (p *Policy) mayPublish(keys []string, ev *wire.Event) error {
	if isGroupState(ev.Kind) && ev.PubKey != p.self && p.groups.Names(ev) {
		return ofRelay(ev.Kind)
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.rules.Require != RequireNeeded && len(keys) == 0 {
		return wire.Because(wire.AuthRequired, "this relay accepts events of authenticated clients only")
	}
	if isMembership(ev.Kind) && ev.PubKey != p.self && p.rules.Members != MembersNone {
		return ofRelay(ev.Kind)
	}
	if p.isBannedLocked(ev.PubKey) || slices.ContainsFunc(keys, p.isBannedLocked) {
		return whyBanned
	}
	if !p.state.takes(ev.Kind) && ev.PubKey != p.self {
		return wire.Because(wire.Blocked, fmt.Sprintf("this relay does not take kind %d", ev.Kind))
	}
	if p.rules.Members == MembersNone || ev.Kind == kindJoin || ev.Kind == kindLeave {
		return nil
	}
	vouches := func(key string) bool { return key != p.self && p.isMemberLocked(key) }
	if !p.isMemberLocked(ev.PubKey) && !slices.ContainsFunc(keys, vouches) {
		return authOr(keys, "only members of this relay may publish")
	}
	return nil
}

func ofRelay(kind int) wire.Reason {
	return wire.Because(wire.Restricted, fmt.Sprintf("kind %d is published by this relay only", kind))
}

// isOfRelay reports whether relays publish events of kind themselves. They are shown
// whatever the lists of kinds say.
func isOfRelay(kind int) bool { return isGroupState(kind) || isMembership(kind) }

// isGroupState reports whether kind is the relay's word about a group (NIP-29).
func isGroupState(kind int) bool { return kind >= 39000 && kind <= 39009 }

// isMembership reports whether kind is the relay's word about members (NIP-43).
func isMembership(kind int) bool {
	return kind == kindAdded || kind == kindRemoved || kind == kindList || kind == kindInvite
}

func (p *Policy) isBannedLocked(key string) bool {
	_, banned := p.state.banned[key]
	return banned
}

// isMemberLocked counts the operator, and the relay itself, among the members.
func (p *Policy) isMemberLocked(key string) bool {
	if _, member := p.state.members[key]; member {
		return true // and not banned: see state.fold
	}
	return key != "" && (key == p.rules.Operator || key == p.self) && !p.isBannedLocked(key)
}

// authOr refuses with auth-required when nobody has authenticated, and with
// restricted when that did not help.
func authOr(keys []string, text string) wire.Reason {
	if len(keys) == 0 {
		return wire.Because(wire.AuthRequired, text)
	}
	return wire.Because(wire.Restricted, text)
}

// MayAuthenticate refuses a key that is banned. It is asked after the key was
// added to the connection: a ban that is applied later finds it there.
func (p *Policy) MayAuthenticate(key string) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.isBannedLocked(key) {
		return whyBanned
	}
	return nil
}
