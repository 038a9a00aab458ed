package group

import (
	"slices"

	"fencepost/relay/wire"
)

// verdict is what a filter or one group of it is to a reader.
type verdict uint8

const (
	open    verdict = iota
	members         // closed to this reader, open to members
	gone            // closed to everybody
)

// MayRead refuses a REQ or COUNT when all that its filters ask for is closed to
// the holder of keys. A filter is closed when it asks, by #h or by #d with the
// kinds of group state, only for groups that the reader may not read. A hidden
// group is as if it were not there. The refusal is a wire.Reason: auth-required
// without keys, if one could help, else restricted.
func (b *Book) MayRead(keys []string, filters []*wire.Filter) error {
	return b.judge(keys, filters, func(string) bool { return false })
}

// LostIn is MayRead for subscriptions that have run, after a change in that group,
// "" for none: that group is refused although it is hidden. Other hidden groups are
// as if they were not there: whoever asks for one must not learn of it when
// something changes elsewhere.
func (b *Book) LostIn(group string, keys []string, filters []*wire.Filter) error {
	return b.judge(keys, filters, func(id string) bool { return id == group })
}

// judge asks told whether the reader may learn of a hidden group.
func (b *Book) judge(keys []string, filters []*wire.Filter, told func(id string) bool) error {
	if len(filters) == 0 || !b.Hidden() {
		return nil
	}
	helps := false
	for _, f := range filters {
		switch b.filter(keys, f, told) {
		case open:
			return nil
		case members:
			helps = true
		}
	}
	switch {
	case helps && len(keys) == 0:
		return wire.Because(wire.AuthRequired, "only members may read this group")
	case helps:
		return restricted("only members may read this group")
	default:
		return restricted("this group was deleted")
	}
}

func (b *Book) filter(keys []string, f *wire.Filter, told func(id string) bool) verdict {
	v := b.all(f.Tags["h"], keys, told, (*meta).closesEvents)
	if v != open || len(f.Kinds) == 0 || slices.ContainsFunc(f.Kinds, func(k int) bool { return !isState(k) }) {
		return v
	}
	return b.all(f.Tags["d"], keys, told, func(m *meta) bool {
		return !slices.ContainsFunc(f.Kinds, func(k int) bool { return !m.closesState(k) })
	})
}

// closesEvents reports whether only members see the events of the group.
func (m *meta) closesEvents() bool { return m.private }

// all is open when one of the groups is: closes says what only members see.
func (b *Book) all(ids, keys []string, told func(id string) bool, closes func(*meta) bool) verdict {
	result := open
	for i, id := range ids {
		v := open
		if g := b.find(id); g != nil {
			v = g.verdict(keys, told(id), closes)
		}
		if v == open {
			return open
		}
		if i == 0 || v == members {
			result = v
		}
	}
	return result
}

func (g *group) verdict(keys []string, told bool, closes func(*meta) bool) verdict {
	g.mu.RLock()
	defer g.mu.RUnlock()
	switch {
	case g.meta.hidden && !told && !g.anyLocked(keys):
		return open
	case g.deleted:
		return gone
	case closes(g.meta) && !g.anyLocked(keys):
		return members
	default:
		return open
	}
}
