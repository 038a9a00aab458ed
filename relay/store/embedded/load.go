package embedded

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// getValue returns a copy of what r has under key.
func getValue(r pebble.Reader, key []byte) (value []byte, ok bool, err error) {
	found, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read database: %w", err)
	}
	value = append([]byte{}, found...)
	return value, true, closer.Close()
}

// loadEvent returns the event at a position that r's index names; an error that wraps
// errCorrupt when it is damaged.
func loadEvent(r pebble.Reader, c *cache, position uint64) (*wire.Event, error) {
	if e := c.get(position); e != nil {
		return e, nil
	}
	value, ok, err := getValue(r, logKey(position))
	if err != nil {
		return nil, err
	}
	if !ok || typeOf(value) == store.EntryVoid {
		return nil, rowError(position, errLeft)
	}
	row, err := decodeRow(position, value, nil)
	if err != nil {
		return nil, err
	}
	if row.Type != store.EntryEvent {
		return nil, rowError(position, errCorrupt)
	}
	c.put(position, row.Event)
	return row.Event, nil
}
