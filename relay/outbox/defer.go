package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

const (
	// maxAttempts is how often a row is tried before it is a dead letter.
	maxAttempts = 5
	// firstRetry is the pause after the first attempt, which doubles with each: a row
	// holds up its aggregate for two seconds or so.
	firstRetry = 100 * time.Millisecond
	// maxDeferred is how many rows are deferred at once. The aggregate that passes it
	// loses its first row as a dead letter.
	maxDeferred = 4096
)

// fail defers a row after its first attempt.
func (f *Follower) fail(ctx context.Context, e *store.Entry, failed error) error {
	w := &waiting{at: e.Position, aggregate: e.Aggregate(), first: true}
	f.failed(w, failed)
	return f.postpone(ctx, w, e)
}

// behind defers a row behind those of its aggregate.
func (f *Follower) behind(ctx context.Context, e *store.Entry) error {
	return f.postpone(ctx, &waiting{at: e.Position, aggregate: e.Aggregate()}, e)
}

// reasonWaits ends a feed that would have to go on without a row.
var reasonWaits = wire.Because(wire.Failed, "a change is delayed, go on from the last position")

// postpone puts w, which stands for e, among the deferred rows, and makes room for it
// where there are too many. A feed tells its client positions, so it must not pass the
// row: it ends, and the client's next one waits there (O17). After an error w is not
// among the deferred rows.
func (f *Follower) postpone(ctx context.Context, w *waiting, e *store.Entry) error {
	f.put(w)
	f.endConcerned(e, reasonWaits, (*lifecycle.Handle).IsFeed)
	if len(f.backlog.rows) <= maxDeferred {
		return nil
	}
	crowded := w
	if head := f.backlog.head(w.aggregate); head != nil {
		crowded = head
	}
	crowded.class = classCrowded
	err := f.bury(ctx, crowded)
	if err != nil {
		f.lift(w)
	}
	return err
}

// failed counts an attempt.
func (f *Follower) failed(w *waiting, err error) {
	w.due = f.now().Add(backoff(w.attempts))
	w.attempts++
	w.class = classOf(err)
	f.logger.Warn("event cannot be delivered, for now", "position", w.at, "attempt", w.attempts, "err", err)
}

// backoff returns the pause after that many earlier attempts.
func backoff(attempts int) time.Duration {
	d := firstRetry << min(attempts, maxAttempts)
	return d/2 + rand.N(d)
}

// put and lift publish what is deferred: a REQ reads it.
func (f *Follower) put(w *waiting) {
	f.backlog.add(w)
	f.publish()
}

func (f *Follower) lift(w *waiting) {
	f.backlog.remove(w)
	f.publish()
}

func (f *Follower) publish() {
	rows := f.backlog.positions()
	f.late.Store(&rows)
	f.settle()
}

// again tries what is due.
func (f *Follower) again(ctx context.Context) error {
	if err := f.takeRequests(ctx); err != nil {
		return err
	}
	for now := f.now(); ; {
		w := f.backlog.due(now)
		if w == nil {
			return nil
		}
		if err := f.drain(ctx, w); err != nil {
			return err
		}
	}
}

// drain tries w and, once that is out of the way, what waits for it, in order. An
// error is the log's.
func (f *Follower) drain(ctx context.Context, w *waiting) error {
	for w != nil {
		w.first = true
		done, err := f.retry(ctx, w)
		if !done || err != nil {
			return err
		}
		w = f.backlog.head(w.aggregate)
	}
	return nil
}

// retry tries w, and says whether it is not deferred any more.
func (f *Follower) retry(ctx context.Context, w *waiting) (done bool, err error) {
	e, err := f.read(ctx, w.at)
	if err != nil {
		return false, err
	}
	failed := f.attemptLate(w, e)
	if failed == nil {
		return true, nil
	}
	if f.failed(w, failed); w.attempts < maxAttempts {
		return false, nil
	}
	if err := f.letter(ctx, w); err != nil {
		f.logger.Error("dead letter cannot be kept, so its row is tried again", "position", w.at, "err", err)
		w.attempts--
		return false, nil
	}
	f.drop(w, e)
	return true, nil
}

// attemptLate delivers a deferred row. It is lifted before the index is asked: a REQ
// that still finds it deferred is in the index by then, and one that does not finds
// it stored.
func (f *Follower) attemptLate(w *waiting, e *store.Entry) error {
	if e.Broken != nil && e.Type != store.EntryVoid {
		return e.Broken.Err
	}
	f.lift(w)
	f.pause.At(pause.DeferredLifted)
	err := f.attempt(e, true)
	if err != nil {
		f.put(w)
	}
	return err
}

// read returns the row at a position as it is now. One that retention has removed is
// void.
func (f *Follower) read(ctx context.Context, at store.Position) (*store.Entry, error) {
	rows, err := f.log.ReadLog(ctx, at-1, 1)
	switch {
	case errors.Is(err, store.ErrFloor) || err == nil && (len(rows) == 0 || rows[0].Position != at):
		return &store.Entry{Position: at, Type: store.EntryVoid}, nil
	case err != nil:
		return nil, fmt.Errorf("read row %d again: %w", at, err)
	}
	return &rows[0], nil
}
