package group

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

// Options are what a Book needs. All are required.
type Options struct {
	Self string                   // the relay's public key, hex
	Sign func(*nostr.Event) error // sets pubkey, id and signature with the relay's key
	Now  func() time.Time
	// Find returns the stored event with that id.
	Find func(ctx context.Context, id string) (*wire.Event, bool, error)
	// Prefixed returns the stored events whose ids begin with 8 hex digits.
	Prefixed func(ctx context.Context, prefix string) ([]*wire.Event, error)
	Rules    Rules
}

// Book holds all groups of the relay, those that live and those that were
// deleted. All methods may be called from any goroutine; Apply from one at a
// time.
type Book struct {
	// Set at construction, never changed.
	opt Options
	// strangers moves with every group: what a decision about an event rests on
	// whose h tag names no group yet.
	strangers *lifecycle.Scope
	dirty     *marks

	rules atomic.Pointer[Rules] // swapped by SetRules
	any   atomic.Bool           // whether there is or was a group

	mu sync.RWMutex // guards the fields below; held for computing only, never with a group's
	// +checklocks:mu
	groups map[string]*group // id -> group; none is ever taken out
	// +checklocks:mu
	living int
	// +checklocks:mu
	creators map[string]int // key -> how many of the groups that live it has created
	// +checklocks:mu
	members ties // the groups that live, by the keys of their members
	// +checklocks:mu
	attested ties // the same, by the keys that their metadata name with the parent
	// +checklocks:mu
	parents map[string]string // group -> its parent; both live
	// +checklocks:mu
	children map[string]map[string]struct{} // the same, the other way round
}

// New returns a book without groups.
func New(o Options) (*Book, error) {
	if !isHex(o.Self, 64) || o.Sign == nil || o.Now == nil || o.Find == nil || o.Prefixed == nil {
		return nil, errors.New("group: an option is missing")
	}
	b := &Book{
		opt:       o,
		strangers: lifecycle.NewScope(0),
		dirty:     newMarks(),
		groups:    map[string]*group{},
		creators:  map[string]int{},
		members:   ties{},
		attested:  ties{},
		parents:   map[string]string{},
		children:  map[string]map[string]struct{}{},
	}
	b.SetRules(o.Rules)
	return b, nil
}

// Hidden reports whether an event can be hidden on account of groups: it is
// false until there is a first group, and true for ever after.
func (b *Book) Hidden() bool { return b.any.Load() }

// find returns the group of that id, deleted ones too, or nil.
func (b *Book) find(id string) *group {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.groups[id]
}

// count returns how many groups live.
func (b *Book) count() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.living
}

// createdBy returns how many groups live that key has created.
func (b *Book) createdBy(key string) int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.creators[key]
}

// chain returns id and what is above it, up to the root, which need not be a
// group yet. It ends early when it gets longer than groups may be nested.
func (b *Book) chain(id string) []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := []string{id}
	for len(out) <= maxDepth {
		above, ok := b.parents[id]
		if !ok {
			break
		}
		out = append(out, above)
		id = above
	}
	return out
}

// above returns the parent of id, "" for none.
func (b *Book) above(id string) string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.parents[id]
}

// under returns the groups whose parent is id, in order.
func (b *Book) under(id string) []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Sorted(maps.Keys(b.children[id]))
}

// place makes parent the parent of id; "" makes id a root.
func (b *Book) place(id, parent string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old, ok := b.parents[id]; ok {
		delete(b.parents, id)
		if delete(b.children[old], id); len(b.children[old]) == 0 {
			delete(b.children, old)
		}
	}
	if parent == "" {
		return
	}
	b.parents[id] = parent
	if b.children[parent] == nil {
		b.children[parent] = map[string]struct{}{}
	}
	b.children[parent][id] = struct{}{}
}
