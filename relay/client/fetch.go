package client

import (
	"context"
	"errors"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// maxPage is how many events a page asks for. A relay gives less where its own limit is
// lower; more than that of one second cannot be fetched.
const maxPage = 5000

// errTooMuch ends what would fill the memory.
var errTooMuch = errors.New("sync: the relay gives more than it was asked for")

// fetch gives the keeper everything that is stored, and drops what is not.
func (s *syncing) fetch(ctx context.Context) error {
	if holder, ok := s.Keeper.(Holder); ok {
		if done, err := s.compare(ctx, holder); done || err != nil {
			return err
		}
	}
	return s.fetchAll(ctx)
}

// compare does so by NIP-77. It is not done when the relay does not do that, or when
// the keeper has nothing to compare.
func (s *syncing) compare(ctx context.Context, holder Holder) (done bool, err error) {
	own, err := holder.Stamps()
	if err != nil || len(own) == 0 {
		return false, err
	}
	gone, need, err := s.Reconcile(ctx, s.Filter, own)
	var refusal *Refusal
	switch {
	case errors.Is(err, ErrNoReconciling), errors.As(err, &refusal):
		return false, nil
	case err != nil:
		return false, err
	}
	for _, id := range gone {
		if err := s.Keeper.Remove(id); err != nil {
			return false, err
		}
	}
	return true, s.FetchIDs(ctx, need, s.Keeper.Add)
}

// fetchAll does so by REQ.
func (s *syncing) fetchAll(ctx context.Context) error {
	have := make(map[string]struct{})
	var until *nostr.Timestamp
	for {
		page, all, err := s.page(ctx, until)
		if err != nil {
			return err
		}
		fresh := 0
		for _, ev := range page {
			if _, again := have[ev.ID]; again {
				continue
			}
			fresh++
			have[ev.ID] = struct{}{}
			if err := s.Keeper.Add(ev); err != nil {
				return err
			}
		}
		if all || len(page) == 0 {
			break
		}
		if fresh == 0 {
			return errors.New("sync: more events of one second than the relay gives at once")
		}
		until = &page[len(page)-1].CreatedAt // once more: there may be others of that second
	}
	return s.Keeper.Retain(func(id string) bool {
		_, ok := have[id]
		return ok
	})
}

// page fetches what is stored up to a time, newest first. All says that nothing older
// is left.
func (s *syncing) page(ctx context.Context, until *nostr.Timestamp) (page []*wire.Event, all bool, err error) {
	f := s.Filter.Filter
	f.Until, f.Limit = until, maxPage
	sub := s.newSub()
	if err := s.Send(ctx, wire.AppendReq(nil, sub, []*wire.Filter{wire.NewFilter(f)})); err != nil {
		return nil, false, err
	}
	for {
		m, err := s.next(ctx, sub)
		switch {
		case err != nil:
			return nil, false, err
		case m.Verb == "EVENT" && len(page) >= 2*maxPage:
			return nil, false, errTooMuch
		case m.Verb == "EVENT":
			page = append(page, m.Event)
		case m.Verb == "CLOSED":
			return nil, false, &Refusal{Text: m.Text}
		case m.Verb == "EOSE":
			return page, slices.Contains(m.Hints, "finish"), s.Send(ctx, wire.AppendClose(nil, sub))
		}
	}
}
