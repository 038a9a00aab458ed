package handlers

import (
	"cmp"
	"context"
	"errors"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Publish does with ev, which comes from the holder of keys and from no connection, what
// an EVENT message does: the same limits, the same look at id and signature, the same
// decision. f, unless it is nil, is the fence of the stream whose frame ev is. Publish
// returns when what was decided is durable and in force on this relay.
//
// The outcome's Err is nil for what was accepted; Position is 0 when there was nothing to
// store. It is store.ErrDuplicate for what the relay holds already, a *fence.Error where
// the fence refuses, and something else for every other refusal, of which the reason is
// what a client may read.
func (h *Handlers) Publish(ctx context.Context, keys []string, ev *wire.Event, f *store.Fence) (store.Outcome, wire.Reason) {
	out, said := h.publish(ctx, keys, ev, f)
	_, r := verdict(out.Err)
	if out.Err == nil {
		r = said
	}
	if r.Prefix == wire.Failed && !store.Refused(out.Err) && !errors.Is(out.Err, store.ErrMoved) && ctx.Err() == nil {
		h.log.Error("event not saved", "event", ev.ID, "err", out.Err)
	}
	h.metrics.EventOutcome(outcome(out.Err, r))
	return out, r
}

func (h *Handlers) publish(ctx context.Context, keys []string, ev *wire.Event, f *store.Fence) (out store.Outcome, said wire.Reason) {
	hopeless := h.judge(keys, ev)
	if err := ev.Verify(); err != nil {
		return store.Outcome{Err: cmp.Or(hopeless, err)}, said
	}
	if hopeless != nil {
		return h.refused(ctx, ev, hopeless), said
	}
	for range maxRounds {
		w, answer, err := h.decide(ctx, keys, ev)
		if err != nil {
			return h.refused(ctx, ev, err), wire.Reason{}
		}
		if said = answer; w.Event == nil && f == nil && !changes(&w) {
			return store.Outcome{}, said
		}
		w.Fence = f
		out = h.append(ctx, []store.Write{w})[0]
		if !errors.Is(out.Err, store.ErrMoved) { // race: revocation against its commit (G4)
			if out.Err == nil && changes(&w) {
				h.await(ctx, out.Last)
			}
			return out, said
		}
		h.await(ctx, out.Position)
	}
	return out, said
}

// decide asks what is to be committed for ev; said is for beside OK true.
func (h *Handlers) decide(ctx context.Context, keys []string, ev *wire.Event) (w store.Write, said wire.Reason, err error) {
	w, err = h.writing.Plan(ctx, keys, ev)
	if yes := Accepted(nil); errors.As(err, &yes) {
		said, err = yes.Accepted(), nil
	}
	return w, said, err
}

// refused returns the outcome of an event that may not be written. Whoever publishes one
// again after a lost reply must learn that it is stored, also where its effects make a
// second one wrong.
func (h *Handlers) refused(ctx context.Context, ev *wire.Event, cause error) store.Outcome {
	snap, err := h.store.Snapshot(ctx)
	if err != nil {
		return store.Outcome{Err: cause}
	}
	found, err := snap.Prefixed(ctx, ev.ID, 1)
	err = errors.Join(err, snap.Close())
	if err != nil || len(found) == 0 {
		return store.Outcome{Err: cause}
	}
	return store.Outcome{Position: found[0].Position, Err: store.ErrDuplicate}
}

// await waits until the relay has applied position at, or the caller is gone.
func (h *Handlers) await(ctx context.Context, at store.Position) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := h.progress.Await(bounded, at); errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		h.log.Warn("the relay does not follow its log", "position", at)
	}
}
