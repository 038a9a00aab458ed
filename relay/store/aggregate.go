package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"fencepost/relay/wire"
)

// maxAggregate is how long a d value or a group's id may be that is kept as it is.
const maxAggregate = 64

// Aggregate names what the row changes, so that a later row of it must not be seen
// before this one (O10): the coordinate of a replaceable or addressable event, or
// the group of another one. It is empty for a row that stands alone, and for one
// about which that is not known. A removal is of the aggregate of its event.
func (e *Entry) Aggregate() string {
	switch {
	case e.Broken != nil:
		return e.Broken.Aggregate
	case e.Event != nil:
		return aggregateOf(e.Event)
	case e.Removal != nil:
		return aggregateOf(e.Removal.Event)
	default:
		return ""
	}
}

func aggregateOf(e *wire.Event) string {
	switch e.Class() {
	case wire.Replaceable:
		return fmt.Sprintf("%d:%s", e.Kind, e.PubKey)
	case wire.Addressable:
		return fmt.Sprintf("%d:%s:%s", e.Kind, e.PubKey, short(e.D()))
	}
	for _, t := range e.Tags {
		if len(t) > 1 && t[0] == "h" {
			return "h:" + short(t[1])
		}
	}
	return ""
}

// short is text, or the hash of a long one, as indexes have it.
func short(text string) string {
	if len(text) <= maxAggregate {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
