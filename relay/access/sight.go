package access

import (
	"context"
	"slices"

	"fencepost/lifecycle"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Sight says who may see ev. Several rules can hold for one event: the reader
// must pass them all. It does not block, and allocates nothing for an event that is
// no secret.
func (p *Policy) Sight(ev *wire.Event) lifecycle.Sight {
	scopes, inGroup := p.groups.Sight(ev)
	return p.sight(ev, false, scopes, inGroup)
}

// SightOfRemoved says who may learn that ev is gone, of which the header is left:
// who might see it if it were still there. That it was banned by its id or that its
// author has vanished is why it is gone, and hides nothing. Of a deleted group nobody
// learns anything. Otherwise it is Sight.
func (p *Policy) SightOfRemoved(ev *wire.Event) lifecycle.Sight {
	scopes, inGroup := p.groups.Sight(ev)
	return p.sight(ev, true, scopes, inGroup)
}

// sight is Sight or SightOfRemoved with what Groups.Sight has returned.
func (p *Policy) sight(ev *wire.Event, removed bool, scopes []*lifecycle.Scope, inGroup func([]string) bool) lifecycle.Sight {
	grant := p.grant() // before any state is read: see lifecycle.NewGrant
	if len(scopes) > 0 {
		grant = lifecycle.NewGrant(append(slices.Clip(scopes), p.relay, p.local)...)
	}
	hidden, may := p.judge(ev, removed)
	if hidden {
		return lifecycle.Sight{Grant: grant, May: nobody}
	}
	if inGroup != nil {
		may = both(may, func(keys []string) bool { return inGroup(p.unbanned(keys)) })
	}
	if isPrivate(ev.Kind) {
		may = both(may, func(keys []string) bool { return isParty(p.unbanned(keys), ev) })
	}
	s := lifecycle.Sight{Grant: grant, May: may}
	if p.outside != nil {
		s.Ask = func(ctx context.Context, keys []string) (bool, error) {
			return p.outside.MaySee(ctx, p.unbanned(keys), ev)
		}
	}
	return p.vouched(s)
}

// judge says whether nobody may see ev, and otherwise who must be asked about by
// the rules of the relay, nil for everybody.
func (p *Policy) judge(ev *wire.Event, removed bool) (hidden bool, reader func(keys []string) bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if removed && p.isUnservedLocked(ev) || !removed && p.isHiddenLocked(ev) {
		return true, nil
	}
	if p.rules.Members == MembersAll || p.rules.Require == RequireAll {
		return false, p.reader
	}
	return false, nil
}

// isHiddenLocked reports whether nobody may see ev.
func (p *Policy) isHiddenLocked(ev *wire.Event) bool {
	if len(p.state.events) > 0 {
		if _, banned := p.state.events[ev.ID]; banned {
			return true
		}
	}
	if p.isUnservedLocked(ev) {
		return true
	}
	return len(p.state.vanished) > 0 && p.hasVanishedLocked(ev)
}

// isUnservedLocked reports whether events of ev's kind are not served. The kind comes
// first: nearly always it decides, and the key is elsewhere in memory.
func (p *Policy) isUnservedLocked(ev *wire.Event) bool {
	return !p.state.takes(ev.Kind) && ev.PubKey != p.self
}

// hasVanishedLocked reports whether ev is erased or about to be by a request to
// vanish: what store.Erasure selects.
func (p *Policy) hasVanishedLocked(ev *wire.Event) bool {
	if ev.Kind == kindVanish {
		return false
	}
	if p.vanishedByLocked(ev.PubKey, ev) {
		return true
	}
	if ev.Kind != store.KindGiftWrap {
		return false
	}
	for _, t := range ev.Tags {
		if len(t) > 1 && t[0] == "p" && p.vanishedByLocked(t[1], ev) {
			return true
		}
	}
	return false
}

func (p *Policy) vanishedByLocked(key string, ev *wire.Event) bool {
	until, vanished := p.state.vanished[key]
	return vanished && int64(ev.CreatedAt) <= until
}

func nobody([]string) bool { return false }

// both returns the rule that holds when a and b do; a may be nil.
func both(a, b func(keys []string) bool) func(keys []string) bool {
	if a == nil {
		return b
	}
	return func(keys []string) bool { return a(keys) && b(keys) }
}

// isParty reports whether one of keys is the author of ev or named by a p tag.
func isParty(keys []string, ev *wire.Event) bool {
	if len(keys) == 0 {
		return false
	}
	if slices.Contains(keys, ev.PubKey) {
		return true
	}
	for _, t := range ev.Tags {
		if len(t) > 1 && t[0] == "p" && slices.Contains(keys, t[1]) {
			return true
		}
	}
	return false
}
