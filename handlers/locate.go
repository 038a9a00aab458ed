package handlers

import (
	"context"

	"fencepost/relay/store"
)

// locate finds the place in the log where the feed goes on, or returns a resync: the
// client's position must be one of this history, and everything behind it must be
// there (R2, R3). What it knows of the position beyond the number is compared.
func (w *walk) locate(ctx context.Context) error {
	if err := w.look(ctx); err != nil {
		return err
	}
	since := w.message.Since
	switch {
	case since.Foreign:
		return w.anew("the position is none of this relay's")
	case since.Epoch != "" && since.Epoch != string(w.log.Epoch):
		return w.anew("the log has another history now")
	case since.Position > uint64(w.log.Head):
		return w.anew("the position is beyond the end of the log")
	case since.Position+1 < uint64(w.log.Floor):
		return w.anew("the log does not reach back to that position")
	}
	w.at = since
	w.at.Epoch = string(w.log.Epoch)
	return w.compare(ctx)
}

// compare looks at the row of the position, if it is still there: the last one below
// the floor is not.
func (w *walk) compare(ctx context.Context) error {
	at := store.Position(w.at.Position)
	if at == 0 || at < w.log.Floor {
		w.at.Prefix = [8]byte{}
		return nil
	}
	page, err := w.read(ctx, at-1, 1)
	if err != nil {
		return err
	}
	if len(page) == 0 || w.at.IsToken && page[0].Prefix != w.at.Prefix {
		return w.anew("the log has another event at that position")
	}
	w.at.Prefix = page[0].Prefix
	return nil
}
