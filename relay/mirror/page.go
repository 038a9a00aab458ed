package mirror

import (
	"context"
	"slices"
	"sync"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// source returns what is stored on one side, newest first; all says that nothing older
// is left.
type source func(ctx context.Context, f nostr.Filter) (page []*wire.Event, all bool, err error)

// work is what is done with an event, while it holds a slot.
type work struct {
	slots chan struct{}
	do    func(context.Context, *wire.Event)
}

// pages walks over what a side has that was created in lo..hi, newest first, and has
// each done with every event, some at once. reached is told after each page up to where
// everything newer is done; nil: nobody. When more events of one second are stored than
// the side gives at once, the rest of them is passed over. A side that gives nothing
// of the time that it is asked for has nothing older.
func (s *session) pages(ctx context.Context, from source, lo, hi int64, each work, reached func(until int64) error) error {
	f := s.spec.Filter.Filter
	f.Limit = pageLimit
	if lo > 0 {
		since := nostr.Timestamp(lo)
		f.Since = &since
	}
	until, seen := nostr.Timestamp(hi), map[string]struct{}{}
	for int64(until) >= lo {
		at := until
		f.Until = &at
		page, all, err := from(ctx, f)
		if err != nil {
			return err
		}
		page = within(page, lo, until)
		fresh, oldest := unseen(page, seen, until)
		if err := s.spread(ctx, fresh, each); err != nil {
			return err
		}
		if all || len(page) == 0 {
			return nil
		}
		switch {
		case len(fresh) == 0, oldest == until && len(seen) >= mostOfPage: // it does not come to an end
			until--
			clear(seen)
		case oldest < until:
			until = oldest
			clear(seen)
		}
		for _, ev := range page {
			if ev.CreatedAt == until {
				seen[ev.ID] = struct{}{}
			}
		}
		if reached != nil {
			if err := reached(int64(until)); err != nil {
				return err
			}
		}
	}
	return nil
}

// within returns what of a page was asked for.
func within(page []*wire.Event, lo int64, until nostr.Timestamp) []*wire.Event {
	return slices.DeleteFunc(page, func(ev *wire.Event) bool { return int64(ev.CreatedAt) < lo || ev.CreatedAt > until })
}

// unseen returns what of a page was not in the one before, and the oldest time of it.
func unseen(page []*wire.Event, seen map[string]struct{}, until nostr.Timestamp) (fresh []*wire.Event, oldest nostr.Timestamp) {
	oldest = until
	for _, ev := range page {
		if _, again := seen[ev.ID]; again {
			continue
		}
		fresh, oldest = append(fresh, ev), min(oldest, ev.CreatedAt)
	}
	return fresh, oldest
}

// spread has each done, some at once, and returns when all are done.
func (s *session) spread(ctx context.Context, events []*wire.Event, each work) error {
	var under sync.WaitGroup
	for _, ev := range events {
		under.Add(1)
		if !s.begin(ctx, each.slots, func(ctx context.Context) { defer under.Done(); each.do(ctx, ev) }) {
			under.Done()
			break
		}
	}
	under.Wait()
	return ctx.Err()
}

// begin runs one piece of work when there is a slot for it. It reports whether it does.
func (s *session) begin(ctx context.Context, slots chan struct{}, do func(ctx context.Context)) bool {
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	began := s.group.Go("mirror event", func(ctx context.Context) {
		defer func() { <-slots }()
		do(ctx)
	})
	if !began {
		<-slots
	}
	return began
}
