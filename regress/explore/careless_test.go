//go:build !nopause

package explore_test

import (
	"context"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// careless is a store that does not look at contexts, which it need not: what is
// in memory is answered although the query was given up meanwhile. A fence that
// only works because a context has ended fails on it.
type careless struct{ store.Store }

func (c careless) Snapshot(ctx context.Context) (store.Snapshot, error) {
	s, err := c.Store.Snapshot(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	return carelessSnapshot{Snapshot: s}, nil
}

type carelessSnapshot struct{ store.Snapshot }

func (s carelessSnapshot) Query(ctx context.Context, f []*wire.Filter, o store.QueryOptions) (store.Rows, error) {
	rows, err := s.Snapshot.Query(context.WithoutCancel(ctx), f, o)
	if err != nil {
		return nil, err
	}
	return carelessRows{Rows: rows}, nil
}

type carelessRows struct{ store.Rows }

func (r carelessRows) Next(ctx context.Context, dst []store.Record, limit int) ([]store.Record, error) {
	return r.Rows.Next(context.WithoutCancel(ctx), dst, limit)
}
