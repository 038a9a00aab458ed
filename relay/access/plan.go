package access

import (
	"context"
	"errors"
	"slices"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Accepted is returned as an error for what is answered with OK true and a text:
// without a write there is nothing to commit, and with one the text is for when
// that is done.
type Accepted struct{ Reason wire.Reason }

// Accepted returns the text.
func (a *Accepted) Accepted() wire.Reason { return a.Reason }

func (a *Accepted) Error() string { return a.Reason.String() }

// Plan decides about a verified event that the holder of keys publishes, and
// returns what is to be committed for it. Its terms were read before the state
// that the decision comes from, so a commit under them stands on the present
// permissions. Event is nil for requests that are not passed on. A refusal is a
// wire.Reason, *Accepted is a yes, any other error is internal.
func (p *Policy) Plan(ctx context.Context, keys []string, ev *wire.Event) (store.Write, error) {
	terms := p.terms(keys, ev) // before anything else: see store.Write
	if err := mayPass(keys, ev); err != nil {
		return store.Write{}, err
	}
	if p.vanishesHere(ev) {
		return p.planVanish(ev)
	}
	if err := p.mayPublish(keys, ev); err != nil {
		return store.Write{}, err
	}
	if err := p.refuseUnclear(ev); err != nil {
		return store.Write{}, err
	}
	switch {
	case ev.Kind == kindJoin:
		return p.planJoin(ev, terms)
	case ev.Kind == kindLeave:
		return p.planLeave(ev, terms)
	case p.groups.Names(ev):
		return p.planGroup(ctx, keys, ev, terms)
	default:
		return store.Write{Event: ev, Terms: terms}, nil
	}
}

// LooksBack reports whether Plan looks for earlier events in the store: those that
// ev removes, pins, or names as previous ones (NIP-29). They must be committed.
func (*Policy) LooksBack(ev *wire.Event) bool {
	if ev.Kind == kindDeleteEvent || ev.Kind == kindPin {
		return true
	}
	_, refers := ev.Tag("previous")
	return refers && ev.HasTag('h')
}

func (p *Policy) planGroup(ctx context.Context, keys []string, ev *wire.Event, terms []store.Term) (store.Write, error) {
	effect, err := p.groups.Plan(ctx, keys, ev, p.isOperator(ev.PubKey))
	var yes interface{ Accepted() wire.Reason }
	if err != nil && !errors.As(err, &yes) {
		return store.Write{}, err
	}
	return store.Write{
		Event: ev, Terms: terms, Also: effect.Also, Controls: effect.Controls, Ban: effect.Ban, Erase: effect.Erase,
	}, err
}

func (p *Policy) isOperator(key string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return key != "" && key == p.rules.Operator
}

// terms returns the scopes that a decision about ev can rest on, with their
// epochs.
func (p *Policy) terms(keys []string, ev *wire.Event) []store.Term {
	scopes := make([]string, 0, 4+len(keys))
	scopes = append(scopes, ScopeRelay, ev.PubKey)
	for _, key := range keys {
		if key != ev.PubKey {
			scopes = append(scopes, key)
		}
	}
	if ev.Kind == kindJoin {
		scopes = append(scopes, ScopeClaims)
	}
	return append(p.termsOf(scopes...), p.groups.Terms(ev)...)
}

// termsOf returns scopes, those of groups aside, with their epochs.
func (p *Policy) termsOf(scopes ...string) []store.Term {
	p.mu.RLock()
	defer p.mu.RUnlock()
	terms := make([]store.Term, 0, len(scopes)+1)
	for _, scope := range scopes {
		terms = append(terms, store.Term{Scope: scope, Epoch: p.state.epochs[scope]})
	}
	return terms
}

// with adds a control row to w.
func with(w store.Write, row control.Row, scopes ...string) (store.Write, error) {
	data, err := control.Encode(row)
	if err != nil {
		return store.Write{}, err
	}
	w.Controls = append(slices.Clip(w.Controls), store.Control{Scopes: scopes, Data: data})
	return w, nil
}
