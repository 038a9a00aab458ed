package access

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

var (
	reasonAuthRead = wire.Because(wire.AuthRequired, "this relay answers authenticated clients only")
	reasonPrivate  = wire.Because(wire.AuthRequired, "these kinds are served to their author and their recipients only")
)

// isPrivate reports whether events of kind are for their author and p recipients
// only: NIP-04 and NIP-59 messages.
func isPrivate(kind int) bool { return kind == 4 || kind == 14 || kind == 1059 || kind == 21059 }

// MayRead says whether the holder of keys may ask for what filters select. It
// refuses only when every filter is closed to them; what is closed of the others is
// left out event by event (Visible, Sight). While the permissions cannot be trusted it
// refuses whatever strangers may not ask for; see Trust. A refusal is a wire.Reason. It
// does not block.
func (p *Policy) MayRead(keys []string, filters []*wire.Filter) error {
	err := p.mayRead(keys, filters, p.groups.MayRead)
	if err == nil && !p.isFresh() && p.isSecret(filters) {
		return reasonStale
	}
	return err
}

// Lost says whether standing filters have lost all that they ask for, after a
// change in that group, "" for none. It refuses whatever MayRead refuses, but for want
// of trust.
func (p *Policy) Lost(group string, keys []string, filters []*wire.Filter) error {
	return p.mayRead(keys, filters, func(keys []string, filters []*wire.Filter) error {
		return p.groups.LostIn(group, keys, filters)
	})
}

// lost is Lost after a change: of one group, or of a key that was a member of several
// hidden ones.
func (p *Policy) lost(c *Change, keys []string, filters []*wire.Filter) error {
	if len(c.Hidden) == 0 {
		return p.Lost(c.Group, keys, filters)
	}
	return p.mayRead(keys, filters, func(keys []string, one []*wire.Filter) error {
		return p.lostIn(c.Hidden, keys, one[0])
	})
}

// lostIn refuses a filter of which each group is closed, those of hidden included.
func (p *Policy) lostIn(hidden, keys []string, f *wire.Filter) (refusal error) {
	for _, name := range []string{"h", "d"} {
		refusal = nil
		for _, id := range f.Tags[name] {
			told := ""
			if slices.Contains(hidden, id) {
				told = id
			}
			one := wire.NewFilter(nostr.Filter{Kinds: f.Kinds, Tags: nostr.TagMap{name: {id}}})
			if refusal = p.groups.LostIn(told, keys, []*wire.Filter{one}); refusal == nil {
				break // it has something to show
			}
		}
		if refusal != nil {
			return refusal
		}
	}
	return nil
}

func (p *Policy) mayRead(keys []string, filters []*wire.Filter, group func([]string, []*wire.Filter) error) error {
	if err := p.mayReadAtAll(keys); err != nil {
		return err
	}
	if p.anyOpen(keys, filters) {
		return nil
	}
	var refusal error
	for i := range filters {
		err := p.closedFilter(keys, filters[i])
		if err == nil {
			err = group(p.unbanned(keys), filters[i:i+1])
		}
		if err == nil {
			return nil
		}
		if refusal == nil || !isAuthRequired(refusal) && isAuthRequired(err) {
			refusal = err // what the client can do something about comes first
		}
	}
	return refusal
}

// anyOpen reports whether one of filters is open by what it asks for, and names no
// group: what every other one asks for does not matter then.
func (p *Policy) anyOpen(keys []string, filters []*wire.Filter) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.ContainsFunc(filters, func(f *wire.Filter) bool {
		return !f.Asks("h") && !f.Asks("d") && p.closedFilterLocked(keys, f) == nil
	})
}

func isAuthRequired(err error) bool {
	var r wire.Reason
	return errors.As(err, &r) && r.Prefix == wire.AuthRequired
}

// mayReadAtAll applies the rules that hold for everything.
func (p *Policy) mayReadAtAll(keys []string) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if !p.authenticatedLocked(keys) {
		return reasonAuthRead
	}
	if !p.admittedLocked(keys) {
		return authOr(keys, "this relay serves its members only")
	}
	return nil
}

// reads reports whether the holder of keys may read anything. It allocates
// nothing.
func (p *Policy) reads(keys []string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.authenticatedLocked(keys) && p.admittedLocked(keys)
}

// authenticatedLocked applies Rules.Require; a banned key is none.
func (p *Policy) authenticatedLocked(keys []string) bool {
	return p.rules.Require != RequireAll ||
		slices.ContainsFunc(keys, func(key string) bool { return !p.isBannedLocked(key) })
}

// admittedLocked applies Rules.Members.
func (p *Policy) admittedLocked(keys []string) bool {
	return p.rules.Members != MembersAll || slices.ContainsFunc(keys, p.isMemberLocked)
}

// closedFilter refuses a filter that can match nothing but what is closed to the
// holder of keys by the kinds alone. A filter without kinds is never refused here.
func (p *Policy) closedFilter(keys []string, f *wire.Filter) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.closedFilterLocked(keys, f)
}

func (p *Policy) closedFilterLocked(keys []string, f *wire.Filter) error {
	if len(f.Kinds) == 0 {
		return nil
	}
	private := false
	for _, kind := range f.Kinds {
		switch {
		case !p.state.takes(kind) && !isOfRelay(kind):
		case isPrivate(kind):
			private = true
		default:
			return nil
		}
	}
	if private {
		if len(keys) > 0 {
			return nil // narrowed to what is theirs
		}
		return reasonPrivate
	}
	return wire.Because(wire.Restricted, fmt.Sprintf("kind %d is not served", f.Kinds[0]))
}

// unbanned returns keys without those that are banned, and keys itself when none
// is.
func (p *Policy) unbanned(keys []string) []string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if len(p.state.banned) == 0 || !slices.ContainsFunc(keys, p.isBannedLocked) {
		return keys
	}
	return slices.DeleteFunc(slices.Clone(keys), p.isBannedLocked)
}
