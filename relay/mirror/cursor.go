package mirror

import (
	"encoding/json"
	"errors"
	"fmt"

	"fencepost/relay/store"
)

// Cursor is how far a mirror has come. The zero Cursor is that of one that never ran.
type Cursor struct {
	Version int `json:"v"`

	// Down, in Unix seconds. Everything of the upstream that was created up to Top has
	// been seen, apart from what was created in Done..Until, of which nothing is left
	// when Until is 0.
	Top   int64 `json:"top,omitempty"`
	Done  int64 `json:"done,omitempty"`
	Until int64 `json:"until,omitempty"`

	// Up: what follows Sent in the log of this epoch is not published yet, as of SentAt
	// (Unix seconds), and neither is what is stored and was created at Owed-1 or later;
	// Owed is 0 when nothing of that is left.
	Epoch  store.Epoch    `json:"epoch,omitempty"`
	Sent   store.Position `json:"sent,omitempty"`
	SentAt int64          `json:"sent_at,omitempty"`
	Owed   int64          `json:"owed,omitempty"`
}

const cursorVersion = 1

var errCursor = errors.New("cursor is of another version")

// encode returns what decodeCursor reads. It has less than fence.MaxCursor bytes.
func (c Cursor) encode() []byte {
	c.Version = cursorVersion
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // a bug: numbers and short strings only
	}
	return b
}

// decodeCursor reads a cursor; nil is the zero one.
func decodeCursor(b []byte) (c Cursor, err error) {
	if len(b) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return Cursor{}, fmt.Errorf("cursor: %w", err)
	}
	if c.Version != cursorVersion {
		return Cursor{}, errCursor
	}
	return c, nil
}
