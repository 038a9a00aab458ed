package relay

import (
	"context"
	"errors"
	"io"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// lookup finds single events in the store, for those who decide about others.
type lookup struct {
	store store.Store
	self  string // the relay's public key, hex
}

// find returns the stored event with that id.
func (l lookup) find(ctx context.Context, id string) (*wire.Event, bool, error) {
	return l.first(ctx, nostr.Filter{IDs: []string{id}})
}

// told returns what the relay has told of a group by an event of that kind (NIP-29).
func (l lookup) told(ctx context.Context, kind int, group string) (*wire.Event, bool, error) {
	return l.first(ctx, nostr.Filter{
		Kinds: []int{kind}, Authors: []string{l.self}, Tags: nostr.TagMap{"d": {group}},
	})
}

// members returns the stored list of the relay's members (NIP-43).
func (l lookup) members(ctx context.Context) (list *wire.Event, ok bool, err error) {
	const kind = 13534
	return l.first(ctx, nostr.Filter{Kinds: []int{kind}, Authors: []string{l.self}})
}

// first returns the newest stored event that a filter matches.
func (l lookup) first(ctx context.Context, f nostr.Filter) (ev *wire.Event, ok bool, err error) {
	snap, err := l.store.Snapshot(ctx)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	rows, err := snap.Query(ctx, []*wire.Filter{wire.NewFilter(f)}, store.QueryOptions{MaxTotal: 1})
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for {
		found, err := rows.Next(ctx, nil, 1)
		switch {
		case errors.Is(err, io.EOF):
			return nil, false, nil
		case err != nil:
			return nil, false, err
		case len(found) > 0: // none: the next one takes a long scan
			return found[0].Event, true, nil
		}
	}
}

// progress is how far control rows are in force here.
type progress interface {
	Await(ctx context.Context, at store.Position) error
}

// settled blocks until all control rows are in force here that s holds by now, and so
// all that somebody can have known who wrote what was read from s before. ctx bounds it.
func settled(ctx context.Context, s store.Store, p progress) error {
	info, err := s.Log(ctx)
	if err != nil {
		return err
	}
	return p.Await(ctx, info.Control)
}

// prefixed returns some stored events whose ids begin with prefix.
func (l lookup) prefixed(ctx context.Context, prefix string) (events []*wire.Event, err error) {
	const most = 16 // of random ids two hardly ever share eight digits
	snap, err := l.store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	found, err := snap.Prefixed(ctx, prefix, most)
	for _, r := range found {
		events = append(events, r.Event)
	}
	return events, err
}
