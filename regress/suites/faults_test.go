//go:build !nopause

package suites_test

import (
	"context"
	"errors"
	"testing"

	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// faults is a store that can be told to fail. Its fields change only while
// nothing of the relay runs.
type faults struct {
	store.Store
	snapshot, query, next, readLog, rowsClose, snapshotClose error

	pages int  // how many pages Next returns before it fails
	deaf  bool // contexts are not looked at
}

var errDisk = errors.New("disk on fire")

// inFaultyWorld runs test over a store that can fail.
func inFaultyWorld(t *testing.T, o harness.Options, test func(t *testing.T, w *world, f *faults)) {
	t.Helper()
	f := &faults{}
	o.Wrap = func(s store.Store) store.Store {
		*f = faults{Store: s}
		return f
	}
	inWorld(t, o, func(t *testing.T, w *world) { test(t, w, f) })
}

func (f *faults) Snapshot(ctx context.Context) (store.Snapshot, error) {
	if f.snapshot != nil {
		return nil, f.snapshot
	}
	if f.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	s, err := f.Store.Snapshot(ctx)
	return &faultySnapshot{Snapshot: s, faults: f}, err
}

func (f *faults) ReadLog(ctx context.Context, after store.Position, limit int) ([]store.Entry, error) {
	if f.readLog != nil {
		return nil, f.readLog
	}
	return f.Store.ReadLog(ctx, after, limit)
}

func (f *faults) Log(ctx context.Context) (store.LogInfo, error) {
	if f.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	return f.Store.Log(ctx)
}

type faultySnapshot struct {
	store.Snapshot
	faults *faults
}

func (s *faultySnapshot) Query(ctx context.Context, filters []*wire.Filter, o store.QueryOptions) (store.Rows, error) {
	if s.faults.query != nil {
		return nil, s.faults.query
	}
	if s.faults.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	rows, err := s.Snapshot.Query(ctx, filters, o)
	return &faultyRows{Rows: rows, faults: s.faults}, err
}

func (s *faultySnapshot) Close() error {
	return errors.Join(s.Snapshot.Close(), s.faults.snapshotClose)
}

type faultyRows struct {
	store.Rows
	faults *faults
	pages  int
}

func (r *faultyRows) Next(ctx context.Context, dst []store.Record, limit int) ([]store.Record, error) {
	if r.faults.next != nil && r.pages == r.faults.pages {
		return dst, r.faults.next
	}
	r.pages++
	if r.faults.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	return r.Rows.Next(ctx, dst, limit)
}

func (r *faultyRows) Close() error { return errors.Join(r.Rows.Close(), r.faults.rowsClose) }
