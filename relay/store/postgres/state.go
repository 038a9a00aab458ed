package postgres

import (
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// state is what the decisions of one commit rest on: as much of the database as they
// can ask for, under one version, and then what was decided already.
type state struct {
	version int64
	head    uint64
	due     []uint64 // positions of rows that the sweep has work with, oldest due first
	damaged []error  // of what the sweep or an erasure removes unread
	copying store.Copying

	byPosition map[uint64]*stored
	byID       map[[32]byte]*stored
	byAddress  map[string]*stored

	tombs        map[tomb]struct{}
	addressTombs map[string]int64 // address -> versions up to this created_at are deleted
	bans         map[[32]byte]struct{}
	epochs       map[string]store.Position // text(scope) -> position
	keys         map[[32]byte]int64        // erased up to this created_at
	groups       map[string]struct{}       // text(group), and with the key of Self after it
	fences       fences
}

// stored is an event that is stored.
type stored struct {
	position uint64
	id       [32]byte
	at       int64
	address  string
	event    *wire.Event // nil where no decision can need it, and where it is damaged
}

// tomb says that pubkey deleted id.
type tomb struct{ id, pubkey [32]byte }

func newState() *state {
	return &state{
		byPosition:   make(map[uint64]*stored),
		byID:         make(map[[32]byte]*stored),
		byAddress:    make(map[string]*stored),
		tombs:        make(map[tomb]struct{}),
		addressTombs: make(map[string]int64),
		bans:         make(map[[32]byte]struct{}),
		epochs:       make(map[string]store.Position),
		keys:         make(map[[32]byte]int64),
		groups:       make(map[string]struct{}),
		fences:       newFences(),
	}
}

// add notes a stored event, which may be known already without its wire form.
func (s *state) add(e *stored) {
	if known := s.byPosition[e.position]; known != nil {
		if known.event == nil {
			known.event = e.event
		}
		return
	}
	s.byPosition[e.position], s.byID[e.id] = e, e
	if e.address != "" {
		s.byAddress[e.address] = e
	}
}

func (s *state) drop(e *stored) {
	delete(s.byPosition, e.position)
	delete(s.byID, e.id)
	if e.address != "" {
		delete(s.byAddress, e.address)
	}
}

// moved returns the latest epoch of a scope that is not what a term says.
func (s *state) moved(terms []store.Term) (latest store.Position, moved bool) {
	for i := range terms {
		if epoch := s.epochs[string(text(terms[i].Scope))]; epoch != terms[i].Epoch {
			latest, moved = max(latest, epoch), true
		}
	}
	return latest, moved
}

// vanished reports whether a remembered erasure selects r, as store.Erasure.Selects
// does.
func (s *state) vanished(r *record) bool {
	if r.kind == store.KindVanish {
		return false
	}
	if s.erasedKey(r.pubkey, r) {
		return true
	}
	for _, tag := range r.event.Tags {
		if len(tag) > 1 && s.erasedTag(tag[0], tag[1], r) {
			return true
		}
	}
	if !ofGroup(r.kind) {
		return false
	}
	_, ok := s.groups[string(append(text(r.event.D()), r.pubkey[:]...))]
	return ok
}

func (s *state) erasedTag(name, value string, r *record) bool {
	switch {
	case name == "h":
		_, ok := s.groups[string(text(value))]
		return ok
	case name == "p" && r.kind == store.KindGiftWrap:
		key, ok := decode32(value)
		return ok && s.erasedKey(key, r)
	default:
		return false
	}
}

func (s *state) erasedKey(key [32]byte, r *record) bool {
	until, ok := s.keys[key]
	return ok && r.at <= until
}

// ofGroup reports whether kind is one of the relay's own that describe a group (NIP-29).
func ofGroup(kind int) bool { return kind >= 39000 && kind <= 39009 }
