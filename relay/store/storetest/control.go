package storetest

import (
	"context"
	"errors"

	"fencepost/relay/store"
)

// ReadControl implements store.Store.
func (f *Fake) ReadControl(context.Context, store.Position, int) ([]store.Entry, error) {
	return nil, errors.ErrUnsupported
}

// Erase implements store.Store.
func (f *Fake) Erase(context.Context, store.Erasure, int) (int, error) {
	return 0, errors.ErrUnsupported
}

// Prefixed implements store.Snapshot.
func (s *snapshot) Prefixed(context.Context, string, int) ([]store.Record, error) {
	return nil, errors.ErrUnsupported
}
