package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fencepost/lifecycle/fence"
)

// streamsKey has the list of all streams.
const streamsKey = prefix + "streams"

// list is all streams that may have a record. Nonce makes two versions differ that say
// the same.
type list struct {
	Streams []fence.Stream `json:"streams"`
	Nonce   string         `json:"nonce"`
}

// Run sweeps every SweepEvery until ctx ends.
func (e *Engine) Run(ctx context.Context) {
	tick := time.NewTicker(SweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := e.Sweep(ctx); err != nil && ctx.Err() == nil {
				e.log.Warn("sweep of streams", "err", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// Sweep delivers what is pending and nobody drains, and removes fences that are done
// with (P11, P12). An error of one stream does not keep it from the others.
func (e *Engine) Sweep(ctx context.Context) error {
	if err := e.ready(ctx); err != nil {
		return err
	}
	all, etag, err := e.list(ctx)
	if err != nil {
		return err
	}
	var gone []fence.Stream
	var errs []error
	for _, s := range all.Streams {
		done, err := e.sweepOne(ctx, s)
		if done {
			gone = append(gone, s)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("stream %s: %w", s.Name, err))
		}
	}
	if len(gone) > 0 {
		// race: a claim of one of them, which writes the list once more
		all.Streams = slices.DeleteFunc(all.Streams, func(s fence.Stream) bool { return slices.Contains(gone, s) })
		if err := e.putList(ctx, all, etag); err != nil && !errors.Is(err, errConflict) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sweepOne reports whether the stream has no record any more.
func (e *Engine) sweepOne(ctx context.Context, s fence.Stream) (gone bool, err error) {
	r, err := e.load(ctx, s)
	switch {
	case err != nil:
		return false, err
	case !r.state.Exists():
		return true, nil
	case len(r.Pending) > 0:
		return false, e.sweepPending(ctx, s)
	case !r.forgotten(e.now()):
		return false, nil
	}
	// Whether it worked or another was faster, the next sweep sees.
	err = e.kv.Transact(ctx, []Op{{Key: recordKey(s), Guard: true, ETag: r.etag}})
	if err != nil {
		e.log.Debug("a fence stays", "stream", s.Name, "err", err)
	}
	return false, nil
}

// sweepPending drains s unless somebody here does.
func (e *Engine) sweepPending(ctx context.Context, s fence.Stream) error {
	t := e.enter(s)
	defer e.leave(s, t)
	select {
	case t.mine <- struct{}{}:
		_, err := e.drain(ctx, s, ref{})
		<-t.mine
		return err
	default:
		return nil
	}
}

func (e *Engine) list(ctx context.Context) (all list, etag string, err error) {
	value, etag, err := e.kv.Get(ctx, streamsKey)
	if err != nil {
		return all, "", fmt.Errorf("read list of streams: %w", err)
	}
	if etag != "" {
		err = json.Unmarshal(value, &all)
	}
	return all, etag, err
}

// enlist writes s into the list, also where it stands there: who read the list before
// does not remove s from it.
func (e *Engine) enlist(ctx context.Context, s fence.Stream) error {
	for range retries {
		all, etag, err := e.list(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(all.Streams, s) {
			own := 0
			for _, other := range all.Streams {
				if other.Owner == s.Owner {
					own++
				}
			}
			if own >= MaxStreams {
				return &fence.Error{Code: fence.ResourceExhausted, Text: "this key has as many streams as it may"}
			}
			all.Streams = append(all.Streams, s)
		}
		if err := e.putList(ctx, all, etag); !errors.Is(err, errConflict) {
			return err
		}
	}
	return &fence.Error{Code: fence.Aborted, Text: "too many others claim streams"}
}

func (e *Engine) putList(ctx context.Context, all list, etag string) error {
	all.Nonce = newItemKey()
	value, err := json.Marshal(all)
	if err != nil {
		return err
	}
	err = e.kv.Transact(ctx, []Op{{Key: streamsKey, Value: value, Guard: true, ETag: etag}})
	if err == nil {
		return nil
	}
	found, now, readErr := e.list(ctx)
	switch {
	case readErr != nil:
		return errors.Join(err, readErr)
	case found.Nonce == all.Nonce:
		return nil
	case now != etag:
		return errConflict
	}
	return fmt.Errorf("write list of streams: %w", err)
}
