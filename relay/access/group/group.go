package group

import (
	"slices"
	"sync"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/lifecycle"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// group is one group. It stays in the book when it is deleted, without members.
type group struct {
	// Set at construction, never changed.
	id      string
	creator string
	scope   *lifecycle.Scope

	mu sync.RWMutex // guards the fields below; held for computing only
	// +checklocks:mu
	epoch store.Position // the last row that named the group as a whole
	// +checklocks:mu
	removed map[string]removal // key -> what is kept of who was removed
	// +checklocks:mu
	deleted bool
	// +checklocks:mu
	meta *meta
	// +checklocks:mu
	roles map[string][]string // member -> its roles; a list never changes
	// +checklocks:mu
	privileged map[string]struct{} // members with a privileged role
	// +checklocks:mu
	codes map[string]struct{} // invite codes
	// +checklocks:mu
	pins nostr.Tags // replaced as a whole
	// +checklocks:mu
	stamp int64 // the highest created_at of the state that the relay has told, 39002 aside
	// +checklocks:mu
	turned int64 // stamp of the edit that changed private or hidden last; 0 for none
	// +checklocks:mu
	corrected bool // whether a Scribe tells of the state: it may be told in the wrong order
	// +checklocks:mu
	peopled int64 // stamp of the newest change of who is a member
}

func newGroup(id, creator string) *group {
	return &group{
		id:         id,
		creator:    creator,
		scope:      lifecycle.NewScope(0),
		meta:       &meta{},
		roles:      map[string][]string{},
		privileged: map[string]struct{}{},
		codes:      map[string]struct{}{},
		removed:    map[string]removal{},
	}
}

// removal is what a group keeps about a key that was removed.
type removal struct {
	epoch  store.Position // the last row that named the key in the group
	barred bool           // whether it may not join by itself
}

// standing is a group as one key finds it.
type standing struct {
	deleted bool
	meta    *meta
	member  bool
	roles   []string
	rank    rank // of the key as a member
	stamp   int64
	turned  int64
	barred  bool // whether the key may not join
}

// secret reports whether the key must not learn that there is the group.
func (s *standing) secret() bool { return s.meta.hidden && !s.member && s.rank < operator }

func (g *group) standing(key string) standing {
	g.mu.RLock()
	defer g.mu.RUnlock()
	s := standing{deleted: g.deleted, meta: g.meta, stamp: g.stamp, turned: g.turned, barred: g.removed[key].barred}
	if s.roles, s.member = g.roles[key]; s.member {
		s.rank = rankOf(s.roles)
	}
	return s
}

// isCorrected reports whether a key vanished of which the relay has told.
func (g *group) isCorrected() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.corrected
}

// size returns how many members there are.
func (g *group) size() int {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return len(g.roles)
}

// staff returns the members with a privileged role, each with all its roles.
func (g *group) staff() map[string][]string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	out := make(map[string][]string, len(g.privileged))
	for key := range g.privileged {
		out[key] = g.roles[key]
	}
	return out
}

// members returns all members and the stamp of the newest change of who they
// are, and false when the group was deleted.
func (g *group) members() (keys []string, peopled int64, ok bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	keys = make([]string, 0, len(g.roles))
	for key := range g.roles {
		keys = append(keys, key)
	}
	return keys, g.peopled, !g.deleted
}

// invites reports which of the codes are valid, and how many codes there are.
func (g *group) invites(codes []string) (valid []string, all int) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, c := range codes {
		if _, ok := g.codes[c]; ok {
			valid = append(valid, c)
		}
	}
	return valid, len(g.codes)
}

// shows reports whether the holder of keys may see ev of this group.
func (g *group) shows(ev *wire.Event, relayMade bool, keys []string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.deleted {
		return false
	}
	if relayMade {
		return !g.meta.closesState(ev.Kind) && !hides(ev) || g.anyLocked(keys)
	}
	if (g.meta.private || g.meta.hidden && tellsMetadata(ev) || hides(ev)) && !g.anyLocked(keys) {
		return false
	}
	if ev.Kind != kindJoin && ev.Kind != kindCreateInvite {
		return true
	}
	// They carry codes, which admit whoever knows them.
	return slices.Contains(keys, ev.PubKey) || slices.ContainsFunc(keys, g.privilegedLocked)
}

// closesState reports whether only members see the relay's events of kind about
// the group.
func (m *meta) closesState(kind int) bool {
	switch kind {
	case kindMetadata, kindAdmins, kindRoles:
		return m.hidden
	default:
		return m.hidden || m.private
	}
}

// tellsMetadata reports whether ev gives the metadata of a group.
func tellsMetadata(ev *wire.Event) bool {
	return ev.Kind == kindCreateGroup || ev.Kind == kindEditMetadata || ev.Kind == kindMetadata
}

// hides reports whether ev gives metadata by which its group is hidden or private.
// It stands in the log before the row that makes it so, and is judged as if it
// stood behind it.
func hides(ev *wire.Event) bool {
	if !tellsMetadata(ev) {
		return false
	}
	_, hidden := ev.Tag("hidden")
	_, private := ev.Tag("private")
	return hidden || private && ev.Kind != kindMetadata
}

// anyLocked reports whether one of the keys is a member.
func (g *group) anyLocked(keys []string) bool {
	for _, key := range keys {
		if _, ok := g.roles[key]; ok {
			return true
		}
	}
	return false
}

func (g *group) privilegedLocked(key string) bool {
	_, ok := g.privileged[key]
	return ok
}
