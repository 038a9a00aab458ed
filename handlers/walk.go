package handlers

import (
	"context"
	"errors"
	"fmt"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// changesPage is how many rows of the log are read at once, and firstPage how many the
// first time.
const (
	changesPage = 256
	firstPage   = 8
)

// resync is the error of a position from which a feed cannot go on (R2, R3).
type resync struct {
	why wire.Reason
	log wire.Log
}

func (r *resync) Error() string { return r.why.String() }

// walk is a feed on its way through the log. It belongs to one goroutine.
type walk struct {
	// Set at construction, never changed.
	*Session
	handle  *lifecycle.Handle
	message *wire.ChangesMessage

	log   store.LogInfo // when it was asked last
	first store.Position
	at    wire.Cursor // the last row that was looked at
	rows  int         // that the next page asks for
	work  budget
	sent  int
	eosed bool
}

// run sends what is between since and the end of the log and then, if that is asked
// for, goes live. The end of the log is A: what is at or below it is read, what is
// above it comes by the fan-out, as lifecycle/DESIGN.md has it.
func (w *walk) run(ctx context.Context) error {
	if err := w.locate(ctx); err != nil {
		return err
	}
	w.first = w.log.Head
	w.handle.Begin(w.first)
	w.pause.At(pause.ReqBegun)
	more, err := w.advance(ctx, w.first)
	if err != nil {
		return err
	}
	w.pause.At(pause.ReqReplayed)
	if !w.message.Live {
		return w.handle.Complete(wire.Mark{Cursor: w.at, More: more}, nil)
	}
	if more {
		w.index.Remove(w.handle)
		return w.handle.Complete(wire.Mark{Cursor: w.at, More: more}, &errNotLive)
	}
	return w.goLive(ctx)
}

// goLive is Session.goLive for a feed.
func (w *walk) goLive(ctx context.Context) error {
	mark := wire.Mark{Cursor: w.at}
	w.eosed = true
	for {
		isLive, err := w.handle.GoLiveAt(mark)
		if isLive || err != nil {
			return err
		}
		w.handle.Restart()
		w.pause.At(pause.ReqRestarted)
		if err := w.look(ctx); err != nil {
			return err
		}
		if _, err := w.advance(ctx, w.log.Head); err != nil {
			return err
		}
		w.handle.Begin(w.log.Head)
		w.pause.At(pause.ReqCaughtUp)
	}
}

// look asks where the log begins and ends now. It must not have become another one.
func (w *walk) look(ctx context.Context) error {
	before := w.log.Epoch
	log, err := w.store.Log(ctx)
	if err != nil {
		return err
	}
	w.log = log
	if before != "" && before != log.Epoch {
		return w.anew("the log has another history now")
	}
	return nil
}

// anew returns the error that makes the client fetch everything anew.
func (w *walk) anew(text string) error {
	return &resync{
		why: wire.Because(wire.Resync, text),
		log: wire.Log{Epoch: string(w.log.Epoch), Floor: uint64(w.log.Floor), Head: uint64(w.log.Head)},
	}
}

// belowFloor is anew with the floor as it is now.
func (w *walk) belowFloor(ctx context.Context) error {
	if err := w.look(ctx); err != nil {
		return err
	}
	return w.anew("the log does not reach back to that position")
}

// advance sends the changes of the log up to upTo, which is committed. More says that
// it has stopped before: the limit is reached, or the time that the store may work.
func (w *walk) advance(ctx context.Context, upTo store.Position) (more bool, err error) {
	if err := w.caughtUp(ctx); err != nil {
		return false, err
	}
	begin := w.at.Position
	for w.at.Position < uint64(upTo) {
		page, err := w.page(ctx)
		if errors.Is(err, errTimeout) && w.at.Position > begin {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if len(page) == 0 {
			return false, fmt.Errorf("log ends at %d, before the position %d", w.at.Position, upTo)
		}
		w.pause.At(pause.ReqPage)
		for i := range page {
			if page[i].Position > upTo { // it arrives live
				return false, nil
			}
			if full, err := w.row(ctx, &page[i]); full || err != nil {
				return full, err
			}
			w.at.Position, w.at.Prefix = uint64(page[i].Position), page[i].Prefix
		}
	}
	return false, nil
}

// page returns the rows behind the last one: twice as many as the page before had, so
// that little is read in vain where they are large.
func (w *walk) page(ctx context.Context) ([]store.Entry, error) {
	page, err := w.read(ctx, store.Position(w.at.Position), w.rows)
	page = light(page)
	w.rows = min(max(2*len(page), 1), changesPage)
	return page, err
}

// read returns rows of the log, within the budget until EOSE.
func (w *walk) read(ctx context.Context, after store.Position, most int) (page []store.Entry, err error) {
	read := func(ctx context.Context) (err error) {
		page, err = w.store.ReadLog(ctx, after, most)
		return err
	}
	if w.eosed {
		err = read(ctx)
	} else {
		err = w.work.spend(ctx, read)
	}
	if errors.Is(err, store.ErrFloor) { // race: retention against the replay
		return nil, w.belowFloor(ctx)
	}
	return page, err
}

// row sends one row, if it is a change for this feed. Full says that it is, and that
// the limit has been reached before it.
func (w *walk) row(ctx context.Context, e *store.Entry) (full bool, err error) {
	if e.CouldMatch(w.handle.Filters()) && (e.Type != store.EntryRemoval || w.message.Removed) {
		if e, err = w.mended(ctx, e.Position); err != nil {
			return false, err
		}
	}
	ev, removed := w.change(e)
	if ev == nil {
		return false, nil
	}
	sight := w.conn.SightOf(ev, removed) // as of now, whenever the position was issued (R4)
	may, err := sight.Decide(ctx, w.conn.Keys())
	if !may || err != nil {
		return false, err
	}
	if !w.eosed && w.message.HasLimit && int64(w.sent) >= w.message.Limit {
		return true, nil
	}
	w.pause.At(pause.ReqDecided)
	w.sent++
	return false, w.handle.ReplayChange(ctx, e.Position, ev, removed, sight.Grant)
}

// mended waits at a row that cannot be read and that this feed may have asked for, and
// reads it again once the fan-out is done with it. If it cannot be read then it is a
// dead letter, and the client fetches everything anew (O17).
func (w *walk) mended(ctx context.Context, at store.Position) (*store.Entry, error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := w.progress.Settle(bounded, at); err != nil {
		if ctx.Err() == nil {
			err = errBehind
		}
		return nil, err
	}
	page, err := w.read(ctx, at-1, 1)
	if err == nil && (len(page) == 0 || page[0].CouldMatch(w.handle.Filters())) {
		err = w.anew("a change of the log cannot be read")
	}
	if err != nil {
		return nil, err
	}
	return &page[0], nil
}

// change returns what the row is for the feed's filter, nil for nothing. An ephemeral
// event that was there before the feed is over.
func (w *walk) change(e *store.Entry) (ev *wire.Event, removed bool) {
	filters := w.handle.Filters()
	switch {
	case e.Type == store.EntryEphemeral && e.Position <= w.first:
		return nil, false
	case e.Matches(filters, w.now().Unix()):
		return e.Event, false
	case e.Type == store.EntryRemoval && w.message.Removed && wire.MatchesAny(filters, e.Removal.Event):
		return e.Removal.Event, true
	default:
		return nil, false
	}
}
