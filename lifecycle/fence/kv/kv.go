package kv

import (
	"context"
	"errors"

	"fencepost/relay/wire"
)

// KV is a key-value store. All methods may block.
type KV interface {
	// Missing names what the store lacks of what this package needs, as Dapr calls it:
	// "ETAG", "TRANSACTIONAL".
	Missing(ctx context.Context) ([]string, error)
	// Get returns what is under key and the tag of this version, "" where there is nothing.
	Get(ctx context.Context, key string) (value []byte, etag string, err error)
	// Transact carries out all operations or fails. After an error anything may have
	// happened, but an operation with a condition that does not hold is never carried out.
	Transact(ctx context.Context, ops []Op) error
}

// Op is one operation of a transaction.
type Op struct {
	Key   string
	Value []byte // what to put; nil deletes
	Guard bool   // only if the version is still ETag, "" for none
	ETag  string
}

// Sink takes frames, each as often as it is handed over.
type Sink interface {
	// Known returns where the event is that has this id, 0 for nowhere.
	Known(ctx context.Context, id string) (position uint64, err error)
	// Deliver takes a frame. An error leaves it first in its stream, to be tried again.
	Deliver(ctx context.Context, keys []string, ev *wire.Event) (Delivery, error)
}

// Delivery is what became of a frame.
type Delivery struct {
	Refused  bool
	Position uint64 // 0 where nothing was stored
	Reason   string // as NIP-01 has it, or ""
}

// errConflict says that somebody else swapped the record first.
var errConflict = errors.New("another process was faster")
