package embedded

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// errLeft says that an entry of an index is what is left of an event that was removed
// unread.
var errLeft = fmt.Errorf("%w: there is no event where an index names one", errCorrupt)

// Damaged returns how often a stored event that cannot be read was left out of an answer,
// or removed unread. It does not lock.
func (s *Store) Damaged() uint64 { return s.damaged.Load() }

// leaveOut reports whether err says that an event is damaged, which is noted then. It is
// no reason to fail: whoever asks for many must get the others.
func (s *Store) leaveOut(err error) bool {
	if !errors.Is(err, errCorrupt) {
		return false
	}
	if !errors.Is(err, errLeft) {
		s.damaged.Add(1)
		s.opt.Logger.Error("stored event cannot be read and is left out", "err", err)
	}
	return true
}

// removeUnread removes the stored event at position, which is damaged, and says so to
// nobody: a feed is told of a removal by what the event was, and who may know of it hangs
// on its tags. What cannot be told stays in the indexes, where queries pass over it.
func (t *txn) removeUnread(position uint64, kind store.VoidKind, why error) error {
	value, ok, err := getValue(t.db, logKey(position))
	if err != nil || !ok || typeOf(value) == store.EntryVoid {
		return err
	}
	t.unread = append(t.unread, why)
	var prefix [8]byte
	if r, ok := salvage(value[min(1, len(value)):]); ok {
		prefix = store.PrefixOf(r.event)
		err = t.unindex(&r, position)
	}
	t.void(position, kind, prefix)
	return err
}

// salvage reads what the keys of an event are made of from a body that is JSON at least.
func salvage(body []byte) (r record, ok bool) {
	var seen struct {
		ID        string          `json:"id"`
		PubKey    string          `json:"pubkey"`
		CreatedAt nostr.Timestamp `json:"created_at"`
		Kind      int             `json:"kind"`
		Tags      nostr.Tags      `json:"tags"`
		Content   string          `json:"content"`
	}
	if json.Unmarshal(body, &seen) != nil {
		return r, false
	}
	r, err := newRecord(wire.NewEvent(nostr.Event{
		ID: seen.ID, PubKey: seen.PubKey, CreatedAt: seen.CreatedAt, Kind: seen.Kind, Tags: seen.Tags, Content: seen.Content,
	}))
	return r, err == nil
}

// unindex removes those of the keys of r that name position: what is damaged may have the
// id of another event.
func (t *txn) unindex(r *record, position uint64) (err error) {
	named := func(key []byte) bool {
		value, _, failed := t.get(key)
		err = errors.Join(err, failed)
		return beUint64(value) == position
	}
	drop := func(key []byte) {
		if named(key) {
			t.unset(key)
		}
	}
	r.indexKeys(drop)
	if t.marks.words {
		r.wordKeys(drop)
	}
	for _, key := range [][]byte{idKey(r.id), r.addressKey(spaceAddress)} {
		if key != nil && named(key) {
			t.decide(key, nil)
		}
	}
	return err
}
