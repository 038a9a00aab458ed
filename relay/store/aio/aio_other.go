//go:build !linux

package aio

import "errors"

// Syncer cannot be made here.
type Syncer struct{}

// New returns an error: what this package uses is of Linux.
func New() (*Syncer, error) { return nil, errors.ErrUnsupported }

// Sync is never called.
func (*Syncer) Sync(uintptr) error { return errors.ErrUnsupported }

// Close does nothing.
func (*Syncer) Close() error { return nil }
