package wire

import "hash/maphash"

// merge drops filters that equal an earlier one. It takes time in proportion to
// what they hold, however many are alike, and changes filters.
func merge(filters []*Filter) []*Filter {
	if len(filters) < 2 {
		return filters
	}
	seed := maphash.MakeSeed() // nobody can make filters whose digests meet
	seen := make(map[uint64]*Filter, len(filters))
	kept := filters[:0]
	for _, f := range filters {
		digest := f.digest(seed)
		if first, ok := seen[digest]; ok && f.equal(first) {
			continue
		}
		seen[digest] = f
		kept = append(kept, f)
	}
	clear(filters[len(kept):])
	return kept
}

// digest is the same for equal filters.
func (f *Filter) digest(seed maphash.Seed) uint64 {
	sum := maphash.Comparable(seed, f.scalars()) +
		digestList(seed, "ids", f.IDs) + digestList(seed, "authors", f.Authors) + digestList(seed, "kinds", f.Kinds)
	for name, values := range f.Tags {
		sum += digestList(seed, "#"+name, values)
	}
	return sum
}

// digestList does not depend on the order of list.
func digestList[T comparable](seed maphash.Seed, name string, list []T) uint64 {
	if list == nil {
		return 0
	}
	var sum uint64
	for _, v := range list {
		sum += maphash.Comparable(seed, v)
	}
	return maphash.Comparable(seed, struct {
		name string
		sum  uint64
	}{name, sum})
}

// equal reports whether f and g are one condition, whatever the order of values.
func (f *Filter) equal(g *Filter) bool {
	if f.scalars() != g.scalars() || len(f.Tags) != len(g.Tags) ||
		!sameSet(f.IDs, g.IDs, g.ids) || !sameSet(f.Authors, g.Authors, g.authors) || !sameSet(f.Kinds, g.Kinds, g.kinds) {
		return false
	}
	for i := range g.tags {
		t := &g.tags[i]
		if !sameSet(f.Tags[t.name], t.values, t.set) {
			return false
		}
	}
	return true
}

// sameSet compares list with other, which is set too when it is long. Neither
// holds a value twice.
func sameSet[T comparable](list, other []T, set map[T]struct{}) bool {
	if len(list) != len(other) || (list == nil) != (other == nil) {
		return false
	}
	for _, v := range list {
		if !contains(other, set, v) {
			return false
		}
	}
	return true
}

// scalars are the fields of a filter that are no lists, comparable.
type scalars struct {
	since, until       int64
	hasSince, hasUntil bool
	limit              int
	limitZero          bool
	search             string
}

func (f *Filter) scalars() scalars {
	s := scalars{limit: f.Limit, limitZero: f.LimitZero, search: f.Search}
	if f.Since != nil {
		s.since, s.hasSince = int64(*f.Since), true
	}
	if f.Until != nil {
		s.until, s.hasUntil = int64(*f.Until), true
	}
	return s
}
