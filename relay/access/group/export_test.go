package group

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Dump returns the whole state as text, in one order.
func (b *Book) Dump() string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out strings.Builder
	fmt.Fprintf(&out, "living %d\n", b.living)
	for _, id := range slices.Sorted(maps.Keys(b.groups)) {
		out.WriteString(b.groups[id].dump())
	}
	for _, id := range slices.Sorted(maps.Keys(b.parents)) {
		fmt.Fprintf(&out, "%s under %s\n", id, b.parents[id])
	}
	for _, id := range slices.Sorted(maps.Keys(b.children)) {
		fmt.Fprintf(&out, "%s above %v\n", id, slices.Sorted(maps.Keys(b.children[id])))
	}
	for _, key := range slices.Sorted(maps.Keys(b.creators)) {
		fmt.Fprintf(&out, "%s created %d\n", key, b.creators[key])
	}
	for _, key := range slices.Sorted(maps.Keys(b.members)) {
		fmt.Fprintf(&out, "%s in %v\n", key, groupsOf(b.members[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(b.attested)) {
		fmt.Fprintf(&out, "%s attests %v\n", key, groupsOf(b.attested[key]))
	}
	return out.String()
}

func groupsOf(list []*group) (ids []string) {
	for _, g := range list {
		ids = append(ids, g.id)
	}
	return slices.Sorted(slices.Values(ids))
}

// Members returns the groups that a key is kept as a member of.
func (b *Book) Members(key string) []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return groupsOf(b.members[key])
}

func (g *group) dump() string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	var out strings.Builder
	fmt.Fprintf(&out, "%s deleted=%t stamp=%d peopled=%d turned=%d corrected=%t scope=%d epoch=%d removed=%v %v %+v\n",
		g.id, g.deleted, g.stamp, g.peopled, g.turned, g.corrected, g.scope.Epoch(), g.epoch, g.removed, g.meta.tags(), *g.meta)
	for _, key := range slices.Sorted(maps.Keys(g.roles)) {
		fmt.Fprintf(&out, "  %s %q %t\n", key, g.roles[key], g.privilegedLocked(key))
	}
	fmt.Fprintf(&out, "  codes %q pins %v\n", slices.Sorted(maps.Keys(g.codes)), g.pins)
	return out.String()
}

// Bounds that tests reach.
const (
	MaxNames      = maxNames
	MaxTargets    = maxTargets
	MaxCodes      = maxCodes
	MaxPrivileged = maxPrivileged
	MaxPrevious   = maxPrevious
	MaxChildren   = maxChildren
	MaxDepth      = maxDepth
)

// MemberList is what a Scribe writes.
var MemberList = (*Book).memberList
