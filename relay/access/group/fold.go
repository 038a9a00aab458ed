package group

import (
	"maps"
	"slices"

	"fencepost/relay/access/control"
)

// found makes the creator the first member and admin.
func (g *group) found(row *control.Row, m *meta) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.meta = m
	g.stamp, g.peopled = row.Stamp, row.Stamp
	g.enrolLocked(row.Key, []string{roleAdmin})
}

// edit replaces the metadata, and reports whether that closes something to those
// who are no members.
func (g *group) edit(row *control.Row, m *meta) (closes, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.deleted {
		return false, false
	}
	old := g.meta
	g.meta = m
	g.stamp = max(g.stamp, row.Stamp)
	if m.turns(old) {
		g.turned = row.Stamp
	}
	return m.private && !old.private || m.hidden && !old.hidden, true
}

// orphan makes g a root, and returns who had made the parent the parent.
func (g *group) orphan() (attested string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := *g.meta
	attested = m.attested
	m.parent, m.attested = "", ""
	g.meta = &m
	return attested
}

// delete forgets everything but what is hidden, and returns who was a member. Of
// a group about which nobody else may know they alone lose something.
func (g *group) delete() (members []string, everyone, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.deleted {
		return nil, false, false
	}
	secret := g.meta.private && g.meta.hidden
	members = slices.Sorted(maps.Keys(g.roles))
	g.deleted = true
	g.roles, g.privileged, g.codes, g.pins, g.removed = nil, nil, nil, nil, nil
	g.meta = remains(g.meta)
	return members, !secret, true
}

// put makes the key a member with these roles, and reports whether it was none and
// whether it lost some.
func (g *group) put(row *control.Row) (added, lost, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.deleted {
		return false, false, false
	}
	old, member := g.roles[row.Key]
	if !member {
		g.peopled = max(g.peopled, row.Stamp)
	}
	if max(rankOf(old), rankOf(row.Roles)) > plain {
		g.stamp = max(g.stamp, row.Stamp)
	}
	g.enrolLocked(row.Key, slices.Clone(row.Roles))
	g.barLocked(row.Key, false)
	return !member, slices.ContainsFunc(old, func(r string) bool { return !slices.Contains(row.Roles, r) }), true
}

func (g *group) enrolLocked(key string, roles []string) {
	g.roles[key] = roles
	if rankOf(roles) > plain {
		g.privileged[key] = struct{}{}
	} else {
		delete(g.privileged, key)
	}
}

func (g *group) remove(row *control.Row) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.deleted {
		return false
	}
	if g.privilegedLocked(row.Key) {
		g.stamp = max(g.stamp, row.Stamp)
	}
	delete(g.roles, row.Key)
	delete(g.privileged, row.Key)
	g.barLocked(row.Key, row.Bar)
	g.peopled = max(g.peopled, row.Stamp)
	return true
}

func (g *group) barLocked(key string, bar bool) {
	if r := g.removed[key]; r.barred != bar {
		r.barred = bar
		g.removed[key] = r
	}
}

func (g *group) invite(row *control.Row) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.deleted {
		return false
	}
	for _, code := range row.Codes {
		if row.Undo {
			delete(g.codes, code)
		} else {
			g.codes[code] = struct{}{}
		}
	}
	return true
}

func (g *group) pin(row *control.Row) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.deleted {
		return false
	}
	g.pins = row.Tags
	g.stamp = max(g.stamp, row.Stamp)
	return true
}

func (g *group) forget(key string) (hidden bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.corrected = g.corrected || g.privilegedLocked(key)
	delete(g.roles, key)
	delete(g.privileged, key)
	return g.meta.hidden
}

// unattest takes the key out of the metadata that made the parent the parent.
func (g *group) unattest() {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := *g.meta
	m.attested = ""
	g.meta, g.corrected = &m, true
}
