package group_test

import (
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/access/control"
	"fencepost/relay/wire"
)

// naive is the state of all groups, folded anew from all rows each time it is
// asked for, in the most obvious way.
type naive map[string]*naiveGroup

type naiveGroup struct {
	dead    bool
	tags    nostr.Tags
	members map[string][]string
	codes   []string
	pins    nostr.Tags
	turned  int64
	barred  map[string]bool
}

func fold(log []entry) naive {
	n := naive{}
	for _, e := range log {
		g := n[e.row.Group]
		switch e.row.Type {
		case control.GroupCreated:
			n[e.row.Group] = &naiveGroup{tags: e.row.Tags, members: map[string][]string{e.row.Key: {"admin"}}, barred: map[string]bool{}}
		case control.GroupEdited:
			was := *g
			if g.tags = e.row.Tags; was.has("private") != g.has("private") || was.has("hidden") != g.has("hidden") {
				g.turned = e.row.Stamp
			}
		case control.GroupDeleted:
			*g = naiveGroup{dead: true, tags: g.tags}
		case control.GroupPut:
			g.members[e.row.Key] = e.row.Roles
			g.barred[e.row.Key] = false
		case control.GroupRemoved:
			delete(g.members, e.row.Key)
			g.barred[e.row.Key] = e.row.Bar
		case control.GroupInvite:
			for _, code := range e.row.Codes {
				g.codes = slices.DeleteFunc(g.codes, func(c string) bool { return c == code })
				if !e.row.Undo {
					g.codes = append(g.codes, code)
				}
			}
		case control.GroupPinned:
			g.pins = e.row.Tags
		}
	}
	return n
}

func (g *naiveGroup) has(flag string) bool {
	return slices.ContainsFunc(g.tags, func(t nostr.Tag) bool { return t[0] == flag })
}

func (g *naiveGroup) parent() string {
	for _, t := range g.tags {
		if t[0] == "parent" {
			return t[1]
		}
	}
	return ""
}

func (g *naiveGroup) is(key string, roles ...string) bool {
	return slices.ContainsFunc(g.members[key], func(r string) bool { return slices.Contains(roles, r) })
}

func (g *naiveGroup) admins() (n int) {
	for key := range g.members {
		if g.is(key, "admin") {
			n++
		}
	}
	return n
}

func (n naive) living() (count int) {
	for _, g := range n {
		if !g.dead {
			count++
		}
	}
	return count
}

// allows says whether a well-formed request is granted.
func (n naive) allows(ev *wire.Event, max int) bool {
	id, _ := ev.Tag("h")
	g, key := n[id], ev.PubKey
	if ev.Kind == 9007 {
		return g == nil && n.living() < max && n.placeable(id, ev)
	}
	if g == nil {
		return !(ev.Kind >= 9000 && ev.Kind <= 9022)
	}
	if g.dead {
		return false
	}
	_, member := g.members[key]
	admin := key == boss || g.is(key, "admin")
	moderator := admin || g.is(key, "moderator")
	switch ev.Kind {
	case 9000:
		return admin && g.changes(ev) && (key == boss || g.admins() == 0 || g.after(ev) > 0)
	case 9001:
		return moderator && g.removes(ev, admin) && (key == boss || g.admins() == 0 || g.after(ev) > 0)
	case 9002:
		return admin && n.placeable(id, ev) && n.edits(id, ev)
	case 9008:
		return admin
	case 9009:
		code, _ := ev.Tag("code")
		return moderator && !slices.Contains(g.codes, code)
	case 9010:
		pin, _ := ev.Tag("a")
		return moderator && (len(g.pins) == 0 || g.pins[0][1] != pin)
	case 9021:
		code, _ := ev.Tag("code")
		return !member && !g.barred[key] && (!g.has("closed") || slices.Contains(g.codes, code))
	case 9022:
		return member
	default:
		return member || !g.has("restricted") && (key == boss || !g.has("hidden"))
	}
}

