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
	tags         map[string]map[string]struct{} // tag name -> values
}

// maxLinear is the length up to which a list is scanned instead of hashed.
const maxLinear = 8

// NewFilter prepares f. A nil list is absent; an empty one matches nothing.
func NewFilter(f nostr.Filter) *Filter {
	out := &Filter{Filter: f, ids: setOf(f.IDs), authors: setOf(f.Authors)}
	for name, values := range f.Tags {
		if set := setOf(values); set != nil {
			if out.tags == nil {
				out.tags = make(map[string]map[string]struct{})
			}
			out.tags[name] = set
		}
	}
	return out
}

func setOf(values []string) map[string]struct{} {
	if len(values) <= maxLinear {
		return nil
	}
	set := make(map[string]struct{}, len(values))
	for _, v := range values {
		set[v] = struct{}{}
	}
	return set
}

// MatchesAny reports whether e matches one of the filters. It is the predicate
// of G7: stored events, live events and counts all ask it. limit and search are
// not looked at.
func MatchesAny(filters []*Filter, e *Event) bool {
	for _, f := range filters {
		if f.Matches(e) {
			return true
		}
	}
	return false
}

// Matches reports whether e matches the filter (NIP-01), limit and search aside.
func (f *Filter) Matches(e *Event) bool {
	if f.Since != nil && e.CreatedAt < *f.Since || f.Until != nil && e.CreatedAt > *f.Until {
		return false
	}
	if f.Kinds != nil && !slices.Contains(f.Kinds, e.Kind) {
		return false
	}
	if f.IDs != nil && !contains(f.IDs, f.ids, e.ID) {
		return false
	}
	if f.Authors != nil && !contains(f.Authors, f.authors, e.PubKey) {
		return false
	}
	for name, values := range f.Tags {
		if values != nil && !f.matchesTag(name, values, e) {
			return false
		}
	}
	return true
}

func (f *Filter) matchesTag(name string, values []string, e *Event) bool {
	set := f.tags[name]
	for _, t := range e.Tags {
		if len(t) > 1 && t[0] == name && contains(values, set, t[1]) {
			return true
		}
	}
	return false
}

func contains(list []string, set map[string]struct{}, v string) bool {
	if set != nil {
		_, ok := set[v]
		return ok
	}
	return slices.Contains(list, v)
}
