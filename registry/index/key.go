package index

import (
	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

// field is what a filter is filed under, most selective first.
type field uint8

const (
	byID field = iota
	byTag
	byAuthor
	byKind
	open
)

// key names one bucket. Unused fields are zero. It is built from an event's own
// strings, so a lookup allocates nothing.
type key struct {
	field  field
	letter byte   // byTag: the tag's name
	kind   int32  // byKind
	value  string // byID, byTag, byAuthor
}

// keysOf returns the keys under which h is filed, each once, and whether one
// event can hit two of them.
func keysOf(h *lifecycle.Handle) (keys []key, several bool) {
	for _, f := range h.Filters() {
		if !empty(f) {
			keys = appendKeys(keys, f)
		}
	}
	if len(h.Filters()) > 1 {
		keys = unique(keys)
	}
	return keys, canMeetTwice(keys)
}

// empty reports whether f has a list without values.
func empty(f *wire.Filter) bool {
	for _, values := range f.Tags {
		if values != nil && len(values) == 0 {
			return true
		}
	}
	return f.IDs != nil && len(f.IDs) == 0 ||
		f.Authors != nil && len(f.Authors) == 0 ||
		f.Kinds != nil && len(f.Kinds) == 0
}

func appendKeys(keys []key, f *wire.Filter) []key {
	if f.IDs != nil {
		for _, id := range f.IDs {
			keys = append(keys, key{field: byID, value: id})
		}
		return keys
	}
	if letter, values := narrowestTag(f); values != nil {
		for _, v := range values {
			keys = append(keys, key{field: byTag, letter: letter, value: v})
		}
		return keys
	}
	if f.Authors != nil {
		for _, a := range f.Authors {
			keys = append(keys, key{field: byAuthor, value: a})
		}
		return keys
	}
	if f.Kinds != nil {
		for _, k := range f.Kinds {
			keys = append(keys, key{field: byKind, kind: int32(k)})
		}
		return keys
	}
	return append(keys, key{field: open})
}

// narrowestTag returns the tag condition with the fewest values, the first by
// name of several, and nil values when there is none. It leaves out names that
// are not one byte, for which no client can ask.
func narrowestTag(f *wire.Filter) (letter byte, values []string) {
	for name, v := range f.Tags {
		if v == nil || len(name) != 1 {
			continue
		}
		if values == nil || len(v) < len(values) || len(v) == len(values) && name[0] < letter {
			letter, values = name[0], v
		}
	}
	return letter, values
}

func unique(keys []key) []key {
	seen := make(map[key]struct{}, len(keys))
	kept := keys[:0]
	for _, k := range keys {
		if _, again := seen[k]; !again {
			seen[k] = struct{}{}
			kept = append(kept, k)
		}
	}
	return kept
}

// canMeetTwice reports whether one event can hit two of the keys: it has one id,
// one author and one kind, but many tags.
func canMeetTwice(keys []key) bool {
	for _, k := range keys[min(1, len(keys)):] {
		if k.field != keys[0].field || k.field == byTag {
			return true
		}
	}
	return false
}
