package storetest

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// Draft is an event to be made: author number Key, which is no real key.
type Draft struct {
	Key     int
	Kind    int
	At      int64 // created_at in Unix seconds
	Tags    nostr.Tags
	Content string
}

// Event finishes the draft: a true id, and a signature that has only the form
// of one, since stores are handed events that are verified already.
func (d Draft) Event() *wire.Event {
	ev := nostr.Event{
		PubKey:    Key(d.Key),
		CreatedAt: nostr.Timestamp(d.At),
		Kind:      d.Kind,
		Tags:      d.Tags,
		Content:   d.Content,
		Sig:       strings.Repeat("5", 128),
	}
	ev.ID = ev.GetID()
	return wire.NewEvent(ev)
}

// Key returns the public key of author n.
func Key(n int) string {
	sum := sha256.Sum256([]byte("author " + strconv.Itoa(n)))
	return hex.EncodeToString(sum[:])
}
