package access

import (
	"fmt"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// maxListed is how many members the relay's list names at most: NIP-43 does not
// demand that it is complete, and every reader of it gets all of it.
const maxListed = 5000

var (
	reasonMember    = wire.Because(wire.Duplicate, "you are already a member of this relay")
	reasonNoMember  = wire.Because(wire.Duplicate, "you are not a member of this relay")
	reasonNoClaim   = wire.Because(wire.Restricted, "an invite code is needed")
	reasonBadClaim  = wire.Because(wire.Restricted, "that is an invalid invite code")
	reasonLateClaim = wire.Because(wire.Restricted, "that invite code is expired")
	reasonUsedClaim = wire.Because(wire.Restricted, "that invite code has been used up")
)

// planJoin decides about a request to become a member (NIP-43). It is neither
// stored nor passed on: it carries an invite code.
func (p *Policy) planJoin(ev *wire.Event, terms []store.Term) (store.Write, error) {
	if err := p.checkRequest(ev); err != nil {
		return store.Write{}, err
	}
	if p.hasMember(ev.PubKey) {
		return store.Write{}, &Accepted{reasonMember}
	}
	code, _ := ev.Tag("claim")
	bounded, err := p.checkClaim(code)
	if err != nil {
		return store.Write{}, err
	}
	w, err := p.putMember(control.Row{Type: control.MemberPut, Key: ev.PubKey, Claim: code})
	if err != nil {
		return store.Write{}, err
	}
	w.Terms = terms
	if bounded {
		w.Controls[0].Scopes = append(w.Controls[0].Scopes, ScopeClaims)
	}
	return w, &Accepted{p.welcome()}
}

// planLeave decides about a request to stop being a member (NIP-43).
func (p *Policy) planLeave(ev *wire.Event, terms []store.Term) (store.Write, error) {
	if err := p.checkRequest(ev); err != nil {
		return store.Write{}, err
	}
	if !p.hasMember(ev.PubKey) {
		return store.Write{}, &Accepted{reasonNoMember}
	}
	w, err := p.removeMember(control.Row{Type: control.MemberRemoved, Key: ev.PubKey})
	w.Terms = terms
	return w, err
}

// checkRequest applies what both requests need.
func (p *Policy) checkRequest(ev *wire.Event) error {
	if !ev.Protected() { // NIP-43: somebody else could send it again
		return wire.Because(wire.Invalid, `the request needs the tag ["-"]`)
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if off := p.now().Sub(time.Unix(int64(ev.CreatedAt), 0)).Abs(); off > p.rules.MembershipWindow {
		return wire.Because(wire.Invalid, "created_at is too far from now")
	}
	return nil
}

// checkClaim says whether code admits somebody now, and whether its uses count.
func (p *Policy) checkClaim(code string) (bounded bool, err error) {
	if code == "" {
		return false, reasonNoClaim
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	c, there := p.state.claims[code]
	switch {
	case !there:
		return false, reasonBadClaim
	case c.expires != 0 && c.expires <= p.now().Unix():
		return false, reasonLateClaim
	case c.uses > 0 && c.used >= c.uses:
		return false, reasonUsedClaim
	default:
		return c.uses > 0, nil
	}
}

func (p *Policy) welcome() wire.Reason {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if len(p.rules.URLs) == 0 {
		return wire.Because(wire.Info, "welcome to this relay")
	}
	return wire.Because(wire.Info, fmt.Sprintf("welcome to %s", p.rules.URLs[0]))
}

func (p *Policy) hasMember(key string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	_, member := p.state.members[key]
	return member
}

// putMember returns a write without terms that makes row.Key a member, and tells.
func (p *Policy) putMember(row control.Row) (store.Write, error) {
	also, err := p.announce(kindAdded, row.Key)
	row.Stamp = stampOf(also)
	if err != nil {
		return store.Write{}, err
	}
	return with(store.Write{Also: also}, row, ScopeMembers)
}

// removeMember returns a write without terms that carries row, by which its key
// stops being a member, and tells. The scopes are the key and, when it was a
// member, the list.
func (p *Policy) removeMember(row control.Row) (store.Write, error) {
	if !p.hasMember(row.Key) {
		return with(store.Write{}, row, row.Key)
	}
	kind := kindRemoved
	if row.Type == control.KeyVanished {
		kind = 0 // it would name the key again
	}
	also, err := p.announce(kind, row.Key)
	row.Stamp = stampOf(also)
	if err != nil {
		return store.Write{}, err
	}
	return with(store.Write{Also: also}, row, row.Key, ScopeMembers)
}

// announce returns the relay's events about key: the one of that kind, unless it
// is 0, and the list of members as it is then (NIP-43). There are none on a relay
// without membership.
func (p *Policy) announce(kind int, key string) ([]*wire.Event, error) {
	list, ok := p.list(key, kind == kindAdded)
	if !ok {
		return nil, nil
	}
	events := []nostr.Event{list}
	if kind != 0 {
		events = []nostr.Event{{
			Kind: kind, CreatedAt: nostr.Timestamp(p.now().Unix()), Tags: nostr.Tags{{"-"}, {"p", key}},
		}, list}
	}
	signed := make([]*wire.Event, 0, len(events))
	for i := range events {
		if err := p.sign(&events[i]); err != nil {
			return nil, fmt.Errorf("sign kind %d: %w", events[i].Kind, err)
		}
		signed = append(signed, wire.NewEvent(events[i]))
	}
	return signed, nil
}

// list returns the list of members as it is once key is in or out; ok is false on
// a relay without membership. Its created_at is beyond that of the last one, which
// it would not replace otherwise.
func (p *Policy) list(key string, in bool) (ev nostr.Event, ok bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.rules.Members == MembersNone {
		return nostr.Event{}, false
	}
	keys := make([]string, 0, len(p.state.members)+1)
	for k := range p.state.members {
		if k != key {
			keys = append(keys, k)
		}
	}
	if in {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	tags := nostr.Tags{{"-"}}
	for _, k := range keys[:min(len(keys), maxListed)] {
		tags = append(tags, nostr.Tag{"member", k})
	}
	at := max(p.now().Unix(), p.state.stamp+1)
	return nostr.Event{Kind: kindList, CreatedAt: nostr.Timestamp(at), Tags: tags}, true
}

// stampOf returns created_at of the list, which comes last.
func stampOf(announced []*wire.Event) int64 {
	if len(announced) == 0 {
		return 0
	}
	return int64(announced[len(announced)-1].CreatedAt)
}
