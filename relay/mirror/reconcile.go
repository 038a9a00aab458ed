package mirror

import (
	"context"
	"errors"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/client"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// reconcile compares both sides by NIP-77, on a connection of its own, and takes and
// gives what the other lacks. done is false when the upstream does not reconcile: then
// pages have to do. Private events of this relay are no part of it.
func (s *session) reconcile(ctx context.Context) (done bool, err error) {
	own, err := s.stamps(ctx)
	if err != nil {
		return false, err
	}
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err := client.Dial(dialing, s.spec.URL, client.Options{Buffer: subBuffer})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, leave(ctx, c)) }()
	have, need, err := c.Reconcile(ctx, s.spec.Filter, own)
	var refusal *client.Refusal
	switch {
	case errors.Is(err, client.ErrNoReconciling), errors.As(err, &refusal):
		s.log.Info("mirror's upstream does not reconcile", "err", err)
		return false, nil
	case err != nil:
		return false, err
	}
	if s.spec.down() {
		if err := s.fetch(ctx, c, need); err != nil {
			return false, err
		}
	}
	if s.spec.up() {
		err = s.give(ctx, have)
	}
	return err == nil, err
}

// stamps are the events here that everybody may read.
func (s *session) stamps(ctx context.Context) (own []client.Stamp, err error) {
	err = s.eachHere(ctx, s.spec.Filter, func(ev *wire.Event) {
		if !ev.Protected() && s.opt.Public(ev) {
			own = append(own, client.Stamp{At: ev.CreatedAt, ID: ev.ID})
		}
	})
	return own, err
}

// fetch takes in the events of these ids.
func (s *session) fetch(ctx context.Context, c *client.Client, ids []string) error {
	for len(ids) > 0 {
		n := min(len(ids), pageLimit)
		page, err := s.fetchOnce(ctx, c, ids[:n])
		if err == nil {
			err = s.spread(ctx, page, work{s.taking, s.take})
		}
		if err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

func (s *session) fetchOnce(ctx context.Context, c *client.Client, ids []string) (page []*wire.Event, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Patience)
	defer cancel()
	err = c.FetchIDs(ctx, ids, func(ev *wire.Event) error {
		page = append(page, ev)
		return nil
	})
	return page, err
}

// give offers the events of these ids.
func (s *session) give(ctx context.Context, ids []string) error {
	for len(ids) > 0 {
		n := min(len(ids), pageLimit)
		var page []*wire.Event
		err := s.eachHere(ctx, wire.NewFilter(nostr.Filter{IDs: ids[:n]}), func(ev *wire.Event) { page = append(page, ev) })
		if err == nil {
			err = s.spread(ctx, page, work{s.giving, s.offer})
		}
		if err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// eachHere calls each with every event that is stored here and matches f, newest first.
func (s *session) eachHere(ctx context.Context, f *wire.Filter, each func(*wire.Event)) (err error) {
	snap, err := s.opt.Store.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	return store.Each(ctx, snap, []*wire.Filter{f}, store.QueryOptions{}, func(ev *wire.Event) error {
		each(ev)
		return nil
	})
}
