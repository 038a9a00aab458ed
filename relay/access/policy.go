package access

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

// The scopes of the relay as a whole; a public key is one too, "g:" with a group's
// id, and each use of a claim that has a bound. Only ScopeRelay is part of what
// decides about reading: the others are terms of writes.
const (
	ScopeRelay  = "relay"
	ScopeClaims = "claims" // which claims were removed
)

// Outside is a decision from elsewhere, asked after the relay's own.
type Outside interface {
	// MaySee says whether the holder of keys may see ev. It may take time, and
	// stops when ctx ends. An error is no permission, and ends the subscription.
	MaySee(ctx context.Context, keys []string, ev *wire.Event) (bool, error)
}

// Options make a Policy. Self and Sign must be set.
type Options struct {
	Self    string                   // the relay's public key, hex
	Sign    func(*nostr.Event) error // sets pubkey, id and signature with the relay's key
	Rules   Rules                    // of the configuration
	Groups  Groups                   // nil: there are no groups (NIP-29)
	Outside Outside                  // nil: nobody else is asked
	Now     func() time.Time         // time.Now when nil
}

// Policy says who may do what. See the package comment.
type Policy struct {
	// Set at construction, never changed.
	self    string
	sign    func(*nostr.Event) error
	groups  Groups
	outside Outside
	now     func() time.Time
	reader  func(keys []string) bool // reads
	fresh   func() bool              // nil: at all times; see Trust

	// What grants rest on; moved under mu, after the state has changed.
	relay *lifecycle.Scope
	local *lifecycle.Scope // whatever else changes reading, of this process only; never a term

	version atomic.Uint64
	common  atomic.Uint64                   // moves with what concerns every reader: rules, kinds, banned ids, Outside
	peopled chan struct{}                   // the list of members may be out of date; capacity 1, never closed
	public  atomic.Pointer[lifecycle.Grant] // of events that are no secret; replaced when it does not hold

	mu sync.RWMutex // guards the fields below; memory only happens under it
	// +checklocks:mu
	rules Rules
	// +checklocks:mu
	state state
}

// New returns a policy to which no control row has been applied.
func New(o Options) *Policy {
	p := &Policy{
		self: o.Self, sign: o.Sign, groups: o.Groups, outside: o.Outside, now: o.Now,
		relay: lifecycle.NewScope(0), local: lifecycle.NewScope(0),
		peopled: make(chan struct{}, 1), rules: o.Rules.normal(), state: newState(),
	}
	if p.groups == nil {
		p.groups = noGroups{}
	}
	if p.now == nil {
		p.now = time.Now
	}
	p.reader = p.reads
	p.public.Store(lifecycle.NewGrant(p.relay, p.local))
	return p
}

// SetRules replaces the rules of the configuration (reload). Decisions about
// reading are taken again; Cutter.Recheck ends what has lost its permission.
func (p *Policy) SetRules(r Rules) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = r.normal()
	p.moveLocked()
	p.listChanged()
}

// Moved says that answers of Outside have changed: decisions that rest on them
// are taken again. Cutter.Recheck is not needed: Outside never refuses a filter.
func (p *Policy) Moved() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moveLocked()
}

// moveLocked ends all grants, after a change that concerns reading.
func (p *Policy) moveLocked() {
	p.local.Move(p.local.Epoch() + 1)
	p.common.Add(1)
	p.version.Add(1)
}

// Version rises with every change that takes something away, after it: whoever
// reads it first and decides second knows from the same version later that what was
// allowed still is. It does not lock.
func (p *Policy) Version() uint64 { return p.version.Load() }

// grant returns the grant of what is no secret. It is taken before the state is
// read, which is what lifecycle.NewGrant demands: that it holds says that no scope
// has moved since it was made.
func (p *Policy) grant() *lifecycle.Grant {
	if g := p.public.Load(); g.Holds() {
		return g
	}
	g := lifecycle.NewGrant(p.relay, p.local)
	p.public.Store(g) // an older one of another goroutine may overwrite it, and is replaced in turn
	return g
}
