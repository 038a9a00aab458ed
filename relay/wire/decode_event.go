package wire

import (
	"math/bits"

	"github.com/nbd-wtf/go-nostr"
)

// eventFields are the fields that an event must have, each once (NIP-01).
var eventFields = [...]string{"id", "pubkey", "created_at", "kind", "tags", "content", "sig"}

const allEventFields = 1<<len(eventFields) - 1

// maxWrapper is how many bytes around an event its wire form may keep alive:
// ["EVENT", a subscription id and the brackets.
const maxWrapper = 128

// event reads one object as an event.
func (d *decoder) event() (*Event, bool) {
	d.peek()
	d.eventAt = d.i
	if !d.take('{') {
		return nil, d.fail("event is not an object")
	}
	d.exact = true
	e := &Event{}
	var seen uint
	var surplus map[string]struct{}
	for n := 0; ; n++ {
		more, ok := d.element(n, '}')
		if !ok {
			return nil, false
		}
		if !more {
			break
		}
		key, ok := d.key()
		if !ok {
			return nil, false
		}
		bit := fieldBit(key)
		_, again := surplus[key]
		if again || seen&bit != 0 {
			return nil, d.fail("event has a field twice: " + firstRunes(key, MaxSubID))
		}
		seen |= bit
		if bit == 0 {
			if surplus == nil {
				surplus = make(map[string]struct{})
			}
			surplus[key] = struct{}{}
			ok = d.skip(maxDepth)
		} else {
			ok = d.eventField(e, key)
		}
		if !ok {
			return nil, false
		}
	}
	if seen != allEventFields {
		return nil, d.fail("event has no " + eventFields[bits.TrailingZeros(^seen)])
	}
	return d.wireForm(e, d.exact && surplus == nil)
}

func fieldBit(key string) uint {
	for i, f := range eventFields {
		if f == key {
			return 1 << i
		}
	}
	return 0
}

func (d *decoder) eventField(e *Event, key string) (ok bool) {
	switch key {
	case "id":
		e.ID, ok = d.hex(key, 64)
	case "pubkey":
		e.PubKey, ok = d.hex(key, 64)
	case "created_at":
		var at int64
		at, ok = d.integer(key)
		e.CreatedAt = nostr.Timestamp(at)
	case "kind":
		e.Kind, ok = d.kind()
	case "tags":
		e.Tags, ok = d.tags()
	case "content":
		e.Content, ok = d.text(key)
	case "sig":
		e.Sig, ok = d.hex(key, 128)
	}
	return ok
}

// tags reads all tags into two allocations: one for the strings, one for the
// tags, which are parts of it.
func (d *decoder) tags() (nostr.Tags, bool) {
	if !d.take('[') {
		return nil, d.fail("tags is not a list")
	}
	// Most events fit these, which live on the stack.
	var wordSpace [48]string
	var endSpace [16]int
	words, ends := wordSpace[:0], endSpace[:0]
	for n := 0; ; n++ {
		more, ok := d.element(n, ']')
		if !ok {
			return nil, false
		}
		if !more {
			return splitTags(words, ends), true
		}
		before := len(words)
		if words, ok = d.tag(words); !ok {
			return nil, false
		}
		if len(words) == before {
			return nil, d.fail("a tag is empty")
		}
		ends = append(ends, len(words))
	}
}

// tag reads one tag and appends its strings.
func (d *decoder) tag(words []string) ([]string, bool) {
	if !d.take('[') {
		return words, d.fail("a tag is not a list")
	}
	for n := 0; ; n++ {
		more, ok := d.element(n, ']')
		if !more {
			return words, ok
		}
		word, ok := d.text("tag element")
		if !ok {
			return words, false
		}
		words = append(words, word)
	}
}

func splitTags(words []string, ends []int) nostr.Tags {
	all := make([]string, len(words))
	copy(all, words)
	tags := make(nostr.Tags, len(ends))
	start := 0
	for i, end := range ends {
		tags[i] = all[start:end:end]
		start = end
	}
	return tags
}

// wireForm completes e, which ends at the current place. The received bytes are
// the wire form when they are exact. Otherwise, and when they are a small part
// of a large message that would stay in memory with them, the event is decoded
// once more from bytes of its own.
func (d *decoder) wireForm(e *Event, exact bool) (*Event, bool) {
	raw := d.b[d.eventAt:d.i:d.i]
	if exact && len(d.b)-len(raw) <= maxWrapper {
		e.raw = raw
		e.complete()
		return e, true
	}
	if !exact {
		raw = appendEventJSON(nil, &e.Event)
	}
	return newDecoder(raw).event()
}
