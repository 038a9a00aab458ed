package outbox

import (
	"context"
	"fmt"
	"runtime/debug"

	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
)

// apply does what follows from one row. begun comes before the lookup, always: a
// restarted replay that reads an older begun is in the index by then. An event that
// fails, or whose aggregate has a row that failed, is deferred before the row counts
// as passed. A control row that cannot be applied stops everything behind it: nobody
// may see an event under permissions that were taken away before it.
func (f *Follower) apply(ctx context.Context, e *store.Entry) error {
	f.pause.At(pause.FanoutRead)
	f.begun.Store(uint64(e.Position))
	f.pause.At(pause.FanoutBegun)
	switch {
	case e.Type == store.EntryControl:
		if err := f.control(ctx, e); err != nil {
			return fmt.Errorf("apply control row %d: %w", e.Position, err)
		}
	case f.backlog.blocks(e): // nobody sees the newer state before the older (O10)
		if err := f.behind(ctx, e); err != nil {
			return err
		}
	default:
		if failed := f.attempt(e, false); failed != nil {
			if err := f.fail(ctx, e, failed); err != nil {
				return err
			}
		}
	}
	f.pass(e.Position)
	return nil
}

// pass makes at the applied position: nothing at or below it will be begun again.
func (f *Follower) pass(at store.Position) {
	f.applied.reach(at)
	f.settle()
}

// settle follows from what is applied and deferred.
func (f *Follower) settle() {
	at := f.applied.position()
	if len(f.backlog.rows) > 0 {
		at = min(at, f.backlog.rows[0].at-1)
	}
	f.settled.reach(at)
}

// control applies a control row. Nothing is trusted any more that rests on
// permissions while one cannot be (O16).
func (f *Follower) control(ctx context.Context, e *store.Entry) error {
	err := f.applyControl(ctx, e)
	if err == nil {
		f.stuck.Store(false)
		return nil
	}
	if !f.stuck.Swap(true) && f.readers != nil {
		f.readers.Distrust()
	}
	return err
}

func (f *Follower) applyControl(ctx context.Context, e *store.Entry) (err error) {
	defer recovered(&err)
	if e.Broken != nil {
		return e.Broken.Err
	}
	return f.controls.Apply(ctx, e)
}

// attempt delivers a row. An error says that nobody has got it.
func (f *Follower) attempt(e *store.Entry, late bool) (err error) {
	defer recovered(&err)
	switch {
	case e.Type == store.EntryVoid:
		return nil
	case e.Broken != nil:
		return e.Broken.Err
	case e.Type == store.EntryEvent, e.Type == store.EntryEphemeral:
		f.fanout(e, late)
	case e.Type == store.EntryRemoval && !late: // no feed waits for one that was deferred
		f.fanoutRemoval(e)
	}
	return nil
}

// panicked is a panic that was caught.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// recovered turns a panic into an error: one row must not stop the others.
func recovered(err *error) {
	if value := recover(); value != nil {
		*err = &panicked{value: value, stack: debug.Stack()}
	}
}
