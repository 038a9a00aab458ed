package kv

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fencepost/lifecycle/fence"
)

// prefix begins all keys.
const prefix = "fencepost-"

func recordKey(s fence.Stream) string { return prefix + "stream-" + s.Owner + "-" + s.Name }

func newItemKey() string { return prefix + "item-" + rand.Text() }

// record is a stream. Records are values: a changed one is a copy.
type record struct {
	Fence    []byte `json:"fence"` // as package fence encodes it
	Pending  []ref  `json:"pending,omitempty"`
	Drainer  string `json:"drainer,omitempty"` // who has the drain lock
	Locked   int64  `json:"locked,omitempty"`  // until when, in Unix nanoseconds
	Touched  int64  `json:"touched"`           // by an owner, in Unix nanoseconds
	Revision string `json:"revision"`          // random, of this version
	state    fence.State
	etag     string // of the version that was read, "" for none
}

// ref names a frame that is admitted and not delivered.
type ref struct {
	Key string `json:"key"`
	ID  string `json:"id"` // of the event
}

// item is a frame.
type item struct {
	Keys  []string        `json:"keys,omitempty"`
	Event json.RawMessage `json:"event"`
}

var errRecord = errors.New("record of a stream is damaged")

func decodeRecord(value []byte, etag string) (r record, err error) {
	if etag == "" {
		return r, nil
	}
	if err := json.Unmarshal(value, &r); err != nil {
		return r, fmt.Errorf("%w: %w", errRecord, err)
	}
	r.etag = etag
	if r.state, err = fence.Decode(r.Fence); err != nil {
		return r, fmt.Errorf("%w: %w", errRecord, err)
	}
	if r.Revision == "" {
		return r, errRecord
	}
	return r, nil
}

// encode returns r under a revision of its own.
func (r *record) encode() (value []byte, revision string) {
	out := *r
	out.Fence, out.Revision = r.state.Append(nil), rand.Text()
	value, err := json.Marshal(out)
	if err != nil {
		panic(err) // a bug: everything in it can be JSON
	}
	return value, out.Revision
}

// with returns r with one more frame.
func (r record) with(f ref) record {
	r.Pending = append(r.Pending[:len(r.Pending):len(r.Pending)], f)
	return r
}

// touched returns r with another state, which an owner made of it at now.
func (r record) touched(s fence.State, now time.Time) record {
	r.state, r.Touched = s, now.UnixNano()
	return r
}

// find returns the reference of the frame that has an event's id.
func (r *record) find(id string) (ref, bool) {
	for _, f := range r.Pending {
		if f.ID == id {
			return f, true
		}
	}
	return ref{}, false
}

// holds reports whether the frame is still to be delivered.
func (r *record) holds(f ref) bool {
	found, ok := r.find(f.ID)
	return ok && found.Key == f.Key
}

// locked reports whether another drainer than me has the lock at now.
func (r *record) locked(me string, now time.Time) bool {
	return r.Drainer != "" && r.Drainer != me && now.UnixNano() < r.Locked
}

// lock returns r with the drain lock of me.
func (r record) lock(me string, now time.Time) record {
	r.Drainer, r.Locked = me, now.Add(DrainLock).UnixNano()
	return r
}

func (r record) unlock() record {
	r.Drainer, r.Locked = "", 0
	return r
}

// delivered returns r without its first frame, which takes a number unless it was refused.
func (r record) delivered(refused bool) record {
	r.Pending = r.Pending[1:]
	if !refused {
		r.state.Next++
	}
	return r
}

// forgotten reports whether the sweep removes the fence at now (P12).
func (r *record) forgotten(now time.Time) bool {
	idle := now.Sub(time.Unix(0, r.Touched))
	return len(r.Pending) == 0 && r.state.Free(now) && idle > 2*r.state.Lease
}
