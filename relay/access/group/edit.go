package group

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/nbd-wtf/go-nostr"
)

// edit is what a request says about the metadata of a group.
type edit struct {
	given    map[string]nostr.Tag // field -> its tag; a negation is given for its field
	children nostr.Tags           // child tags with a value
	wantsAny bool                 // a child tag was given, with a value or without
}

// parseEdit reads the fields of kind 39000 and the negations of its flags. Other
// tags are left alone, as NIP-29 wants.
func parseEdit(tags nostr.Tags) (*edit, error) {
	e := &edit{given: map[string]nostr.Tag{}}
	for _, t := range tags {
		if len(t) == 0 {
			continue
		}
		field := fieldOf(t[0])
		if field == "" {
			continue
		}
		if field == "child" {
			if err := e.addChild(t); err != nil {
				return nil, err
			}
			continue
		}
		if _, again := e.given[field]; again {
			return nil, invalid(field + " is said twice")
		}
		e.given[field] = t
	}
	return e, nil
}

// fieldOf returns the field that a tag of that name sets, "" for none.
func fieldOf(name string) string {
	switch name {
	case "name", "picture", "banner", "about", "supported_kinds", "parent", "child":
		return name
	}
	for _, f := range (&meta{}).flags() {
		if name == f.name || name == f.negation && name != "" {
			return f.name
		}
	}
	return ""
}

func (e *edit) addChild(t nostr.Tag) error {
	e.wantsAny = true
	if second(t) == "" {
		return nil // a child tag without a value empties the list
	}
	if !validID(t[1]) {
		return invalid("a child tag names no group")
	}
	for _, s := range t {
		if len(t) > maxElements || len(s) > maxMark || !utf8.ValidString(s) {
			return invalid("a child tag is too long")
		}
	}
	if slices.ContainsFunc(e.children, func(o nostr.Tag) bool { return o[1] == t[1] }) {
		return invalid("a child is listed twice")
	}
	if e.children = append(e.children, t); len(e.children) > maxListing {
		return invalid("a group lists at most 100 children")
	}
	return nil
}

// empty reports whether nothing is given.
func (e *edit) empty() bool { return len(e.given) == 0 && !e.wantsAny }

// whole reports whether the request gives all of the metadata: a name and
// something besides. What it lacks is then dropped; otherwise only what is given
// changes.
func (e *edit) whole() bool {
	_, named := e.given["name"]
	return named && (len(e.given) > 1 || e.wantsAny)
}

// parent returns the parent that is asked for, and whether one is, "" for none.
func (e *edit) parent() (id string, asked bool) {
	t, given := e.given["parent"]
	return second(t), given || e.whole()
}

// apply returns old with what is given, the parent aside.
func (e *edit) apply(old *meta) (*meta, error) {
	m := *old
	if e.whole() {
		// A client that forgets a flag must not open a private group by that.
		m = meta{
			private: old.private, restricted: old.restricted, hidden: old.hidden, closed: old.closed,
			parent: old.parent, attested: old.attested,
		}
	}
	for _, f := range m.flags() {
		if t, ok := e.given[f.name]; ok {
			*f.set = t[0] == f.name
		}
	}
	_, closedChildren := e.given["closed-children"]
	if e.wantsAny || closedChildren { // the two are one field
		m.children, m.closedChildren = e.children, closedChildren
	}
	if err := e.applyKinds(&m); err != nil {
		return nil, err
	}
	if err := e.applyTexts(&m); err != nil {
		return nil, err
	}
	if m.size() > maxMetadata {
		return nil, invalid("the metadata of a group has at most 8192 bytes in all")
	}
	return &m, nil
}

func (e *edit) applyTexts(m *meta) error {
	for _, f := range []struct {
		name string
		to   *string
		max  int
	}{
		{"name", &m.name, maxTitle},
		{"picture", &m.picture, maxURL},
		{"banner", &m.banner, maxURL},
		{"about", &m.about, maxText},
	} {
		t, ok := e.given[f.name]
		if !ok {
			continue
		}
		value := second(t)
		if len(value) > f.max || !utf8.ValidString(value) {
			return invalid(f.name + " has at most " + strconv.Itoa(f.max) + " bytes")
		}
		*f.to = value
	}
	return nil
}

func (e *edit) applyKinds(m *meta) error {
	t, ok := e.given["supported_kinds"]
	if !ok {
		return nil
	}
	if len(t)-1 > maxKinds {
		return invalid("a group supports at most 256 kinds, or all")
	}
	m.limited, m.kinds = true, nil
	for _, s := range t[1:] {
		k, err := strconv.ParseUint(s, 10, 16)
		if err != nil || strconv.FormatUint(k, 10) != s {
			return invalid("supported_kinds lists plain numbers from 0 to 65535")
		}
		if !slices.Contains(m.kinds, int(k)) {
			m.kinds = append(m.kinds, int(k))
		}
	}
	return nil
}
