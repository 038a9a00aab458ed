package handlers

import (
	"context"
	"encoding/hex"
	"errors"
	"io"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/negentropy"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// collectPage is how many events are read at once for a negotiation.
const collectPage = 512

// maxRests is on how many groups and keys a negotiation may rest: they are looked at when
// an answer is taken.
const maxRests = 4096

// collectVisible reads the ids of all events that match f and that the reader may see.
// errTooBig when there are more than a negotiation may be about.
func (s *Session) collectVisible(ctx context.Context, snap store.Snapshot, n *negotiation, f *wire.Filter) (_ *negentropy.Set, err error) {
	keys, filters := s.conn.Keys(), []*wire.Filter{f}
	if err := s.reading.MayRead(keys, filters); err != nil { // it was allowed when it was read
		return nil, err
	}
	s.pause.At(pause.QueryJudged)
	visible, failed := s.reading.Visible(ctx, keys, filters)
	var rests lifecycle.Grants
	shown := func(ev *wire.Event) bool {
		grant := s.reading.Sight(ev).Grant // before the decision that rests on it
		if visible != nil && !visible(ev) {
			return false
		}
		rests.Add(grant)
		return true
	}
	most := s.limits.Load().NegRecords
	rows, err := snap.Query(ctx, filters, store.QueryOptions{MaxLimit: most + 1, DefaultLimit: most + 1, MaxTotal: most + 1, Visible: shown})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var items []negentropy.Item
	for page := []store.Record(nil); ; {
		page, err = rows.Next(ctx, page[:0], collectPage)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(items)+len(page) > most || rests.Len() > maxRests {
			return nil, errTooBig
		}
		if err := s.hold(n, len(page)); err != nil {
			return nil, err
		}
		if items, err = appendItems(items, page); err != nil {
			return nil, err
		}
	}
	n.talk.RestOn(rests.Grant(), func() bool { return s.reading.MayRead(s.conn.Keys(), filters) == nil && failed() == nil })
	if err := failed(); err != nil {
		return nil, err
	}
	if err := s.reading.MayRead(keys, filters); err != nil { // race: as in countVisible
		return nil, err
	}
	return negentropy.NewSet(items), nil
}

func appendItems(items []negentropy.Item, page []store.Record) ([]negentropy.Item, error) {
	for i := range page {
		item := negentropy.Item{At: uint64(page[i].Event.CreatedAt)}
		if _, err := hex.Decode(item.ID[:], []byte(page[i].Event.ID)); err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}
