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
	keys, peopled, ok := g.members()
	if !ok {
		return nil, false, nil
	}
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
	tags := nostr.Tags{{"d", id}}
	for _, key := range keys[:min(len(keys), MaxListed)] {
		tags = append(tags, nostr.Tag{"p", key})
	}
	at := max(b.opt.Now().Unix(), peopled, after+1)
	ev, err = b.opt.sign(kindMembers, at, tags)
	return ev, err == nil, err
}

// peopled returns the stamp of the newest change of who is a member.
func (b *Book) peopled(id string) (stamp int64, ok bool) {
	g := b.find(id)
	if g == nil {
		return 0, false
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.peopled, !g.deleted
}
