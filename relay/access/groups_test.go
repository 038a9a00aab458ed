package access_test

import (
	"context"
	"slices"
	"strings"
	"sync"

	"fencepost/lifecycle"
	"fencepost/relay/access"
	"fencepost/relay/access/control"
	"fencepost/relay/access/group"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

var _ access.Groups = (*group.Book)(nil)

// fakeGroups are groups that are all private: what has their h tag is for members.
// They exist once somebody was put into them. Plan refuses who is no member.
type fakeGroups struct {
	mu      sync.Mutex
	members map[string][]string // group -> keys
	scopes  map[string]*lifecycle.Scope
}

func newFakeGroups() *fakeGroups {
	return &fakeGroups{members: map[string][]string{}, scopes: map[string]*lifecycle.Scope{}}
}

func withGroups(g access.Groups) func(*access.Options) {
	return func(o *access.Options) { o.Groups = g }
}

func (g *fakeGroups) Names(ev *wire.Event) bool {
	_, ok := ev.Tag("h")
	return ok || ev.Kind/10 == 3900
}

func (g *fakeGroups) scope(id string) *lifecycle.Scope {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.scopes[id] == nil {
		g.scopes[id] = lifecycle.NewScope(0)
	}
	return g.scopes[id]
}

func (g *fakeGroups) Terms(ev *wire.Event) []store.Term {
	id, ok := ev.Tag("h")
	if !ok {
		return nil
	}
	return []store.Term{{Scope: "g:" + id, Epoch: g.scope(id).Epoch()}}
}

func (g *fakeGroups) Plan(_ context.Context, _ []string, ev *wire.Event, operator bool) (group.Effect, error) {
	id, _ := ev.Tag("h")
	if ev.Kind == 9021 {
		return group.Effect{}, &access.Accepted{Reason: wire.Because(wire.Duplicate, "you are a member")}
	}
	if !operator && !g.isOpen(id) && !g.has(id, ev.PubKey) {
		return group.Effect{}, wire.Because(wire.Restricted, "only members write here")
	}
	return group.Effect{Ban: []string{id}}, nil
}

func (g *fakeGroups) Apply(at store.Position, row control.Row, scopes []string) (group.Change, error) {
	change := g.fold(row)
	for _, scope := range scopes {
		if id, ok := strings.CutPrefix(scope, "g:"); ok {
			g.scope(id).Move(at)
		}
	}
	return change, nil
}

func (g *fakeGroups) fold(row control.Row) group.Change {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch row.Type {
	case control.GroupPut:
		g.members[row.Group] = append(g.members[row.Group], row.Key)
		return group.Change{Group: row.Group}
	case control.GroupRemoved:
		g.members[row.Group] = slices.DeleteFunc(g.members[row.Group], func(key string) bool { return key == row.Key })
		return group.Change{Group: row.Group, Keys: []string{row.Key}}
	case control.GroupCreated:
		g.members[row.Group] = []string{row.Key}
		return group.Change{Group: row.Group, Everyone: true}
	default:
		return group.Change{}
	}
}

func (g *fakeGroups) has(id string, keys ...string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(g.members[id], key) })
}

func (g *fakeGroups) isOpen(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.members[id] == nil
}

func (g *fakeGroups) MayRead(keys []string, filters []*wire.Filter) error {
	return g.LostIn("", keys, filters)
}

func (g *fakeGroups) LostIn(_ string, keys []string, filters []*wire.Filter) error {
	for _, f := range filters {
		ids := f.Tags["h"]
		if len(ids) == 0 || slices.ContainsFunc(ids, func(id string) bool { return g.isOpen(id) || g.has(id, keys...) }) {
			return nil
		}
	}
	return wire.Because(wire.Restricted, "only members read here")
}

func (g *fakeGroups) Sight(ev *wire.Event) ([]*lifecycle.Scope, func([]string) bool) {
	id, ok := ev.Tag("h")
	if !ok {
		return nil, nil
	}
	return []*lifecycle.Scope{g.scope(id)}, func(keys []string) bool { return g.isOpen(id) || g.has(id, keys...) }
}

func (g *fakeGroups) Hidden() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.members) > 0
}
