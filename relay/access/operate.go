package access

import (
	"cmp"
	"maps"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// What the operator does (NIP-86) is a write of control rows like any other, which
// the methods return. A write without Controls says that it is so already. A refusal
// is a wire.Reason.
//
// The rows of keys say all that they do, whatever was before, so these writes have no
// terms: whoever moves the scope of a key, which every key can for itself, would
// keep the operator from banning it. That somebody joined meanwhile is at worst not
// told of (8000, 8001). Those of kinds rest on the relay, which only the operator
// moves: whoever commits one asks again after ErrMoved.

// Listed is an entry of a list that keeps reasons.
type Listed struct {
	Value  string // a key, an id or a network
	Reason string
}

// BanKey ends every connection of key, refuses it from now on, and takes it off the
// members.
func (p *Policy) BanKey(key, reason string) (store.Write, error) {
	if err := checkKey(key); err != nil {
		return store.Write{}, err
	}
	if key == p.self || p.isOperator(key) {
		return store.Write{}, wire.Because(wire.Invalid, "neither the relay nor its operator can be banned")
	}
	if known, banned := p.banReason(key); banned && known == reason {
		return store.Write{}, nil
	}
	return p.removeMember(control.Row{Type: control.KeyBanned, Key: key, Reason: reason})
}

// UnbanKey takes a ban back. The key is no member by that.
func (p *Policy) UnbanKey(key string) (store.Write, error) {
	if _, banned := p.banReason(key); !banned {
		return store.Write{}, nil
	}
	return with(store.Write{}, control.Row{Type: control.KeyUnbanned, Key: key})
}

// BannedKeys returns the banned keys in order.
func (p *Policy) BannedKeys() []Listed {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return listed(p.state.banned)
}

// AllowKey makes key a member, and takes its ban off.
func (p *Policy) AllowKey(key string) (store.Write, error) {
	if err := checkKey(key); err != nil {
		return store.Write{}, err
	}
	if p.hasMember(key) {
		return store.Write{}, nil
	}
	return p.putMember(control.Row{Type: control.MemberPut, Key: key})
}

// UnallowKey ends the membership of key. It is not banned by that.
func (p *Policy) UnallowKey(key string) (store.Write, error) {
	if !p.hasMember(key) {
		return store.Write{}, nil
	}
	return p.removeMember(control.Row{Type: control.MemberRemoved, Key: key})
}

// AllowedKeys returns the members in order.
func (p *Policy) AllowedKeys() []string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Sorted(maps.Keys(p.state.members))
}

// BanEvent removes the event with that id and refuses it from now on.
func (p *Policy) BanEvent(id, reason string) (store.Write, error) {
	if !nostr.IsValid32ByteHex(id) {
		return store.Write{}, wire.Because(wire.Invalid, "an id is 64 characters of lower-case hex")
	}
	if known, banned := p.banOf(id); banned && known == reason {
		return store.Write{}, nil
	}
	return with(store.Write{Ban: []string{id}}, control.Row{Type: control.EventBanned, ID: id, Reason: reason})
}

// UnbanEvent takes that back. It does not bring the event back.
func (p *Policy) UnbanEvent(id string) (store.Write, error) {
	if _, banned := p.banOf(id); !banned {
		return store.Write{}, nil
	}
	return with(store.Write{Unban: []string{id}}, control.Row{Type: control.EventUnbanned, ID: id})
}

// BannedEvents returns the banned ids in order.
func (p *Policy) BannedEvents() []Listed {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return listed(p.state.events)
}

func (p *Policy) banReason(key string) (reason string, banned bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	reason, banned = p.state.banned[key]
	return reason, banned
}

func (p *Policy) banOf(id string) (reason string, banned bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	reason, banned = p.state.events[id]
	return reason, banned
}

func checkKey(key string) error {
	if !nostr.IsValid32ByteHex(key) {
		return wire.Because(wire.Invalid, "a public key is 64 characters of lower-case hex")
	}
	return nil
}

// listed returns m by its keys, in order.
func listed(m map[string]string) []Listed {
	list := make([]Listed, 0, len(m))
	for value, reason := range m {
		list = append(list, Listed{Value: value, Reason: reason})
	}
	slices.SortFunc(list, func(a, b Listed) int { return cmp.Compare(a.Value, b.Value) })
	return list
}
