package publish

import (
	"context"
	"errors"

	"fencepost/lifecycle/fence/kv"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Reader is what a Sink asks of a store.
type Reader interface {
	Snapshot(ctx context.Context) (store.Snapshot, error)
}

// Sink writes frames whose fences are kept elsewhere (package fence/kv).
type Sink struct {
	store  Reader
	events Submitter
}

// NewSink returns a sink that looks into s, and writes by w.
func NewSink(s Reader, w Submitter) *Sink { return &Sink{store: s, events: w} }

// Known implements kv.Sink.
func (k *Sink) Known(ctx context.Context, id string) (position uint64, err error) {
	snap, err := k.store.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	found, err := snap.Prefixed(ctx, id, 1)
	if err = errors.Join(err, snap.Close()); err != nil || len(found) == 0 {
		return 0, err
	}
	return uint64(found[0].Position), nil
}

// Deliver implements kv.Sink. What the store has already is delivered.
func (k *Sink) Deliver(ctx context.Context, keys []string, ev *wire.Event) (kv.Delivery, error) {
	out, reason := k.events.Publish(ctx, keys, ev, nil)
	got, err := receipt(out, reason)
	if got.Duplicate {
		got.Reason = ""
	}
	return kv.Delivery{Refused: got.Refused, Position: got.Position, Reason: got.Reason}, err
}
