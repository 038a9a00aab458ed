package wire

import (
	"strconv"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/nbd-wtf/go-nostr"
)

// Event is one Nostr event with its wire form. It is immutable once made, and not copied: the
// store, the fan-out and every queue share one pointer.
type Event struct {
	nostr.Event

	raw     []byte   // the seven fields as JSON, without blanks outside strings
	expires int64    // NIP-40 in Unix seconds, never when 0
	tags    tagIndex // for filters

	words atomic.Pointer[[]uint64] // for searches; nil until one asks
}

// NewEvent takes a finished event (id and signature set) and renders its wire
// form. Tags of nil become an empty list.
func NewEvent(ev nostr.Event) *Event {
	if ev.Tags == nil {
		ev.Tags = nostr.Tags{}
	}
	e := &Event{Event: ev, raw: appendEventJSON(nil, &ev)}
	e.complete()
	return e
}

// complete derives what is asked of every event from its tags.
func (e *Event) complete() {
	e.expires, _ = expiration(e.Tags)
	e.tags = indexTags(e.Tags)
}

// Raw returns the wire form: a JSON object of exactly the seven fields of
// NIP-01. The caller must not change it.
func (e *Event) Raw() []byte { return e.raw }

// Expires returns the NIP-40 expiration in Unix seconds and whether there is
// one. It is 1 for a time of 0, and the largest int64 for one beyond that. A tag
// that Validate refuses is none.
func (e *Event) Expires() (at int64, ok bool) { return e.expires, e.expires != 0 }

// Expired reports whether the event must no longer be served at now (NIP-40),
// in Unix seconds.
func (e *Event) Expired(now int64) bool { return e.expires != 0 && e.expires <= now }

// Class returns how a relay keeps events of this kind (NIP-01, Kinds).
func (e *Event) Class() Class { return ClassOf(e.Kind) }

// D returns the first value of the first d tag, or "" (NIP-01, addressable events).
func (e *Event) D() string {
	d, _ := e.Tag("d")
	return d
}

// Tag returns the value of the first tag of that name, "" when it has none, and
// whether there is such a tag.
func (e *Event) Tag(name string) (value string, ok bool) {
	for _, t := range e.Tags {
		if len(t) == 0 || t[0] != name {
			continue
		}
		if len(t) > 1 {
			value = t[1]
		}
		return value, true
	}
	return "", false
}

// Protected reports whether only its author may publish the event (NIP-70).
func (e *Event) Protected() bool {
	_, ok := e.Tag("-")
	return ok
}

// errRepost is what a repost holds that begins like an event and is none.
var errRepost = Because(Invalid, "the content of a repost that is a JSON object must be an event")

// EmbedsProtected reports whether the event is a repost (NIP-18) whose content is
// an event that only its author may publish (NIP-70), or a repost of one. Content
// that begins as an object and that DecodeEvent refuses is an error, a Reason: others
// may read an event in it. It decodes the content each time.
func (e *Event) EmbedsProtected() (bool, error) {
	if e.Kind != 6 && e.Kind != 16 || !strings.HasPrefix(strings.TrimLeftFunc(e.Content, isBlank), "{") {
		return false, nil
	}
	embedded, err := DecodeEvent([]byte(e.Content))
	switch {
	case err != nil:
		return false, errRepost
	case embedded.Protected():
		return true, nil
	default: // each level is shorter than the one around it
		return embedded.EmbedsProtected()
	}
}

// isBlank reports whether some client strips r before it reads JSON.
func isBlank(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

// Address returns "kind:pubkey:d" for a replaceable or addressable event (d is
// empty for a replaceable one), and "" for any other.
func (e *Event) Address() string {
	switch e.Class() {
	case Replaceable:
		return strconv.Itoa(e.Kind) + ":" + e.PubKey + ":"
	case Addressable:
		return strconv.Itoa(e.Kind) + ":" + e.PubKey + ":" + e.D()
	default:
		return ""
	}
}

// Class says how a relay keeps the events of a kind.
type Class uint8

const (
	Regular     Class = iota // every event is kept
	Replaceable              // the newest of (pubkey, kind) is kept
	Ephemeral                // never stored
	Addressable              // the newest of (pubkey, kind, d) is kept
)

// ClassOf returns the class of kind (NIP-01, Kinds).
func ClassOf(kind int) Class {
	switch {
	case kind == 0, kind == 3, kind >= 10000 && kind < 20000:
		return Replaceable
	case kind >= 20000 && kind < 30000:
		return Ephemeral
	case kind >= 30000 && kind < 40000:
		return Addressable
	default:
		return Regular
	}
}
