package group

import (
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// memberList returns the list of members (kind 39002) as they are now: those with
// a privileged role first, then the others in the order of their keys, MaxListed at
// most. Its created_at is later than after, and not before the newest change. ok
// is false when there is no such group (any more).
func (b *Book) memberList(id string, after int64) (ev *wire.Event, ok bool, err error) {
	g := b.find(id)
	if g == nil {
		return nil, false, nil
	}
	tags, peopled, ok := g.list()
	if !ok {
		return nil, false, nil
	}
	at := max(b.opt.Now().Unix(), peopled, after+1)
	ev, err = b.opt.sign(kindMembers, at, tags)
	return ev, err == nil, err
}

// list returns the tags of the list of members.
func (g *group) list() (tags nostr.Tags, peopled int64, ok bool) {
	keys, peopled, ok := g.members()
	staff := g.staff()
	slices.SortFunc(keys, func(x, y string) int {
		_, xFirst := staff[x]
		_, yFirst := staff[y]
		switch {
		case xFirst == yFirst:
			return strings.Compare(x, y)
		case xFirst:
			return -1
		default:
			return 1
		}
	})
	tags = nostr.Tags{{"d", g.id}}
	for _, key := range keys[:min(len(keys), MaxListed)] {
		tags = append(tags, nostr.Tag{"p", key})
	}
	return tags, peopled, ok
}

// lists reports whether a stored list is that of the group as it is now, or there is
// no such group (any more).
func (b *Book) lists(id string, stored *wire.Event) bool {
	g := b.find(id)
	if g == nil {
		return true
	}
	tags, _, ok := g.list()
	return !ok || stored != nil && sameTags(stored.Tags, tags)
}

// correct returns the metadata or the list of admins, whichever kind says, as they
// are now, later than what is stored; nil when that says the same or there is no
// such group (any more).
func (b *Book) correct(kind int, id string, stored *wire.Event) (*wire.Event, error) {
	g := b.find(id)
	if g == nil {
		return nil, nil
	}
	as, tags := g.standing(""), nostr.Tags(nil)
	if kind == kindMetadata {
		tags = stateTags(id, as.meta.tags())
	} else {
		tags = stateTags(id, staffTags(g.staff()))
	}
	at := max(b.opt.Now().Unix(), as.stamp)
	switch {
	case as.deleted, stored != nil && sameTags(stored.Tags, tags):
		return nil, nil
	case stored != nil:
		at = max(at, int64(stored.CreatedAt)+1)
	}
	return b.opt.sign(kind, at, tags)
}

func sameTags(a, b nostr.Tags) bool { return slices.EqualFunc(a, b, slices.Equal) }
