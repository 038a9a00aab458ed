package store

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// The kinds that deletion treats on their own.
const (
	KindDeletion = 5    // NIP-09
	KindVanish   = 62   // NIP-62
	KindGiftWrap = 1059 // NIP-59
)

// Target is one thing that a deletion request names: an event by its ID, or,
// when ID is empty, the address (Kind, author of the request, D).
type Target struct {
	ID   string // lower-case hex
	Kind int
	D    string
}

// Address returns "kind:pubkey:d", as wire.Event.Address renders it.
func Address(kind int, pubkey, d string) string {
	return strconv.Itoa(kind) + ":" + pubkey + ":" + d
}

// Targets returns what the deletion request names (NIP-09), in tag order. Tags
// that are malformed or name another author's address are left out.
func Targets(request *wire.Event) []Target {
	var out []Target
	for _, tag := range request.Tags {
		if len(tag) < 2 {
			continue
		}
		switch tag[0] {
		case "e":
			if nostr.IsValid32ByteHex(tag[1]) {
				out = append(out, Target{ID: tag[1]})
			}
		case "a":
			if t, ok := parseAddress(tag[1], request.PubKey); ok {
				out = append(out, t)
			}
		}
	}
	return out
}

// MayDelete reports whether request removes the stored event target when it
// names its id: the author may, and the recipient of a gift wrap. A deletion
// request is never deleted, and neither is a request to vanish (NIP-62).
func MayDelete(request, target *wire.Event) bool {
	return target.Kind != KindDeletion && target.Kind != KindVanish && slices.Contains(Owners(target), request.PubKey)
}

// Owners returns the keys that may delete e by its id: its author first, then
// the recipients of a gift wrap.
func Owners(e *wire.Event) []string {
	owners := []string{e.PubKey}
	if e.Kind != KindGiftWrap {
		return owners
	}
	for _, tag := range e.Tags {
		if len(tag) > 1 && tag[0] == "p" {
			owners = append(owners, tag[1])
		}
	}
	return owners
}

// parseAddress reads "kind:pubkey:d"; d may hold colons and is empty for a
// replaceable kind.
func parseAddress(s, author string) (Target, bool) {
	kindText, rest, _ := strings.Cut(s, ":")
	pubkey, d, ok := strings.Cut(rest, ":")
	kind, err := strconv.Atoi(kindText)
	if !ok || err != nil || strconv.Itoa(kind) != kindText || pubkey != author {
		return Target{}, false
	}
	switch wire.ClassOf(kind) {
	case wire.Addressable:
		return Target{Kind: kind, D: d}, true
	case wire.Replaceable:
		return Target{Kind: kind}, d == ""
	default:
		return Target{}, false
	}
}
