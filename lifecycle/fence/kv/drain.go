package kv

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"fencepost/lifecycle/fence"
	"fencepost/lifecycle/pause"
	"fencepost/relay/wire"
)

// turn keeps the drainers of one process from racing each other for the drain lock.
type turn struct {
	mine  chan struct{} // who has put one in drains; capacity 1, never closed
	users int
}

func (e *Engine) enter(s fence.Stream) *turn {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.turns[s]
	if t == nil {
		t = &turn{mine: make(chan struct{}, 1)}
		e.turns[s] = t
	}
	t.users++
	return t
}

func (e *Engine) leave(s fence.Stream, t *turn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(e.turns, s)
	}
}

// drain delivers what is pending of s until nothing is, or want, unless it is zero, is
// delivered. held reports whether another process has the lock while want is pending.
func (e *Engine) drain(ctx context.Context, s fence.Stream, want ref) (held bool, err error) {
	me := rand.Text()
	locked, err := e.lock(ctx, s, me, want)
	if err != nil || locked != taken {
		return locked == denied, err
	}
	e.pause.At(pause.DrainLocked)
	for {
		r, err := e.load(ctx, s)
		switch {
		case err != nil:
			return false, err
		case r.Drainer != me: // race: a drainer that was stopped for longer than its lock
			return r.holds(want), nil
		case len(r.Pending) == 0 || want.Key != "" && !r.holds(want):
			return false, e.release(ctx, s, me)
		}
		if err := e.first(ctx, s, me, r.Pending[0]); err != nil {
			if errors.Is(err, errLost) {
				continue // the look at the record above tells the rest
			}
			return false, errors.Join(err, e.giveUp(ctx, s, me))
		}
	}
}

// What lock came to.
type locking int

const (
	nothing locking = iota // there is nothing to drain
	taken
	denied // another process has the lock
)

// lock takes the drain lock for me when there is something to drain and the lock is free.
func (e *Engine) lock(ctx context.Context, s fence.Stream, me string, want ref) (locking, error) {
	out := nothing
	err := e.change(ctx, s, func(r record) (record, error) {
		now := e.now()
		switch {
		case len(r.Pending) == 0 || want.Key != "" && !r.holds(want):
			out = nothing
			return r, errStay
		case r.locked(me, now):
			out = denied
			return r, errStay
		}
		out = taken
		return r.lock(me, now), nil
	})
	if errors.Is(err, errStay) {
		err = nil
	}
	return out, err
}

var (
	errStay = errors.New("nothing to change")
	errLost = errors.New("the drain lock is lost")
)

// first delivers the first frame of s and takes it out of the stream.
func (e *Engine) first(ctx context.Context, s fence.Stream, me string, f ref) error {
	value, etag, err := e.kv.Get(ctx, f.Key)
	if err != nil {
		return fmt.Errorf("read frame: %w", err)
	}
	var d Delivery
	if etag == "" { // the store lost it, or whoever had the lock before delivered it
		d = Delivery{Refused: true, Reason: wire.Because(wire.Failed, "the frame was lost").String()}
	} else if d, err = e.hand(ctx, value); err != nil {
		return err
	}
	e.pause.At(pause.DrainDelivered)
	var number uint64
	var epoch uint64
	err = e.change(ctx, s, func(r record) (record, error) {
		if r.Drainer != me || len(r.Pending) == 0 || r.Pending[0].Key != f.Key {
			return r, errLost
		}
		number, epoch = r.state.Next, r.state.Epoch
		return r.delivered(d.Refused).lock(me, e.now()), nil
	})
	if err != nil {
		return err
	}
	e.pause.At(pause.DrainSwapped)
	e.remove(ctx, f.Key)
	got := fence.Receipt{Refused: d.Refused, Position: d.Position, Epoch: epoch, Reason: d.Reason}
	if !d.Refused {
		got.Number = number
	}
	e.tell(f.Key, got)
	return nil
}

// hand hands a frame to the sink. One that cannot be read is refused: it would stay first
// for ever.
func (e *Engine) hand(ctx context.Context, value []byte) (Delivery, error) {
	var it item
	err := json.Unmarshal(value, &it)
	var ev *wire.Event
	if err == nil {
		ev, err = wire.DecodeEvent(it.Event)
	}
	if err != nil {
		e.log.Error("a frame cannot be read", "err", err)
		return Delivery{Refused: true, Reason: wire.Because(wire.Failed, "the frame cannot be read").String()}, nil
	}
	return e.sink.Deliver(ctx, it.Keys, ev)
}

// giveUp is release for who is in trouble: the others need not wait for the lock to run out.
func (e *Engine) giveUp(ctx context.Context, s fence.Stream, me string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	return e.release(ctx, s, me)
}

// release gives the drain lock of me back.
func (e *Engine) release(ctx context.Context, s fence.Stream, me string) error {
	err := e.change(ctx, s, func(r record) (record, error) {
		if r.Drainer != me {
			return r, errStay
		}
		return r.unlock(), nil
	})
	if errors.Is(err, errStay) {
		return nil
	}
	return err
}
