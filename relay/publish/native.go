package publish

import (
	"context"
	"errors"
	"time"

	"fencepost/lifecycle/fence"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Store is what a native engine asks of a store.
type Store interface {
	Append(ctx context.Context, writes []store.Write) []store.Outcome
	Fence(ctx context.Context, s fence.Stream) (fence.State, time.Time, error)
}

// Submitter judges and commits events; see handlers.Handlers.Publish.
type Submitter interface {
	Publish(ctx context.Context, keys []string, ev *wire.Event, f *store.Fence) (store.Outcome, wire.Reason)
}

// Native keeps fences in the store that keeps the events: what it admits is in the log.
type Native struct {
	store  Store
	events Submitter
}

// NewNative returns an engine over s, to which events are written by w.
func NewNative(s Store, w Submitter) *Native { return &Native{store: s, events: w} }

// Set implements Engine. It returns when the change is durable.
func (n *Native) Set(ctx context.Context, s fence.Stream, c fence.Change) (uint64, error) {
	out := n.store.Append(ctx, []store.Write{{Fence: &store.Fence{Stream: s, Change: &c}}})[0]
	return out.Frame.Epoch, out.Err
}

// Publish implements Engine. It returns when ev is durable, which is delivered: the
// relay's fan-out reads the log.
func (n *Native) Publish(ctx context.Context, s fence.Stream, t fence.Token, keys []string, ev *wire.Event) (fence.Receipt, error) {
	out, reason := n.events.Publish(ctx, keys, ev, &store.Fence{Stream: s, Token: t})
	return receipt(out, reason)
}

// receipt tells what became of a frame; the rest is an error.
func receipt(out store.Outcome, reason wire.Reason) (fence.Receipt, error) {
	r := fence.Receipt{
		Position: uint64(out.Position), Epoch: out.Frame.Epoch, Number: out.Frame.Number, Reason: reason.String(),
	}
	switch {
	case out.Err == nil:
		return r, nil
	case errors.Is(out.Err, store.ErrDuplicate):
		r.Duplicate = true
		return r, nil
	case store.Refused(out.Err) || reason.Prefix == wire.Failed:
		return fence.Receipt{}, out.Err
	}
	return fence.Receipt{Refused: true, Reason: r.Reason}, nil
}

// Look implements Engine.
func (n *Native) Look(ctx context.Context, s fence.Stream) (fence.View, error) {
	state, now, err := n.store.Fence(ctx, s)
	return fence.View{State: state, Now: now}, err
}
