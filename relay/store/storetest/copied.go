package storetest

import (
	"context"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// marks are those whose values may be hashes, by their keys.
type marks struct {
	addresses map[string]int64
	groups    map[string]struct{}
}

// buried reports whether a mark says that e is deleted.
func (m marks) buried(e *wire.Event) bool {
	if e.Address() == "" {
		return false
	}
	d := ""
	if e.Class() == wire.Addressable {
		d = e.D()
	}
	until, ok := m.addresses[string(store.AddressKey(e.Kind, unhex(e.PubKey), d))]
	return ok && int64(e.CreatedAt) <= until
}

// vanished reports whether a mark of a group selects e.
func (m marks) vanished(e *wire.Event) bool {
	for key := range m.groups {
		group, self := key[:len(key)-32], hex.EncodeToString([]byte(key[len(key)-32:]))
		for _, t := range e.Tags {
			if len(t) < 2 || string(store.AppendText(nil, t[1])) != group {
				continue
			}
			x := store.Erasure{Group: t[1], Self: self}
			if x.Selects(e) {
				return true
			}
		}
		if x := (store.Erasure{Group: e.D(), Self: self}); string(store.AppendText(nil, x.Group)) == group && x.Selects(e) {
			return true
		}
	}
	return false
}

// copiedLocked writes c as it is.
func (f *Fake) copiedLocked(c *store.Copied) (out store.Outcome) {
	if f.copying != c.Before || f.copying.Token == "" && len(f.rows) > 0 {
		return store.Outcome{Err: store.ErrCopy}
	}
	before := store.Position(len(f.rows))
	for _, r := range c.Rows {
		if r.Type == store.EntryControl {
			f.addControlLocked(*r.Control)
		} else {
			f.addLocked(store.EntryEvent, r.Event, expiry(r.Event))
		}
	}
	for _, m := range c.Marks {
		f.markLocked(m)
	}
	f.copying = c.After
	if head := store.Position(len(f.rows)); head > before {
		out.Position, out.Last = before+1, head
	}
	return out
}

func (f *Fake) markLocked(m store.Mark) {
	text := hex.EncodeToString(m.Key)
	switch m.Kind {
	case store.MarkTomb:
		f.tombs[text] = struct{}{}
	case store.MarkBan:
		f.banned[text] = struct{}{}
	case store.MarkKey:
		f.erased = append(f.erased, store.Erasure{Author: text, Until: m.Until})
	case store.MarkFence:
		stream, state, _ := m.Fence(f.now()) // the write was validated
		f.fences[stream] = state
	case store.MarkAddress:
		f.marked.addresses[string(m.Key)] = m.Until
	case store.MarkGroup:
		f.marked.groups[string(m.Key)] = struct{}{}
	}
}

// Copying is as in package transfer.
func (f *Fake) Copying(ctx context.Context) (store.Copying, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.copying, f.readyLocked(ctx)
}

// ReadStored is as in package transfer.
func (f *Fake) ReadStored(ctx context.Context, after store.Position, limit int) (out []store.Entry, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.readyLocked(ctx); err != nil {
		return nil, err
	}
	for _, r := range f.rows {
		if r.Position > after && len(out) < limit && (r.live() || r.Type == store.EntryControl) {
			out = append(out, r.Entry)
		}
	}
	return out, nil
}

// ReadMarks is as in package transfer.
func (f *Fake) ReadMarks(ctx context.Context, after store.Mark, limit int) ([]store.Mark, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.readyLocked(ctx); err != nil {
		return nil, err
	}
	all := slices.SortedFunc(maps.Values(f.marksLocked()), store.Mark.Compare)
	all = slices.DeleteFunc(all, func(m store.Mark) bool { return m.Compare(after) <= 0 })
	return all[:min(max(limit, 0), len(all))], nil
}

// marksLocked returns all marks by kind and key; the latest time of each key.
func (f *Fake) marksLocked() map[string]store.Mark {
	out := map[string]store.Mark{}
	add := func(kind store.MarkKind, key []byte, until int64) {
		name := string(append([]byte{byte(kind)}, key...))
		if known, ok := out[name]; !ok || known.Until < until {
			out[name] = store.Mark{Kind: kind, Key: key, Until: until}
		}
	}
	for text := range f.tombs {
		id, pubkey := unhex(text[:64]), unhex(text[64:])
		add(store.MarkTomb, append(id[:], pubkey[:]...), 0)
	}
	for text := range f.banned {
		id := unhex(text)
		add(store.MarkBan, id[:], 0)
	}
	for address, until := range f.buried {
		text, rest, _ := strings.Cut(address, ":")
		pubkey, d, _ := strings.Cut(rest, ":")
		kind, _ := strconv.Atoi(text) // store.Address wrote it
		add(store.MarkAddress, store.AddressKey(kind, unhex(pubkey), d), until)
	}
	for key, until := range f.marked.addresses {
		add(store.MarkAddress, []byte(key), until)
	}
	for _, x := range f.erased {
		if x.Group == "" {
			key := unhex(x.Author)
			add(store.MarkKey, key[:], x.Until)
			continue
		}
		self := unhex(x.Self)
		add(store.MarkGroup, append(store.AppendText(nil, x.Group), self[:]...), 0)
	}
	for stream, state := range f.fences {
		m := store.FenceMark(stream, state)
		out[string(append([]byte{byte(m.Kind)}, m.Key...))] = m
	}
	for key := range f.marked.groups {
		add(store.MarkGroup, []byte(key), 0)
	}
	return out
}

// unhex returns 32 bytes, zeros for what is no key.
func unhex(text string) (out [32]byte) {
	if len(text) == 64 {
		_, _ = hex.Decode(out[:], []byte(text)) // ids and keys are hex
	}
	return out
}
