package group

import (
	"slices"
	"strconv"

	"github.com/nbd-wtf/go-nostr"
)

// meta is the metadata of a group, without its id. It never changes once made.
type meta struct {
	name, picture, banner, about string

	private    bool // only members read
	restricted bool // only members write
	hidden     bool // only members see the metadata
	closed     bool // joining needs an invite code
	livekit    bool

	limited bool  // whether kinds counts
	kinds   []int // the supported ones

	parent   string // "" for a root
	attested string // who made parent the parent

	children       nostr.Tags // child tags as they were given
	closedChildren bool
}

// ruins are the metadata of deleted groups: private, hidden.
var ruins = map[[2]bool]*meta{
	{false, false}: {},
	{false, true}:  {hidden: true},
	{true, false}:  {private: true},
	{true, true}:   {private: true, hidden: true},
}

// remains returns what a deleted group keeps, which all of them share: there are as
// many as there ever were.
func remains(m *meta) *meta { return ruins[[2]bool{m.private, m.hidden}] }

// supports reports whether events of kind may be published in the group.
func (m *meta) supports(kind int) bool {
	return !m.limited || kind == kindDeletion || isRequest(kind) || slices.Contains(m.kinds, kind)
}

// equal reports whether both say the same.
func (m *meta) equal(o *meta) bool { return sameTags(m.tags(), o.tags()) }

// turns reports whether one of both closes to readers what the other leaves open.
func (m *meta) turns(o *meta) bool { return m.private != o.private || m.hidden != o.hidden }

// lists reports whether the group says that id is among its children.
func (m *meta) lists(id string) bool {
	return slices.ContainsFunc(m.children, func(t nostr.Tag) bool { return t[1] == id })
}

// tags returns the metadata as in kind 39000, without the d tag. metaOf reads
// them back.
func (m *meta) tags() nostr.Tags {
	var out nostr.Tags
	for _, f := range []struct{ name, value string }{
		{"name", m.name}, {"picture", m.picture}, {"banner", m.banner}, {"about", m.about},
	} {
		if f.value != "" {
			out = append(out, nostr.Tag{f.name, f.value})
		}
	}
	for _, f := range m.flags() {
		if *f.set {
			out = append(out, nostr.Tag{f.name})
		}
	}
	if m.limited {
		t := nostr.Tag{"supported_kinds"}
		for _, k := range m.kinds {
			t = append(t, strconv.Itoa(k))
		}
		out = append(out, t)
	}
	if m.parent != "" {
		out = append(out, nostr.Tag{"parent", m.parent, m.attested})
	}
	return append(out, m.children...)
}

// size returns how many bytes the tags hold.
func (m *meta) size() (n int) {
	for _, t := range m.tags() {
		for _, s := range t {
			n += len(s)
		}
	}
	return n
}

type flag struct {
	name, negation string
	set            *bool
}

// flags returns the fields that are there or not.
func (m *meta) flags() []flag {
	return []flag{
		{"private", "public", &m.private},
		{"restricted", "unrestricted", &m.restricted},
		{"hidden", "visible", &m.hidden},
		{"closed", "open", &m.closed},
		{"livekit", "no-livekit", &m.livekit},
		{"closed-children", "", &m.closedChildren},
	}
}

// metaOf reads what tags wrote.
func metaOf(tags nostr.Tags) *meta {
	m := &meta{}
	flags := m.flags()
	for _, t := range tags {
		switch value := second(t); t[0] {
		case "name":
			m.name = value
		case "picture":
			m.picture = value
		case "banner":
			m.banner = value
		case "about":
			m.about = value
		case "supported_kinds":
			m.limited = true
			for _, s := range t[1:] {
				if k, err := strconv.Atoi(s); err == nil {
					m.kinds = append(m.kinds, k)
				}
			}
		case "parent":
			m.parent = value
			if len(t) > 2 {
				m.attested = t[2]
			}
		case "child":
			if len(t) > 1 {
				m.children = append(m.children, t)
			}
		default:
			for _, f := range flags {
				*f.set = *f.set || f.name == t[0]
			}
		}
	}
	return m
}

// second returns the value of a tag, "" when it has none.
func second(t nostr.Tag) string {
	if len(t) < 2 {
		return ""
	}
	return t[1]
}
