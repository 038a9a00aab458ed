package access

import (
	"fmt"
	"slices"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// There are two lists of kinds. What is on the second is not taken, and when there
// is something on the first, nothing else is taken. The rows name the relay: every
// decision rests on them.

// AllowKind takes kind off the list of those that are not taken, which undoes
// DisallowKind. When it was not there, or when the relay takes listed kinds only,
// kind is put on the list of those.
func (p *Policy) AllowKind(kind int) (store.Write, error) {
	w := store.Write{Terms: p.termsOf(ScopeRelay)}
	allowed, denied, listing := p.kindIsOn(kind)
	switch {
	case denied && (allowed || !listing):
		return withKind(w, kind, undeny)
	case denied:
		return withKind(w, kind, undeny, allow)
	case !allowed:
		return withKind(w, kind, allow)
	default:
		return store.Write{}, nil
	}
}

// DisallowKind withdraws kind: it is neither taken nor shown from now on.
func (p *Policy) DisallowKind(kind int) (store.Write, error) {
	w := store.Write{Terms: p.termsOf(ScopeRelay)}
	if _, denied, _ := p.kindIsOn(kind); denied {
		return store.Write{}, nil
	}
	return withKind(w, kind, deny)
}

// UnlistKind takes kind off both lists.
func (p *Policy) UnlistKind(kind int) (store.Write, error) {
	w := store.Write{Terms: p.termsOf(ScopeRelay)}
	allowed, denied, _ := p.kindIsOn(kind)
	switch {
	case allowed && denied:
		return withKind(w, kind, undeny, unallow)
	case allowed:
		return withKind(w, kind, unallow)
	case denied:
		return withKind(w, kind, undeny)
	default:
		return store.Write{}, nil
	}
}

// listing is a change of one of the lists.
type listing struct {
	of   control.Type
	undo bool
}

var (
	allow   = listing{control.KindsAllowed, false}
	unallow = listing{control.KindsAllowed, true}
	deny    = listing{control.KindsDisallowed, false}
	undeny  = listing{control.KindsDisallowed, true}
)

// withKind adds a row for each change.
func withKind(w store.Write, kind int, changes ...listing) (store.Write, error) {
	if kind < 0 || kind > 65535 {
		return store.Write{}, wire.Because(wire.Invalid, fmt.Sprintf("%d is no kind", kind))
	}
	for _, c := range changes {
		var err error
		if w, err = with(w, control.Row{Type: c.of, Kinds: []int{kind}, Undo: c.undo}, ScopeRelay); err != nil {
			return store.Write{}, err
		}
	}
	return w, nil
}

// AllowedKinds returns the only kinds that are taken, in order; none when all are
// that are not disallowed.
func (p *Policy) AllowedKinds() []int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	kinds := []int{}
	for kind := range p.state.allowed {
		if p.state.takes(kind) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// DisallowedKinds returns the kinds that are not taken whatever else is, in order.
func (p *Policy) DisallowedKinds() []int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	kinds := make([]int, 0, len(p.state.denied))
	for kind := range p.state.denied {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

func (p *Policy) kindIsOn(kind int) (allowed, denied, listing bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	_, allowed = p.state.allowed[kind]
	_, denied = p.state.denied[kind]
	return allowed, denied, len(p.state.allowed) > 0
}
