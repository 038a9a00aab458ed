package wire

import "github.com/nbd-wtf/go-nostr"

// tagIndex answers what filters ask of an event's tags. Only tags that have a
// value and a letter for a name are in it; NIP-01 lets filters ask for no others.
// It is immutable once made.
type tagIndex struct {
	letters uint64 // the bits of all names

	// The values of each name by its number; nil when the tags are so few that
	// they are scanned.
	values *[64]map[string]struct{}
}

// maxScan is how many tags of an event are scanned for each condition.
const maxScan = 16

func indexTags(tags nostr.Tags) (x tagIndex) {
	for _, t := range tags {
		if len(t) > 1 {
			x.letters |= letterBit(t[0])
		}
	}
	if len(tags) <= maxScan || x.letters == 0 {
		return x
	}
	var sizes [64]int
	for _, t := range tags {
		if len(t) > 1 && letterBit(t[0]) != 0 {
			sizes[letterNumber(t[0])]++
		}
	}
	x.values = new([64]map[string]struct{})
	for n, size := range sizes {
		if size > 0 {
			x.values[n] = make(map[string]struct{}, size)
		}
	}
	for _, t := range tags {
		if len(t) > 1 && letterBit(t[0]) != 0 {
			x.values[letterNumber(t[0])][t[1]] = struct{}{}
		}
	}
	return x
}

// HasTag reports whether the event has a tag whose name is that letter, a-z or A-Z,
// and which has a value. It does not look at the tags.
func (e *Event) HasTag(letter byte) bool { return e.tags.letters&(1<<(letter&63)) != 0 }

// letterBit returns one bit for a name of one letter, and 0 for any other.
func letterBit(name string) uint64 {
	if len(name) != 1 || name[0]|0x20 < 'a' || name[0]|0x20 > 'z' {
		return 0
	}
	return 1 << letterNumber(name)
}

// letterNumber tells the letters apart, from 0 to 63.
func letterNumber(letter string) byte { return letter[0] & 63 }

// tagFilter is the condition on one tag name.
type tagFilter struct {
	name    string
	values  []string
	set     map[string]struct{} // nil when values is short
	longest int                 // bytes of the longest value
}

func newTagFilter(name string, values []string, set map[string]struct{}) tagFilter {
	f := tagFilter{name: name, values: values, set: set}
	for _, v := range values {
		f.longest = max(f.longest, len(v))
	}
	return f
}

// matches takes time in proportion to the shorter of the two lists of values,
// unless the tags are few.
func (f *tagFilter) matches(e *Event) bool {
	if e.tags.values == nil || letterBit(f.name) == 0 {
		return f.matchesOneOf(e.Tags)
	}
	there := e.tags.values[letterNumber(f.name)]
	if len(there) < len(f.values) {
		for v := range there {
			if f.has(v) {
				return true
			}
		}
		return false
	}
	for _, v := range f.values {
		if _, ok := there[v]; ok {
			return true
		}
	}
	return false
}

func (f *tagFilter) matchesOneOf(tags nostr.Tags) bool {
	for _, t := range tags {
		if len(t) > 1 && t[0] == f.name && f.has(t[1]) {
			return true
		}
	}
	return false
}

// has does not hash a value that is too long to be among those asked for.
func (f *tagFilter) has(v string) bool {
	return len(v) <= f.longest && contains(f.values, f.set, v)
}
