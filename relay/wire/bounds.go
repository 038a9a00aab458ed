package wire

import "unicode/utf8"

// ValidSub reports whether id can name a subscription (NIP-01): 1 to MaxSubID
// characters of UTF-8.
func ValidSub(id string) bool {
	return id != "" && utf8.ValidString(id) && utf8.RuneCountInString(id) <= MaxSubID
}

// Values returns how many list values the filter holds.
func (f *Filter) Values() int {
	n := len(f.IDs) + len(f.Authors) + len(f.Kinds)
	for _, values := range f.Tags {
		n += len(values)
	}
	return n
}

// Weight returns what filters cost in memory, in no unit: for each filter one,
// one for each tag name and one for each list value, and one more for every further 64
// bytes of a tag value or a search.
func Weight(filters []*Filter) int {
	const unit = 64 // bytes
	n := 0
	for _, f := range filters {
		n += 1 + len(f.Tags) + f.Values() + len(f.Search)/unit
		for _, values := range f.Tags {
			for _, v := range values {
				n += (len(v) - 1) / unit // an id or key is 64 long and weighs one
			}
		}
	}
	return n
}
