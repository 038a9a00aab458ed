package postgres

import (
	"maps"
	"slices"
	"time"

	"fencepost/lifecycle/fence"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// need is what the decisions of one commit can ask for.
type need struct {
	ids       map[[32]byte]struct{} // events stored under them, tombs and bans
	banned    map[[32]byte]struct{} // of these the wire form
	deleters  map[[32]byte]struct{} // of the named events of these authors the wire form
	addresses map[string]struct{}
	deleted   map[string]struct{} // of these addresses the wire form
	scopes    map[string]struct{} // text(scope)
	keys      map[[32]byte]struct{}
	groups    map[string]struct{} // text(group)
	fences    map[fence.Stream]struct{}
	owners    map[[32]byte]struct{} // of streams that may be made

	positions []uint64  // of events to erase
	until     time.Time // of a sweep; zero for none
	copying   bool      // how far a copy is
}

// needOf returns what the writes of requests need. What is refused unread is left out.
func needOf(requests []*request) *need {
	n := &need{
		ids:       make(map[[32]byte]struct{}),
		banned:    make(map[[32]byte]struct{}),
		deleters:  make(map[[32]byte]struct{}),
		addresses: make(map[string]struct{}),
		deleted:   make(map[string]struct{}),
		scopes:    make(map[string]struct{}),
		keys:      make(map[[32]byte]struct{}),
		groups:    make(map[string]struct{}),
		fences:    make(map[fence.Stream]struct{}),
		owners:    make(map[[32]byte]struct{}),
	}
	for _, r := range requests {
		n.positions = append(n.positions, r.Found...)
		if r.IsSweep() {
			n.until = r.Until
		}
		for i := range r.Writes {
			n.add(&r.Writes[i])
		}
	}
	return n
}

func (n *need) add(w *store.Write) {
	event, also, err := prepare(w)
	if err != nil {
		return
	}
	n.copying = n.copying || w.Copied != nil
	if event != nil {
		also = append(also, event)
	}
	for _, r := range also {
		n.event(r)
	}
	if w.Fence != nil {
		n.fences[w.Fence.Stream] = struct{}{}
		if w.Fence.Change != nil {
			owner, _ := decode32(w.Fence.Stream.Owner) // prepare has seen that it is one
			n.owners[owner] = struct{}{}
		}
	}
	for i := range w.Terms {
		n.scopes[string(text(w.Terms[i].Scope))] = struct{}{}
	}
	for _, list := range [][]string{w.Ban, w.Unban} {
		for _, text := range list {
			id, _ := decode32(text) // prepare has seen that it is one
			n.ids[id], n.banned[id] = struct{}{}, struct{}{}
		}
	}
	if w.Erase != nil && w.Erase.Group == "" {
		key, _ := decode32(w.Erase.Author)
		n.keys[key] = struct{}{}
	}
}

func (n *need) event(r *record) {
	n.ids[r.id] = struct{}{}
	n.keys[r.pubkey] = struct{}{}
	if r.address != "" {
		n.addresses[r.address] = struct{}{}
	}
	for _, tag := range r.event.Tags {
		if len(tag) < 2 {
			continue
		}
		switch tag[0] {
		case "h":
			n.groups[string(text(tag[1]))] = struct{}{}
		case "p":
			if key, ok := decode32(tag[1]); ok && r.kind == store.KindGiftWrap {
				n.keys[key] = struct{}{}
			}
		}
	}
	if ofGroup(r.kind) {
		n.groups[string(text(r.event.D()))] = struct{}{}
	}
	if r.kind == store.KindDeletion && r.event.Class() == wire.Regular {
		n.targets(r)
	}
}

func (n *need) targets(r *record) {
	n.deleters[r.pubkey] = struct{}{}
	for _, target := range store.Targets(r.event) {
		if target.ID == "" {
			address := addressOf(target.Kind, r.pubkey, target.D)
			n.addresses[address], n.deleted[address] = struct{}{}, struct{}{}
		} else if id, ok := decode32(target.ID); ok {
			n.ids[id] = struct{}{}
		}
	}
}

// list32 and listText return the members as arguments of a statement.
func list32(set map[[32]byte]struct{}) [][]byte {
	out := make([][]byte, 0, len(set))
	for key := range set {
		out = append(out, slices.Clone(key[:]))
	}
	return out
}

func listText(set map[string]struct{}) [][]byte {
	out := make([][]byte, 0, len(set))
	for key := range maps.Keys(set) {
		out = append(out, []byte(key))
	}
	return out
}