// edits reports whether an edit changes something, and may do so now.
func (n naive) edits(id string, ev *wire.Event) bool {
	g := n[id]
	changes, turns := false, false
	for on, off := range map[string]string{"private": "public", "restricted": "unrestricted", "hidden": "visible", "closed": "open"} {
		_, set := ev.Tag(on)
		_, unset := ev.Tag(off)
		if set && !g.has(on) || unset && g.has(on) {
			changes = true
			turns = turns || on == "private" || on == "hidden"
		}
	}
	about, _ := ev.Tag("about")
	if parent, ok := ev.Tag("parent"); ok {
		changes = changes || n.placed(id, parent, ev.PubKey) != g.first("parent", 1)+g.first("parent", 2)
	}
	return (changes || about != g.first("about", 1)) && (!turns || int64(ev.CreatedAt) >= g.turned+10)
}

// placed returns the parent that a group gets, with who attests it.
func (n naive) placed(id, parent, author string) string {
	p, g := n[parent], n[id]
	if p == nil || p.dead || p.has("hidden") && !p.in(author) && author != boss && g.parent() != parent {
		return ""
	}
	if g.parent() == parent && author != boss && !p.is(author, "admin") {
		return parent + g.first("parent", 2)
	}
	return parent + author
}

func (g *naiveGroup) in(key string) bool {
	_, member := g.members[key]
	return member
}

// first returns an element of the first tag of that name.
func (g *naiveGroup) first(name string, at int) string {
	for _, t := range g.tags {
		if t[0] == name {
			return t[at]
		}
	}
	return ""
}

// changes reports whether a put does anything.
func (g *naiveGroup) changes(ev *wire.Event) bool {
	for _, t := range ev.Tags[1:] {
		if roles, ok := g.members[t[1]]; !ok || !slices.Equal(roles, t[2:]) {
			return true
		}
	}
	return false
}

// removes reports whether a removal hits somebody, and nobody that it may not.
func (g *naiveGroup) removes(ev *wire.Event, admin bool) (hits bool) {
	for _, t := range ev.Tags[1:] {
		_, member := g.members[t[1]]
		hits = hits || member
		if !admin && g.is(t[1], "admin", "moderator") {
			return false
		}
	}
	return hits
}

// after returns how many admins are left.
func (g *naiveGroup) after(ev *wire.Event) int {
	next := naiveGroup{members: map[string][]string{}}
	for key, roles := range g.members {
		next.members[key] = roles
	}
	for _, t := range ev.Tags[1:] {
		if ev.Kind == 9001 {
			delete(next.members, t[1])
		} else {
			next.members[t[1]] = t[2:]
		}
	}
	return next.admins()
}

// placeable says whether the parent that is asked for, if any, can be had.
func (n naive) placeable(id string, ev *wire.Event) bool {
	parent, _ := ev.Tag("parent")
	p := n[parent]
	if parent == id {
		return false
	}
	if p == nil || p.dead {
		return true // a root
	}
	unchanged := n[id] != nil && n[id].parent() == parent
	if _, member := p.members[ev.PubKey]; p.has("hidden") && !member && ev.PubKey != boss && !unchanged {
		return true
	}
	for at := parent; at != ""; at = n[at].parent() {
		if at == id {
			return false
		}
	}
	return unchanged || ev.PubKey == boss || p.is(ev.PubKey, "admin")
}

// shows says whether the reader sees an event.
func (n naive) shows(ev *wire.Event, reader string) bool {
	for _, t := range ev.Tags {
		if t[0] != "h" && !(t[0] == "d" && ev.PubKey == self) {
			continue
		}
		g := n[t[1]]
		if g == nil {
			continue
		}
		_, member := g.members[reader]
		_, private := ev.Tag("private")
		_, hidden := ev.Tag("hidden")
		told := ev.Kind == 9002 || ev.Kind == 9007
		closed := g.has("private") || told && (g.has("hidden") || private || hidden)
		if ev.Kind >= 39000 {
			closed = g.has("hidden") || g.has("private") && (ev.Kind == 39002 || ev.Kind == 39005)
		}
		code := ev.Kind == 9009 || ev.Kind == 9021
		if g.dead || closed && !member || code && reader != ev.PubKey && !g.is(reader, "admin", "moderator") {
			return false
		}
	}
	return true
}
