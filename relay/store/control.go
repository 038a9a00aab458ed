package store

import (
	"errors"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// Decisions of Append about what permissions and removals say.
var (
	ErrMoved    = errors.New("a permission moved since the decision")
	ErrBanned   = errors.New("id is banned")
	ErrVanished = errors.New("erased for good") // by its author's request, or with its group
)

var errInvalid = errors.New("write names no id, key or group")

// Write is what Append commits or refuses as one: an event with what follows
// from it, or, without one, what an operator decides. Everything in it has been
// verified and decided about, and is not changed any more once it is handed over.
// Nothing of it is written when Event is refused. Its rows take positions in this
// order: Event, Controls, Also, the removals of Ban; what a deletion request
// removes follows the request. So Also, which tells of the change, is seen by those
// who may see it after the change.
type Write struct {
	// Event may be nil. When it is already stored, banned, vanished, deleted, expired
	// or superseded, that is the outcome of the write. Ephemeral events are refused
	// when they are banned, vanished or expired.
	Event *wire.Event
	// Terms are what the decision to write rests on: ErrMoved when the epoch of one
	// of the scopes is another, which leaves the write out of the commit. They are
	// compared with everything committed before, earlier writes of the same commit
	// included. A moved term comes before every other refusal of Event but
	// ErrDuplicate.
	Terms []Term
	// Controls move the epochs of their scopes.
	Controls []Control
	// Also are events of the relay's own key. One that would be refused, for whatever
	// reason, is left out.
	Also []*wire.Event
	// Ban removes the events of these ids, with CauseOperator, and refuses them from
	// now on with ErrBanned, stored before or not; Unban ends that and comes after
	// Ban. Neither brings a removed event back.
	Ban, Unban []string
	// Erase is remembered, after everything else of the write: what it selects is
	// refused from now on with ErrVanished, for ever. What is stored is removed by
	// Erase of the store.
	Erase *Erasure
	// Fence, unless it is nil, says in which stream Event is a frame, or changes a fence.
	Fence *Fence

	// Copied is part of another store, and everything else is empty then.
	Copied *Copied
}

// Validate returns an error for a write that names nothing: an id to ban that is
// no id, an erasure without the key of an author and without a group. No store
// writes anything of it.
func (w *Write) Validate() error {
	for _, ids := range [][]string{w.Ban, w.Unban} {
		for _, id := range ids {
			if !nostr.IsValid32ByteHex(id) {
				return errInvalid
			}
		}
	}
	if w.Copied != nil {
		return w.Copied.validate()
	}
	if w.Fence != nil {
		if err := w.Fence.validate(w); err != nil {
			return err
		}
	}
	if w.Erase != nil {
		return w.Erase.Validate()
	}
	return nil
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

// Erasure selects events for removal: those of Author and the gift wraps (kind
// 1059) addressed to it, each up to the created_at Until; or, when Group is set, all
// with that h tag, and those with that d tag, a kind of 39000 to 39009 and the
// author Self. Requests to vanish (kind 62) are never among them.
type Erasure struct {
	Author string
	Until  int64 // Unix seconds, inclusive

	Group string
	Self  string

	Cause RemovalCause // of the removal rows
}

// Validate returns an error for an erasure that names neither a key nor a group.
func (x *Erasure) Validate() error {
	if x.Group == "" && !nostr.IsValid32ByteHex(x.Author) {
		return errInvalid
	}
	return nil
}

// Selects reports whether e is to be erased. It is the slow, obvious definition
// that stores are compared with.
func (x *Erasure) Selects(e *wire.Event) bool {
	if e.Kind == KindVanish {
		return false
	}
	if x.Group != "" {
		return hasTag(e, "h", x.Group) ||
			e.PubKey == x.Self && e.Kind >= 39000 && e.Kind <= 39009 && e.D() == x.Group
	}
	if int64(e.CreatedAt) > x.Until {
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
