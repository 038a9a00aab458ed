package storm_test

import (
	"maps"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// fold is who was allowed what after some control row, worked out the slow way: a
// whole copy for each row. It shares nothing with package access but the language
// of the rows.
type fold struct {
	walled bool           // the relay serves and hears members only
	at     store.Position // the last row

	banned  map[string]bool
	members map[string]bool // of the relay
	denied  map[int]bool    // kinds
	groups  map[string]clan
}

func newFold(walled bool) fold {
	return fold{
		walled: walled, banned: map[string]bool{}, members: map[string]bool{}, denied: map[int]bool{}, groups: map[string]clan{},
	}
}

// clan is one group.
type clan struct {
	private, restricted, hidden, deleted bool

	members map[string][]string // key -> roles
}

// after returns the state after one more row. f does not change.
func (f fold) after(at store.Position, r *control.Row) fold {
	next := fold{
		walled: f.walled, at: at, banned: maps.Clone(f.banned), members: maps.Clone(f.members),
		denied: maps.Clone(f.denied), groups: maps.Clone(f.groups),
	}
	g := next.groups[r.Group]
	g.members = maps.Clone(g.members)
	switch r.Type {
	case control.KeyBanned:
		next.banned[r.Key] = true
		delete(next.members, r.Key)
	case control.KeyUnbanned:
		delete(next.banned, r.Key)
	case control.MemberPut:
		next.members[r.Key] = true
		delete(next.banned, r.Key)
	case control.MemberRemoved:
		delete(next.members, r.Key)
	case control.KindsDisallowed:
		for _, kind := range r.Kinds {
			next.denied[kind] = !r.Undo
		}
	case control.GroupCreated:
		next.groups[r.Group] = clan{members: map[string][]string{r.Key: {"admin"}}}.edited(r)
	case control.GroupEdited:
		next.groups[r.Group] = g.edited(r)
	case control.GroupDeleted:
		g.deleted, g.members = true, nil
		next.groups[r.Group] = g
	case control.GroupPut:
		g.members[r.Key] = r.Roles
		next.groups[r.Group] = g
	case control.GroupRemoved:
		delete(g.members, r.Key)
		next.groups[r.Group] = g
	}
	return next
}

func (c clan) edited(r *control.Row) clan {
	has := func(name string) bool {
		return slices.ContainsFunc(r.Tags, func(t nostr.Tag) bool { return t[0] == name })
	}
	c.private, c.restricted, c.hidden = has("private"), has("restricted"), has("hidden")
	return c
}

// member reports whether key is one; "" is nobody's.
func (c clan) member(key string) bool {
	_, is := c.members[key]
	return is
}

func (c clan) privileged(key string) bool {
	return slices.ContainsFunc(c.members[key], func(role string) bool { return role == "admin" || role == "moderator" })
}

// allows reports whether a connection on which key has authenticated ("": none)
// may be sent e.
func (f fold) allows(self, key string, e *wire.Event) bool {
	switch {
	case f.banned[key]: // its connections have ended
		return false
	case f.walled && !f.members[key], f.denied[e.Kind] && e.PubKey != self:
		return false
	}
	if e.PubKey == self && isState(e.Kind) {
		g, is := f.groups[e.D()]
		return !is || !g.deleted && (!g.closesState(e.Kind) || g.member(key))
	}
	for _, t := range e.Tags {
		if len(t) < 2 || t[0] != "h" {
			continue
		}
		g, is := f.groups[t[1]]
		switch {
		case !is:
		case g.deleted, g.private && !g.member(key):
			return false
		case (e.Kind == 9009 || e.Kind == 9021) && key != e.PubKey && !g.privileged(key):
			return false
		}
	}
	return true
}

func isState(kind int) bool { return kind >= 39000 && kind <= 39009 }

func (c clan) closesState(kind int) bool {
	switch kind {
	case 39000, 39001, 39003:
		return c.hidden
	default:
		return c.hidden || c.private
	}
}

// closed reports whether all that a filter asks for is closed to key, so that a
// REQ or COUNT is refused, and ends where it stood.
func (f fold) closed(key string, filter *wire.Filter) bool {
	if f.walled && !f.members[key] {
		return true
	}
	if len(filter.Kinds) > 0 && !slices.ContainsFunc(filter.Kinds, func(k int) bool { return !f.denied[k] }) {
		return true
	}
	closes := func(ids []string, by func(clan) bool) bool {
		return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool {
			g, is := f.groups[id]
			return !is || !g.deleted && (!by(g) || g.member(key))
		})
	}
	if closes(filter.Tags["h"], func(g clan) bool { return g.private }) {
		return true
	}
	if len(filter.Kinds) == 0 || slices.ContainsFunc(filter.Kinds, func(k int) bool { return !isState(k) }) {
		return false
	}
	return closes(filter.Tags["d"], func(g clan) bool {
		return !slices.ContainsFunc(filter.Kinds, func(k int) bool { return !g.closesState(k) })
	})
}

// accepts reports whether e may have been written under f.
func (f fold) accepts(self string, e *wire.Event) bool {
	if e.PubKey == self {
		return true
	}
	if f.banned[e.PubKey] || f.denied[e.Kind] || f.walled && !f.members[e.PubKey] {
		return false
	}
	h, _ := e.Tag("h")
	g, is := f.groups[h]
	switch {
	case !is:
		return true
	case e.Kind == 9021: // also from somebody who was put there at the same time
		return !g.deleted
	case e.Kind == 9022:
		return g.member(e.PubKey)
	case e.Kind >= 9000 && e.Kind <= 9020:
		return e.Kind == 9007 || g.privileged(e.PubKey)
	default:
		return !g.deleted && (!g.restricted || g.member(e.PubKey))
	}
}
