package client

import (
	"maps"
	"slices"

	"fencepost/relay/wire"
)

// Set is a Keeper in memory. It is used by one goroutine at a time. The zero value is
// an empty set.
type Set struct {
	Token string // where the next Sync goes on

	events    map[string]*wire.Event // by id
	addresses map[string]*wire.Event // by address, for those that have one
}

// IDs returns the ids of all events, in rising order.
func (s *Set) IDs() []string { return slices.Sorted(maps.Keys(s.events)) }

// Stamps implements Holder.
func (s *Set) Stamps() ([]Stamp, error) {
	out := make([]Stamp, 0, len(s.events))
	for id, ev := range s.events {
		out = append(out, Stamp{At: ev.CreatedAt, ID: id})
	}
	return out, nil
}

// Add implements Keeper.
func (s *Set) Add(ev *wire.Event) error {
	if s.events == nil {
		s.events, s.addresses = make(map[string]*wire.Event), make(map[string]*wire.Event)
	}
	if address := ev.Address(); address != "" {
		old := s.addresses[address]
		if old != nil && newer(old, ev) {
			return nil
		}
		if old != nil {
			delete(s.events, old.ID)
		}
		s.addresses[address] = ev
	}
	s.events[ev.ID] = ev
	return nil
}

// newer reports whether a stays when both have one address (NIP-01).
func newer(a, b *wire.Event) bool {
	return a.CreatedAt > b.CreatedAt || a.CreatedAt == b.CreatedAt && a.ID < b.ID
}

// Remove implements Keeper.
func (s *Set) Remove(id string) error {
	ev := s.events[id]
	if ev == nil {
		return nil
	}
	delete(s.events, id)
	if address := ev.Address(); s.addresses[address] == ev {
		delete(s.addresses, address)
	}
	return nil
}

// Retain implements Keeper.
func (s *Set) Retain(keep func(id string) bool) error {
	for _, id := range s.IDs() {
		if !keep(id) {
			_ = s.Remove(id) // it cannot fail
		}
	}
	return nil
}

// Reached implements Keeper.
func (s *Set) Reached(token string) error {
	s.Token = token
	return nil
}
