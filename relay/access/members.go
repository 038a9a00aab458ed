package access

import (
	"fmt"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

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
	slot, err := p.checkClaim(code, ev.ID)
	if err != nil {
		return store.Write{}, err
	}
	w, err := p.putMember(control.Row{Type: control.MemberPut, Key: ev.PubKey, Claim: code})
	if err != nil {
		return store.Write{}, err
	}
	w.Terms = terms
	if slot != "" {
		w.Terms = append(w.Terms, store.Term{Scope: slot}) // nobody has taken it
		w.Controls[0].Scopes = append(w.Controls[0].Scopes, slot)
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

// checkClaim says whether code admits somebody now. slot is the scope of the use of
// it that the request with that id takes, "" when uses do not count.
func (p *Policy) checkClaim(code, id string) (slot string, err error) {
	if code == "" {
		return "", reasonNoClaim
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	c, there := p.state.claims[code]
	switch {
	case !there:
		return "", reasonBadClaim
	case c.expires != 0 && c.expires <= p.now().Unix():
		return "", reasonLateClaim
	case c.uses > 0 && c.used >= c.uses:
		return "", reasonUsedClaim
	case c.uses == 0:
		return "", nil
	default:
		return p.state.freeSlot(code, c, id)
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
	return p.announced(row, kindAdded)
}

// removeMember returns a write without terms that carries row, by which its key
// stops being a member, and tells when it is one.
func (p *Policy) removeMember(row control.Row) (store.Write, error) {
	if !p.hasMember(row.Key) || row.Type == control.KeyVanished { // an event would name the key again
		return with(store.Write{}, row, row.Key)
	}
	return p.announced(row, kindRemoved)
}

// announced returns a write of row with the relay's event of that kind about its
// key (NIP-43). There is none on a relay without membership. The list of members is
// not among what the write makes: a Scribe follows.
func (p *Policy) announced(row control.Row, kind int) (store.Write, error) {
	w, err := with(store.Write{}, row, row.Key)
	if err != nil || !p.lists() {
		return w, err
	}
	ev := nostr.Event{
		Kind: kind, CreatedAt: nostr.Timestamp(p.now().Unix()), Tags: nostr.Tags{{"-"}, {"p", row.Key}},
	}
	if err := p.sign(&ev); err != nil {
		return store.Write{}, fmt.Errorf("sign kind %d: %w", kind, err)
	}
	w.Also = []*wire.Event{wire.NewEvent(ev)}
	return w, nil
}

// lists reports whether the relay has members to tell of.
func (p *Policy) lists() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.rules.Members != MembersNone
}
