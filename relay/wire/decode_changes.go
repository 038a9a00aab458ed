package wire

import "github.com/nbd-wtf/go-nostr"

// changes reads what follows the verb CHANGES in a client's message.
func (d *decoder) changes() (*ChangesMessage, bool) {
	if !d.messageSub() {
		return nil, false
	}
	if !d.take(',') || !d.take('{') {
		return nil, d.fail("CHANGES needs an object")
	}
	m := &ChangesMessage{ID: d.sub}
	var f nostr.Filter
	var seen changesFields
	for n := 0; ; n++ {
		more, ok := d.element(n, '}')
		if !ok {
			return nil, false
		}
		if !more {
			break
		}
		key, ok := d.key()
		if !ok || !d.changesField(m, &f, key, &seen) {
			return nil, false
		}
	}
	m.Filter = NewFilter(f)
	m.Since = seen.cursor(m.Since)
	return m, d.messageEnd()
}

// changesFields marks the fields that occurred, beside those of a filter.
type changesFields struct {
	since, epoch, limit, live, removed bool
	name                               string // the value of epoch
	foreign                            bool   // since was a text that is no token
	filter                             filterFields
}

// cursor puts since and epoch together. One that contradicts itself is as foreign
// as a text that is no token.
func (s *changesFields) cursor(c Cursor) Cursor {
	if s.foreign || s.epoch && c.IsToken && c.Epoch != s.name {
		return Cursor{Foreign: true}
	}
	if s.epoch {
		c.Epoch = s.name
	}
	return c
}

func (d *decoder) changesField(m *ChangesMessage, f *nostr.Filter, key string, seen *changesFields) (ok bool) {
	once := func(flag *bool) bool {
		if *flag {
			return d.fail("CHANGES has a field twice: " + key)
		}
		*flag = true
		return true
	}
	switch key {
	case "since":
		return once(&seen.since) && d.since(m, seen)
	case "epoch":
		seen.name, ok = d.text(key)
		return ok && once(&seen.epoch)
	case "limit":
		m.HasLimit = true
		m.Limit, ok = d.integer(key)
		return ok && once(&seen.limit)
	case "live":
		m.Live, ok = d.boolean(key)
		return ok && once(&seen.live)
	case "removed":
		m.Removed, ok = d.boolean(key)
		return ok && once(&seen.removed)
	case "until", "search": // the one would cut a feed by time, the other needs what a removal has lost
		return d.refuse(Because(Unsupported, "CHANGES has no "+key))
	default:
		return d.filterField(f, key, &seen.filter)
	}
}

// since reads a position or a token. What is no token is for the caller to refuse: the
// client has to fetch everything anew, and is told so.
func (d *decoder) since(m *ChangesMessage, seen *changesFields) bool {
	if d.peek() != '"' {
		at, ok := d.integer("since")
		m.Since.Position = uint64(at)
		return ok
	}
	text, ok := d.text("since")
	if !ok {
		return false
	}
	var token bool
	m.Since, token = ParseToken(text)
	seen.foreign = !token
	return true
}

// relayChanges reads what follows the verb CHANGES in a relay's message.
func (d *decoder) relayChanges(m *RelayMessage) (ok bool) {
	if !d.relaySub(m) || !d.relayText("kind of change", &m.Change) {
		return false
	}
	switch m.Change {
	case "EVENT":
		if !d.relayPosition(m) || !d.take(',') {
			return d.fail("CHANGES EVENT needs a position and an event")
		}
		m.Event, ok = d.event()
		return ok
	case "REMOVED":
		return d.relayPosition(m) && d.relayText("event id", &m.ID)
	case "EOSE":
		return d.relayPosition(m) && d.relayMark(m)
	case "ERR":
		return d.relayOptional(&m.Text) && d.relayMark(m)
	default:
		return d.refuse(Because(Unsupported, "unknown kind of change"))
	}
}

func (d *decoder) relayPosition(m *RelayMessage) bool {
	if !d.take(',') {
		return d.fail("CHANGES has no position")
	}
	at, ok := d.integer("position")
	m.Position = uint64(at)
	return ok
}

// relayMark reads the object behind EOSE and ERR, if there is one.
func (d *decoder) relayMark(m *RelayMessage) bool {
	if !d.take(',') {
		return true
	}
	if !d.take('{') {
		return d.skip(maxDepth)
	}
	for n := 0; ; n++ {
		more, ok := d.element(n, '}')
		if !more {
			return ok
		}
		key, ok := d.key()
		if !ok || !d.relayMarkField(m, key) {
			return false
		}
	}
}

func (d *decoder) relayMarkField(m *RelayMessage, key string) (ok bool) {
	var n int64
	switch key {
	case "epoch":
		m.Epoch, ok = d.text(key)
	case "token":
		m.Token, ok = d.text(key)
	case "more":
		m.More, ok = d.boolean(key)
	case "floor":
		n, ok = d.integer(key)
		m.Floor = uint64(n)
	case "head":
		n, ok = d.integer(key)
		m.Head = uint64(n)
	default:
		ok = d.skip(maxDepth)
	}
	return ok
}
