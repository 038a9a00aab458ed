package store

import (
	"errors"

	"fencepost/relay/wire"
)

// Decisions of Append about what permissions and removals say.
var (
	ErrMoved    = errors.New("a permission moved since the decision")
	ErrBanned   = errors.New("id is banned")
	ErrVanished = errors.New("its author asked to vanish")
)

// Write is what Append commits or refuses as one: an event with what follows
// from it, or, without one, control rows alone. Everything in it has been
// verified and decided about; nothing of it is written when Event is refused.
type Write struct {
	// Event may be nil. When it is already stored, superseded, deleted, banned,
	// vanished or expired, that is the outcome of the write.
	Event *wire.Event
	// Terms are what the decision to write rests on: ErrMoved when the epoch of one
	// of the scopes is another, which leaves the write out of the commit.
	Terms []Term
	// Also are events of the relay's own key, in the order in which they take
	// positions, after Event. One that is already stored or superseded is left out.
	Also []*wire.Event
	// Controls take positions after them.
	Controls []Control
	// Ban removes the events of these ids and refuses them from now on; Unban ends
	// that. Neither brings a removed event back.
	Ban, Unban []string
	// Erase is remembered: what it selects and is not stored is refused from now on
	// with ErrVanished. What is stored is removed by Erase of the store.
	Erase *Erasure
}

// Term names a scope and the epoch that it had when somebody decided. The epoch of
// a scope is the position of the last control row that named it, 0 for none.
type Term struct {
	Scope string
	Epoch Position
}

// Control is a change of access or configuration. The store keeps it, gives it a
// position, and moves the epochs of its scopes in the same transaction.
type Control struct {
	Scopes []string // in which something is taken away; none for what only widens
	Data   []byte   // in the language of package access
}

// Erasure selects events for removal: those of Author and the gift wraps (kinds
// 1059) addressed to it, each up to the created_at Until, requests to vanish
// (kind 62) aside; or all of Group: with that h tag, and with that d tag and a
// kind of 39000 to 39009 by the author Self.
type Erasure struct {
	Author string
	Until  int64 // Unix seconds, inclusive

	Group string
	Self  string

	Cause RemovalCause // of the removal rows
}

// Selects reports whether e is to be erased. It is the slow, obvious definition
// that stores are compared with.
func (x *Erasure) Selects(e *wire.Event) bool {
	if x.Group != "" {
		return hasTag(e, "h", x.Group) ||
			e.PubKey == x.Self && e.Kind >= 39000 && e.Kind <= 39009 && e.D() == x.Group
	}
	if e.Kind == KindVanish || int64(e.CreatedAt) > x.Until {
		return false
	}
	return e.PubKey == x.Author || e.Kind == KindGiftWrap && hasTag(e, "p", x.Author)
}

func hasTag(e *wire.Event, name, value string) bool {
	for _, t := range e.Tags {
		if len(t) > 1 && t[0] == name && t[1] == value {
			return true
		}
	}
	return false
}
