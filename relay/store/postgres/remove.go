package postgres

import (
	"fencepost/relay/store"
)

// deleteTargets carries out the deletion request r (NIP-09), whose own row is written:
// each stored target is removed, and none may come back.
func (t *txn) deleteTargets(r *record) {
	for _, target := range store.Targets(r.event) {
		if target.ID == "" {
			t.deleteAddress(r, addressOf(target.Kind, r.pubkey, target.D))
		} else if id, ok := decode32(target.ID); ok {
			t.deleteID(r, id)
		}
	}
}

func (t *txn) deleteID(request *record, id [32]byte) {
	found := t.byID[id]
	// Without its wire form it is neither of this author nor a gift wrap.
	if found != nil && (found.event == nil || !store.MayDelete(request.event, found.event)) {
		return
	}
	mark := tomb{id: id, pubkey: request.pubkey}
	if _, ok := t.tombs[mark]; !ok {
		t.tombs[mark] = struct{}{}
		t.newTombs = append(t.newTombs, mark)
	}
	if found != nil {
		t.remove(found, store.CauseDeleted)
	}
}

func (t *txn) deleteAddress(request *record, address string) {
	if until, ok := t.addressTombs[address]; !ok || until < request.at {
		t.addressTombs[address], t.newAddressTombs[address] = request.at, request.at
	}
	if found := t.byAddress[address]; found != nil && found.at <= request.at {
		t.remove(found, store.CauseDeleted)
	}
}

// ban carries out what w bans, and then what it unbans.
func (t *txn) ban(w *store.Write) {
	for _, text := range w.Ban {
		id, _ := decode32(text) // Validate has seen that it is one
		if found := t.byID[id]; found != nil {
			t.remove(found, store.CauseOperator)
		}
		t.bans[id], t.banned[id] = struct{}{}, true
	}
	for _, text := range w.Unban {
		id, _ := decode32(text)
		delete(t.bans, id)
		t.banned[id] = false
	}
}

// remember marks what x selects as refused. Of a key the latest time counts.
func (t *txn) remember(x *store.Erasure) {
	if x.Group != "" {
		self, ok := decode32(x.Self)
		if !ok {
			self = [32]byte{}
		}
		g := group{name: text(x.Group), self: self}
		t.groups[string(g.name)] = struct{}{}
		t.groups[string(g.name)+string(self[:])] = struct{}{}
		t.newGroups = append(t.newGroups, g)
		return
	}
	key, _ := decode32(x.Author) // Validate has seen that it is one
	if until, ok := t.keys[key]; !ok || until < x.Until {
		t.keys[key], t.newKeys[key] = x.Until, x.Until
	}
}

// sweep works on the rows at these positions, which are due. What is no stored event
// is ephemeral.
func (t *txn) sweep(due []uint64) int {
	for _, position := range due {
		if found := t.byPosition[position]; found != nil {
			t.remove(found, store.CauseExpired)
		} else {
			t.voids = append(t.voids, void{position: position, kind: store.VoidEphemeral})
		}
	}
	return len(due)
}

// erase removes those of found that are still stored and that x selects.
func (t *txn) erase(x *store.Erasure, found []uint64) (n int) {
	for _, position := range found {
		e := t.byPosition[position]
		// Of what is damaged only that was found which the index selects.
		if e != nil && (e.event == nil || x.Selects(e.event)) {
			t.remove(e, x.Cause)
			n++
		}
	}
	return n
}

// remove removes e and says so in the log, unless it is damaged.
func (t *txn) remove(e *stored, cause store.RemovalCause) {
	if e.event == nil {
		t.removeUnread(e)
		return
	}
	removal := store.NewRemoval(cause, store.Position(e.position), e.event)
	by := t.push(row{Entry: store.Entry{Type: store.EntryRemoval, Removal: removal, Prefix: store.PrefixOf(e.event)}})
	t.void(e, store.VoidRemoved, uint64(by))
}

// void takes e, which the row at position by removes, out of what is stored.
func (t *txn) void(e *stored, kind store.VoidKind, by uint64) {
	t.drop(e)
	if e.position < t.first {
		t.voids = append(t.voids, void{position: e.position, kind: kind, by: by})
		return
	}
	r := &t.rows[e.position-t.first]
	*r = row{Entry: store.Entry{Position: r.Position, Type: store.EntryVoid, Void: kind, Prefix: r.Prefix}}
}
