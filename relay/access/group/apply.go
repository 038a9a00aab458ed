package group

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
)

// ErrRow is returned for a row that does not fit the groups as they are, which
// the comparison of epochs in the commit rules out.
var ErrRow = errors.New("control row does not fit its group")

// Change says whose subscriptions a row may have closed. The zero Change closes
// none.
type Change struct {
	Group    string   // "" for a row that is not about a group
	Hidden   []string // the hidden groups in which a key that vanished was a member
	Keys     []string // lost something in it
	Everyone bool     // and so did everybody who is not a member
}

// Apply changes the state as row says, and moves the epochs of the scopes of groups
// among scopes to at afterwards. With them move the lifecycle scopes of those groups,
// and so they do with every row that takes something away from a reader. Rows come in the order of their positions, from one
// goroutine. Of rows that are not about groups only that of a key which vanished
// changes something: its memberships end, in time that grows with their number, and
// the caller moves a scope of its own that is part of every grant. After an error
// (ErrRow) nothing has changed.
func (b *Book) Apply(at store.Position, row control.Row, scopes []string) (Change, error) {
	change, err := b.fold(&row)
	if err != nil {
		return Change{}, fmt.Errorf("%w: %s of %s at %d", err, row.Type, row.Group, at)
	}
	for _, name := range scopes {
		id, key, ok := parseScope(name)
		if g := b.find(id); ok && g != nil {
			g.named(key, at)
			b.move(g, at)
		}
	}
	if len(change.Keys) > 0 || change.Everyone {
		b.move(b.find(change.Group), at) // whatever the row names (G4)
	}
	return change, nil
}

// move ends the grants of what is in g.
func (b *Book) move(g *group, at store.Position) {
	g.scope.Move(at)
	b.strangers.Move(at)
}

// named takes in that a row has named the group, or one key of it.
func (g *group) named(key string, at store.Position) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case key == "":
		g.epoch = at
	case !g.deleted:
		r := g.removed[key]
		r.epoch = at
		g.removed[key] = r
	}
}

func (b *Book) fold(row *control.Row) (Change, error) {
	if row.Type == control.KeyVanished {
		return Change{Hidden: b.forget(row.Key)}, nil
	}
	if !strings.HasPrefix(string(row.Type), "group.") {
		return Change{}, nil
	}
	g := b.find(row.Group)
	if row.Type == control.GroupCreated {
		if g != nil {
			return Change{}, ErrRow
		}
		return b.created(row), nil
	}
	if g == nil {
		return Change{}, ErrRow
	}
	return b.changed(g, row)
}

func (b *Book) created(row *control.Row) Change {
	g := newGroup(row.Group, row.Key)
	m := metaOf(row.Tags)
	g.found(row, m)
	b.insert(g)
	b.attest(g, "", m.attested)
	if m.parent != "" {
		b.place(g.id, m.parent)
	}
	b.any.Store(true)
	b.dirty.set(g.id, false)
	// Nobody is told that there is a hidden group.
	return Change{Group: g.id, Everyone: m.private && !m.hidden}
}

// forget ends every membership of a key that vanished (NIP-62), and returns the
// hidden groups among them.
func (b *Book) forget(key string) (hidden []string) {
	member, attested := b.forgetKey(key)
	for _, g := range attested {
		g.unattest()
		b.dirty.set(g.id, true)
	}
	for _, g := range member {
		if g.forget(key) {
			hidden = append(hidden, g.id)
		}
		b.dirty.set(g.id, g.isCorrected())
	}
	slices.Sort(hidden)
	return hidden
}

func (b *Book) insert(g *group) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.groups[g.id] = g
	b.living++
	b.creators[g.creator]++
	b.members.add(g.creator, g)
}

func (b *Book) changed(g *group, row *control.Row) (Change, error) {
	change, attested := Change{Group: g.id}, g.standing("").meta.attested
	var ok bool
	switch row.Type {
	case control.GroupEdited:
		m := metaOf(row.Tags)
		if change.Everyone, ok = g.edit(row, m); ok {
			b.place(g.id, m.parent)
			b.attest(g, attested, m.attested)
		}
	case control.GroupDeleted:
		var members []string
		if members, change.Everyone, ok = g.delete(); ok {
			b.deleted(g, members)
			b.attest(g, attested, "")
		}
		if !change.Everyone {
			change.Keys = members
		}
	case control.GroupPut:
		var added, lost bool
		if added, lost, ok = g.put(row); lost {
			change.Keys = []string{row.Key}
		}
		if added {
			b.enter(row.Key, g)
		}
	case control.GroupRemoved:
		change.Keys = []string{row.Key}
		if ok = g.remove(row); ok {
			b.leave(g, row.Key)
		}
	case control.GroupInvite:
		ok = g.invite(row)
	case control.GroupPinned:
		ok = g.pin(row)
	}
	if !ok {
		return Change{}, ErrRow
	}
	switch corrected := g.isCorrected(); row.Type {
	case control.GroupPut, control.GroupRemoved:
		b.dirty.set(g.id, corrected)
	case control.GroupEdited:
		if corrected {
			b.dirty.set(g.id, true)
		}
	}
	return change, nil
}

// deleted makes the children of g roots.
func (b *Book) deleted(g *group, members []string) {
	b.dirty.clear(g.id)
	for _, child := range b.under(g.id) {
		g := b.find(child)
		b.attest(g, g.orphan(), "")
		b.place(child, "")
	}
	b.place(g.id, "")
	b.leave(g, members...)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.living--
	if b.creators[g.creator]--; b.creators[g.creator] == 0 {
		delete(b.creators, g.creator)
	}
}
