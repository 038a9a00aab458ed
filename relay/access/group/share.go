package group

import "slices"

// Share reports whether two keys are members of a common group.
func (b *Book) Share(one, other string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	groups := b.members[one]
	return slices.ContainsFunc(b.members[other], func(g *group) bool { return slices.Contains(groups, g) })
}
