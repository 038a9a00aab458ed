package wire

import (
	"slices"

	"github.com/nbd-wtf/go-nostr"
)

// Filter is one NIP-01 filter with its lists prepared for matching. It is
// immutable once made.
type Filter struct {
	nostr.Filter

	// Lists longer than maxLinear, as sets; nil for the others.
	ids, authors map[string]struct{}
	kinds        map[int]struct{}

	tags    []tagFilter // in no order
	letters uint64      // the bits of their names

	query *query // of the search, nil when it asks for nothing
}

// maxLinear is the length up to which a list is scanned instead of hashed.
const maxLinear = 8

// NewFilter prepares f. A nil list is absent; an empty one matches nothing. What
// a list holds twice is kept once, at its first place. The lists of f are not
// changed; they may be shared and must not be changed afterwards.
func NewFilter(f nostr.Filter) *Filter {
	out := &Filter{Filter: f}
	out.IDs, out.ids = unique(f.IDs)
	out.Authors, out.authors = unique(f.Authors)
	out.Kinds, out.kinds = unique(f.Kinds)
	out.query = newQuery(f.Search)
	if f.Tags == nil {
		return out
	}
	out.Tags = make(nostr.TagMap, len(f.Tags))
	for name, values := range f.Tags {
		values, set := unique(values)
		out.Tags[name] = values
		if values != nil {
			out.tags = append(out.tags, newTagFilter(name, values, set))
			out.letters |= letterBit(name)
		}
	}
	return out
}

// unique returns list without repetitions, and as a set when it is long.
func unique[T comparable](list []T) ([]T, map[T]struct{}) {
	if len(list) <= maxLinear {
		return uniqueShort(list), nil
	}
	set := make(map[T]struct{}, len(list))
	for _, v := range list {
		set[v] = struct{}{}
	}
	if len(set) == len(list) {
		return list, set
	}
	left, out := make(map[T]struct{}, len(set)), make([]T, 0, len(set))
	for _, v := range list {
		if _, again := left[v]; !again {
			left[v] = struct{}{}
			out = append(out, v)
		}
	}
	return out, left
}

func uniqueShort[T comparable](list []T) []T {
	for i, v := range list {
		if !slices.Contains(list[:i], v) {
			continue
		}
		out := slices.Clone(list[:i])
		for _, v := range list[i:] {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
		return out
	}
	return list
}

// MatchesAny reports whether e matches one of the filters. It is the predicate
// of G7: stored events, live events and counts all ask it. limit is not looked at.
func MatchesAny(filters []*Filter, e *Event) bool {
	for _, f := range filters {
		if f.Matches(e) {
			return true
		}
	}
	return false
}

// Matches reports whether e matches the filter (NIP-01), its words included (NIP-50),
// limit aside.
func (f *Filter) Matches(e *Event) bool {
	if f.letters&^e.tags.letters != 0 {
		return false // whatever is asked for, the event has no tag of that name
	}
	if f.Since != nil && e.CreatedAt < *f.Since || f.Until != nil && e.CreatedAt > *f.Until {
		return false
	}
	if f.Kinds != nil && !contains(f.Kinds, f.kinds, e.Kind) {
		return false
	}
	if f.IDs != nil && !contains(f.IDs, f.ids, e.ID) {
		return false
	}
	if f.Authors != nil && !contains(f.Authors, f.authors, e.PubKey) {
		return false
	}
	for i := range f.tags {
		if !f.tags[i].matches(e) {
			return false
		}
	}
	return f.query == nil || f.query.matches(e)
}

// Asks reports whether the filter has a condition on tags of that name, a letter.
func (f *Filter) Asks(letter string) bool { return f.letters&letterBit(letter) != 0 }

// AsksFor reports whether value is among those that the filter asks for in tags of
// that name, a letter.
func (f *Filter) AsksFor(letter, value string) bool {
	if !f.Asks(letter) {
		return false
	}
	for i := range f.tags {
		if t := &f.tags[i]; t.name == letter && t.has(value) {
			return true
		}
	}
	return false
}

func contains[T comparable](list []T, set map[T]struct{}, v T) bool {
	if set != nil {
		_, ok := set[v]
		return ok
	}
	return slices.Contains(list, v)
}
