package kv

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"fencepost/lifecycle/fence"
	"fencepost/relay/wire"
)

// waitFor is how long a drainer of another process is left alone before it is looked
// what it has done.
const waitFor = 50 * time.Millisecond

// Publish admits ev under a token and returns when it is delivered. After an error the
// frame may be admitted, and is then delivered by the sweep.
func (e *Engine) Publish(ctx context.Context, s fence.Stream, t fence.Token, keys []string, ev *wire.Event) (fence.Receipt, error) {
	if err := e.ready(ctx); err != nil {
		return fence.Receipt{}, err
	}
	position, err := e.sink.Known(ctx, ev.ID)
	if err != nil || position > 0 {
		return duplicate(position), err
	}
	f, epoch, err := e.admit(ctx, s, t, keys, ev)
	if err != nil {
		return fence.Receipt{}, err
	}
	got, err := e.deliver(ctx, s, f, keys, ev)
	if got.Epoch == 0 && !got.Duplicate && !got.Refused {
		got.Epoch = epoch
	}
	return got, err
}

func duplicate(position uint64) fence.Receipt {
	r := wire.Because(wire.Duplicate, "already have this event")
	return fence.Receipt{Duplicate: true, Position: position, Reason: r.String()}
}

// admit makes ev the last frame of its stream. One that waits already is not admitted a
// second time (P16).
func (e *Engine) admit(ctx context.Context, s fence.Stream, t fence.Token, keys []string, ev *wire.Event) (f ref, epoch uint64, err error) {
	body, err := json.Marshal(item{Keys: keys, Event: ev.Raw()})
	if err != nil {
		return f, 0, err
	}
	for range retries {
		r, err := e.load(ctx, s)
		if err != nil {
			return f, 0, err
		}
		if err := r.state.Check(t); err != nil {
			return f, 0, err
		}
		if f, ok := r.find(ev.ID); ok {
			return f, r.state.Epoch, nil
		}
		if len(r.Pending) >= e.most {
			return f, 0, &fence.Error{Code: fence.ResourceExhausted, Text: "too many frames of the stream are waiting", Epoch: r.state.Epoch}
		}
		now := e.now()
		f = ref{Key: newItemKey(), ID: ev.ID}
		next := r.with(f).touched(r.state.Renewed(now), now)
		err = e.swap(ctx, s, r.etag, &next, Op{Key: f.Key, Value: body})
		switch {
		case err == nil:
			return f, r.state.Epoch, nil
		case errors.Is(err, errConflict): // its item may have been written all the same
			e.remove(ctx, f.Key)
			continue
		case errors.Is(err, errUnwritten):
			e.remove(ctx, f.Key)
		}
		return f, 0, err
	}
	return f, 0, &fence.Error{Code: fence.Aborted, Text: "too many others change the stream"}
}

// deliver returns when f is delivered, by whomever.
func (e *Engine) deliver(ctx context.Context, s fence.Stream, f ref, keys []string, ev *wire.Event) (fence.Receipt, error) {
	result := e.await(f.Key)
	defer e.forget(f.Key)
	t := e.enter(s)
	defer e.leave(s, t)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case got := <-result:
			return got, nil
		case <-ctx.Done():
			return fence.Receipt{}, ctx.Err()
		case t.mine <- struct{}{}:
			held, err := e.drain(ctx, s, f)
			<-t.mine
			select {
			case got := <-result:
				return got, nil
			default:
			}
			if err != nil || !held {
				return e.elsewhere(ctx, keys, ev, err)
			}
		}
		timer.Reset(waitFor)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// elsewhere tells what became of a frame that another process delivered; its number is
// not known here. To deliver it once more is to be told what the other one was told.
func (e *Engine) elsewhere(ctx context.Context, keys []string, ev *wire.Event, err error) (fence.Receipt, error) {
	if err != nil {
		return fence.Receipt{}, err
	}
	position, err := e.sink.Known(ctx, ev.ID)
	if err != nil || position > 0 {
		return fence.Receipt{Position: position}, err
	}
	d, err := e.sink.Deliver(ctx, keys, ev)
	return fence.Receipt{Refused: d.Refused, Position: d.Position, Reason: d.Reason}, err
}

// await lets whoever drains here tell what became of an item.
func (e *Engine) await(key string) chan fence.Receipt {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.waiting[key]; c != nil {
		return make(chan fence.Receipt) // somebody publishes the same event here and is told
	}
	c := make(chan fence.Receipt, 1)
	e.waiting[key] = c
	return c
}

func (e *Engine) forget(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.waiting, key)
}

// tell hands the receipt of an item to who waits for it here.
func (e *Engine) tell(key string, r fence.Receipt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.waiting[key]; c != nil {
		delete(e.waiting, key)
		c <- r // capacity 1, and this is the only one
	}
}
