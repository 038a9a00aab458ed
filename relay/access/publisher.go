package access

import "fencepost/relay/wire"

// MayHold says whether the holder of key may have streams of its own (package publish).
// Whether a frame may be written is decided as for every event. It does not block.
func (p *Policy) MayHold(key string) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	switch {
	case p.isBannedLocked(key):
		return whyBanned
	case p.rules.Members != MembersNone && !p.isMemberLocked(key):
		return wire.Because(wire.Restricted, "only members of this relay may publish")
	}
	return nil
}
