package lifecycle

import (
	"context"
	"slices"
	"sync/atomic"

	"fencepost/relay/store"
)

// Scope is one thing that permissions hang on: the relay, a group or a key. Its
// epoch is the position of the last control row that took something away in it.
// Whoever applies such a row changes the state first and moves the epoch
// afterwards; whoever decides reads the epoch first and the state afterwards. So
// a decision from the older state has an epoch that no longer holds.
type Scope struct{ epoch atomic.Uint64 }

// NewScope returns a scope that stands at epoch.
func NewScope(epoch store.Position) *Scope {
	s := &Scope{}
	s.epoch.Store(uint64(epoch))
	return s
}

// Epoch returns the present epoch.
func (s *Scope) Epoch() store.Position { return store.Position(s.epoch.Load()) }

// Move ends every grant of the scope. The state behind it has been changed.
func (s *Scope) Move(to store.Position) { s.epoch.Store(uint64(to)) }

// Grant is what a decision to let a reader see an event rests on: some scopes and
// their epochs. It never changes and can be shared by any number of frames. A nil
// Grant holds for ever.
type Grant struct {
	terms []term
	while func() bool // nil: at all times
	talk  *Talk       // whose frame has it; nil for that of an event
}

type term struct {
	scope *Scope
	epoch store.Position
}

func (t *term) holds() bool { return t.scope.Epoch() == t.epoch }

// Grants collects what many decisions rest on. The zero value is of none. It is used by
// one goroutine.
type Grants struct {
	all   map[*Scope]store.Position // to the first epoch that was seen: a later one says that it moved
	last  *Grant                    // many events have the same one
	while func() bool               // of any that has one: it is about the relay
}

// Add takes in g.
func (s *Grants) Add(g *Grant) {
	if g == nil || g == s.last {
		return
	}
	if s.last = g; s.all == nil {
		s.all = make(map[*Scope]store.Position)
	}
	if g.while != nil {
		s.while = g.while
	}
	for i := range g.terms {
		if _, known := s.all[g.terms[i].scope]; !known {
			s.all[g.terms[i].scope] = g.terms[i].epoch
		}
	}
}

// Len returns how many scopes were taken in.
func (s *Grants) Len() int { return len(s.all) }

// Grant returns a grant that holds while all do that were taken in.
func (s *Grants) Grant() *Grant {
	g := &Grant{terms: make([]term, 0, len(s.all)), while: s.while}
	for scope, epoch := range s.all {
		g.terms = append(g.terms, term{scope: scope, epoch: epoch})
	}
	return g
}

// renewed returns a grant of the same scopes with their present epochs.
func (g *Grant) renewed() *Grant {
	fresh := &Grant{terms: slices.Clone(g.terms), while: g.while, talk: g.talk}
	for i := range fresh.terms {
		fresh.terms[i].epoch = fresh.terms[i].scope.Epoch()
	}
	return fresh
}

// NewGrant reads the epochs of scopes. It is called before the state is read
// that the decision comes from.
func NewGrant(scopes ...*Scope) *Grant {
	g := &Grant{terms: make([]term, len(scopes))}
	for i, s := range scopes {
		g.terms[i] = term{scope: s, epoch: s.Epoch()}
	}
	return g
}

// While returns a grant that holds when g does and only while cond says so, which is
// asked at each look: it must be quick and must not lock.
func (g *Grant) While(cond func() bool) *Grant { return &Grant{terms: g.terms, while: cond} }

// Undecided is the grant of a frame about which nobody has decided yet. It never
// holds.
var Undecided = &Grant{terms: []term{{scope: NewScope(1)}}}

// Holds reports whether no scope has moved since the decision (G4), and the state that
// it was read from can be trusted now (O18). It does not lock.
func (g *Grant) Holds() bool {
	if g == nil {
		return true
	}
	for i := range g.terms {
		if !g.terms[i].holds() {
			return false
		}
	}
	return g.while == nil || g.while()
}

// Sight says who may see one event. The zero Sight is that of an event which
// everybody may see, for ever.
type Sight struct {
	Grant *Grant                   // what May's answers rest on
	May   func(keys []string) bool // answers at once; nil: everybody may
	// Ask is asked after May when it is set: a decision from outside, which takes
	// time. An error is no permission.
	Ask func(ctx context.Context, keys []string) (bool, error)
}

// Decide says whether the holder of keys may see the event under s.Grant. It
// blocks only while Ask does, and returns its error.
func (s *Sight) Decide(ctx context.Context, keys []string) (bool, error) {
	if s.May != nil && !s.May(keys) {
		return false, nil
	}
	if s.Ask == nil {
		return true, nil
	}
	return s.Ask(ctx, keys)
}
