package store

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// Why the body of a row cannot be read.
var (
	ErrDamaged = errors.New("row is damaged")
	ErrNewer   = errors.New("row is of a newer version of this program")
)

// Broken is what can be told of a row whose body cannot be read.
type Broken struct {
	Err error // wraps ErrDamaged or ErrNewer; its text is not for clients

	// What routes the event concerned, as far as it is known.
	Kind      int    // negative: unknown
	PubKey    string // hex; empty: unknown
	Aggregate string // as Entry.Aggregate has it; empty: unknown, or it stands alone
}

// Salvage returns what body tells although it could not be decoded: anything that
// is a JSON object with fields of an event.
func Salvage(err error, body []byte) *Broken {
	b := &Broken{Err: err, Kind: -1}
	var seen struct {
		Kind   *int       `json:"kind"`
		PubKey string     `json:"pubkey"`
		Tags   nostr.Tags `json:"tags"`
	}
	if json.Unmarshal(body, &seen) != nil || seen.Kind == nil || !nostr.IsValid32ByteHex(seen.PubKey) {
		return b
	}
	b.Kind, b.PubKey = *seen.Kind, seen.PubKey
	b.Aggregate = aggregateOf(wire.NewEvent(nostr.Event{Kind: b.Kind, PubKey: b.PubKey, Tags: seen.Tags}))
	return b
}

// CouldMatch reports whether the row is broken and what is known of it does not
// keep it from matching one of the filters.
func (e *Entry) CouldMatch(filters []*wire.Filter) bool {
	if e.Broken == nil || e.Type == EntryVoid || e.Type == EntryControl {
		return false
	}
	return slices.ContainsFunc(filters, func(f *wire.Filter) bool {
		return (f.IDs == nil || e.Prefix == [8]byte{} || slices.ContainsFunc(f.IDs, e.begins)) &&
			(f.Authors == nil || e.Broken.PubKey == "" || slices.Contains(f.Authors, e.Broken.PubKey)) &&
			(f.Kinds == nil || e.Broken.Kind < 0 || slices.Contains(f.Kinds, e.Broken.Kind))
	})
}

func (e *Entry) begins(id string) bool { return strings.HasPrefix(id, hex.EncodeToString(e.Prefix[:])) }
