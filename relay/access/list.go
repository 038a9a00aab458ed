package access

import (
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// maxListed is how many members the relay's list names at most: NIP-43 does not
// demand that it is complete, and every reader of it gets all of it.
const maxListed = 5000

// list returns the list of members as it is now (NIP-43); nil on a relay without
// membership, and when stored, the list that is stored or nil, says the same
// already. Its created_at is beyond that of stored, which it would not replace
// otherwise.
func (p *Policy) list(stored *wire.Event) (*wire.Event, error) {
	tags, ok := p.memberTags()
	if !ok || stored != nil && slices.EqualFunc(stored.Tags, tags, slices.Equal) {
		return nil, nil
	}
	ev := nostr.Event{Kind: kindList, CreatedAt: nostr.Timestamp(p.now().Unix()), Tags: tags}
	if stored != nil {
		ev.CreatedAt = max(ev.CreatedAt, stored.CreatedAt+1)
	}
	if err := p.sign(&ev); err != nil {
		return nil, fmt.Errorf("sign kind %d: %w", kindList, err)
	}
	return wire.NewEvent(ev), nil
}

// memberTags returns the tags of the list, in the order of the keys.
func (p *Policy) memberTags() (tags nostr.Tags, ok bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.rules.Members == MembersNone {
		return nil, false
	}
	keys := make([]string, 0, len(p.state.members))
	for key := range p.state.members {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	tags = nostr.Tags{{"-"}}
	for _, key := range keys[:min(len(keys), maxListed)] {
		tags = append(tags, nostr.Tag{"member", key})
	}
	return tags, true
}

// listChanged wakes the Scribe: who is a member, or whether there are any, may have
// changed.
func (p *Policy) listChanged() {
	select {
	case p.peopled <- struct{}{}:
	default:
	}
}
