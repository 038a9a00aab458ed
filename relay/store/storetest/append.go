package storetest

import (
	"slices"
	"time"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// appendLocked decides about e and, when it is to be stored, adds its rows.
func (f *Fake) appendLocked(e *wire.Event, now time.Time) store.Outcome {
	ephemeral := e.Class() == wire.Ephemeral
	if first, ok := f.storedLocked(e); ok {
		return store.Outcome{Position: first, Err: store.ErrDuplicate}
	}
	switch {
	case f.bannedLocked(e):
		return store.Outcome{Err: store.ErrBanned}
	case f.vanishedLocked(e):
		return store.Outcome{Err: store.ErrVanished}
	case !ephemeral && f.deletedLocked(e):
		return store.Outcome{Err: store.ErrDeleted}
	case e.Expired(now.Unix()):
		return store.Outcome{Err: store.ErrExpired}
	case ephemeral:
		return store.Outcome{Position: f.addLocked(store.EntryEphemeral, e, now.Add(store.EphemeralAge))}
	case !f.supersedeLocked(e):
		return store.Outcome{Err: store.ErrSuperseded}
	}
	position := f.addLocked(store.EntryEvent, e, expiry(e))
	if e.Kind == store.KindDeletion {
		for _, target := range store.Targets(e) {
			f.deleteLocked(e, target)
		}
	}
	return store.Outcome{Position: position}
}

// storedLocked returns where e is stored.
func (f *Fake) storedLocked(e *wire.Event) (store.Position, bool) {
	first, ok := find(f.rows, func(o *wire.Event) bool { return o.ID == e.ID })
	return first.Position, ok
}

// deletedLocked reports whether an earlier request forbids e.
func (f *Fake) deletedLocked(e *wire.Event) bool {
	if e.Kind == store.KindDeletion {
		return false
	}
	for _, owner := range store.Owners(e) {
		if _, ok := f.tombs[e.ID+owner]; ok {
			return true
		}
	}
	until, ok := f.buried[e.Address()]
	return ok && int64(e.CreatedAt) <= until || f.marked.buried(e)
}

// supersedeLocked voids the version that e replaces; false when that one stays.
func (f *Fake) supersedeLocked(e *wire.Event) bool {
	address := e.Address()
	if address == "" {
		return true
	}
	old, ok := find(f.rows, func(o *wire.Event) bool { return o.Address() == address })
	if !ok {
		return true
	}
	if store.Newer(old.Event, e) {
		return false
	}
	f.voidLocked(old.Position, store.VoidReplaced)
	return true
}

// deleteLocked carries out one target of a request and forbids its return.
func (f *Fake) deleteLocked(request *wire.Event, target store.Target) {
	if target.ID == "" {
		f.deleteAddressLocked(request, target)
		return
	}
	stored, ok := find(f.rows, func(o *wire.Event) bool { return o.ID == target.ID })
	if ok && !store.MayDelete(request, stored.Event) {
		return
	}
	f.tombs[target.ID+request.PubKey] = struct{}{}
	if ok {
		f.removeLocked(stored, store.CauseDeleted)
	}
}

func (f *Fake) deleteAddressLocked(request *wire.Event, target store.Target) {
	address := store.Address(target.Kind, request.PubKey, target.D)
	at := int64(request.CreatedAt)
	if until, ok := f.buried[address]; !ok || at > until {
		f.buried[address] = at
	}
	stored, ok := find(f.rows, func(o *wire.Event) bool { return o.Address() == address })
	if ok && int64(stored.Event.CreatedAt) <= at {
		f.removeLocked(stored, store.CauseDeleted)
	}
}

func (f *Fake) removeLocked(stored store.Entry, cause store.RemovalCause) {
	f.voidLocked(stored.Position, store.VoidRemoved)
	f.rows = append(f.rows, row{Entry: store.Entry{
		Position: store.Position(len(f.rows)) + 1,
		Type:     store.EntryRemoval,
		Removal:  store.NewRemoval(cause, stored.Position, stored.Event),
		Prefix:   stored.Prefix,
	}})
}

func (f *Fake) addLocked(t store.EntryType, e *wire.Event, due time.Time) store.Position {
	position := store.Position(len(f.rows)) + 1
	f.rows = append(f.rows, row{
		Entry: store.Entry{Position: position, Type: t, Event: e, Prefix: store.PrefixOf(e)},
		due:   due,
	})
	return position
}

// voidLocked works on a copy: snapshots keep the rows that they were given.
func (f *Fake) voidLocked(position store.Position, kind store.VoidKind) {
	f.rows = slices.Clone(f.rows)
	r := &f.rows[position-1]
	*r = row{Entry: store.Entry{Position: position, Type: store.EntryVoid, Prefix: r.Prefix, Void: kind}}
}

// farFuture is the last expiry that the fake's sweep knows, in Unix seconds;
// time.Time overflows not far from the largest that NIP-40 can say.
const farFuture = 1 << 40

// expiry returns when the sweep takes e, zero for never.
func expiry(e *wire.Event) time.Time {
	if at, ok := e.Expires(); ok && at < farFuture {
		return time.Unix(at, 0)
	}
	return time.Time{}
}
