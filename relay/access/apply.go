package access

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// ErrRow is returned by Apply for a row that means nothing here.
var ErrRow = errors.New("control row cannot be applied")

// Change says whose subscriptions a control row may have ended, for a Cutter.
// The zero Change concerns nobody.
type Change struct {
	Keys     []string       // connections on which one of these has authenticated
	Networks []netip.Prefix // connections from there
	Everyone bool           // all connections
	Group    string         // the change is of this group's rules or members, "" for the relay's
	Hidden   []string       // hidden groups in which the key was a member that vanished

	Ban bool        // the connections concerned end
	Why wire.Reason // what they are told then
}

// nobody reports whether the change concerns nobody.
func (c *Change) nobody() bool { return !c.Everyone && len(c.Keys) == 0 && len(c.Networks) == 0 }

var (
	whyBanned  = wire.Because(wire.Blocked, "this key is banned here")
	whyBlocked = wire.Because(wire.Blocked, "this address is blocked here")
)

// Apply takes in a control row: the state changes, then the epochs of exactly the
// scopes that the row names, then Version, unless the row only widens.
// Rows come in position order, from one
// goroutine; one that was applied before does nothing. A row that cannot be read
// is an error and changes nothing: what lies behind it must not be served (O16).
func (p *Policy) Apply(e *store.Entry) (Change, error) {
	if e.Control == nil {
		return Change{}, fmt.Errorf("%w: row %d is none", ErrRow, e.Position)
	}
	if p.has(e.Position) {
		return Change{}, nil
	}
	row, err := control.Decode(e.Control.Data)
	if err != nil {
		return Change{}, fmt.Errorf("row %d: %w", e.Position, err)
	}
	c, err := p.groups.Apply(e.Position, row, e.Control.Scopes)
	if err != nil {
		return Change{}, fmt.Errorf("row %d: %w", e.Position, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.fold(&row)
	p.moveScopesLocked(e)
	if hides(row.Type) {
		p.local.Move(p.local.Epoch() + 1)
	}
	if isCommon(row.Type) {
		p.common.Add(1)
	}
	if c.Everyone || len(c.Keys) > 0 || takes(row.Type, e.Control.Scopes) {
		p.version.Add(1)
	}
	if isGroup(&row) {
		return Change{Keys: c.Keys, Everyone: c.Everyone, Group: c.Group}, nil
	}
	p.listChanged()
	change := changeOf(&row)
	change.Hidden = c.Hidden
	return change, nil
}

// takes reports whether a row with these scopes can take reading from somebody. Those
// of a key or of a claim are about writing.
func takes(t control.Type, scopes []string) bool {
	return hides(t) || slices.ContainsFunc(scopes, func(s string) bool { return s == ScopeRelay || isGroupScope(s) })
}

func isGroup(r *control.Row) bool { return strings.HasPrefix(string(r.Type), "group.") }

func (p *Policy) has(at store.Position) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return at <= p.state.applied
}

// moveScopesLocked moves the scopes that e names and that are no group's.
func (p *Policy) moveScopesLocked(e *store.Entry) {
	p.state.applied = e.Position
	for _, scope := range e.Control.Scopes {
		if isGroupScope(scope) {
			continue
		}
		p.state.epochs[scope] = e.Position
		p.state.take(scope)
		if scope == ScopeRelay {
			p.relay.Move(e.Position)
		}
	}
}

func isGroupScope(scope string) bool { return strings.HasPrefix(scope, "g:") }

// hides reports whether rows of type t can hide from somebody what grants without
// the scope of that row allow.
func hides(t control.Type) bool {
	switch t {
	case control.KeyBanned, control.KeyVanished, control.MemberRemoved,
		control.KindsAllowed, control.KindsDisallowed, control.EventBanned:
		return true
	default:
		return false
	}
}

// changeOf says who has lost something by a row that is not of a group.
func changeOf(r *control.Row) Change {
	switch r.Type {
	case control.KeyBanned:
		return Change{Keys: []string{r.Key}, Ban: true, Why: whyBanned}
	case control.KeyVanished, control.MemberRemoved:
		return Change{Keys: []string{r.Key}}
	case control.KindsAllowed, control.KindsDisallowed:
		return Change{Everyone: true}
	case control.AddressBlocked:
		return Change{Networks: []netip.Prefix{network(r.Address)}, Ban: true, Why: whyBlocked}
	default:
		return Change{}
	}
}
