package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"fencepost/lifecycle"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Times of a Scribe.
const (
	pace     = time.Second // between two lists
	maxRetry = time.Minute // between two tries
)

// ScribeOptions make a Scribe. All must be set.
type ScribeOptions struct {
	Policy *Policy
	// Append commits events; it blocks until they are durable.
	Append func(ctx context.Context, writes []store.Write) []store.Outcome
	// Stored returns the stored list of members (kind 13534 of the relay's key).
	Stored func(ctx context.Context) (list *wire.Event, ok bool, err error)
	Logger *slog.Logger
}

// Scribe writes the list of members (NIP-43, kind 13534) after changes, the first at
// once and then one a second at most. What admits and removes members does not wait
// for it, and does not conflict over it.
//
// A list that was not written is tried again, later and later. When several replicas
// run, each writes what the stored list does not say; the newest stays.
type Scribe struct{ o ScribeOptions }

// NewScribe returns a writer that does nothing until Run.
func NewScribe(o ScribeOptions) *Scribe { return &Scribe{o: o} }

// Run writes lists until ctx ends, beginning with a look at the one that is stored.
// One Run at a time.
func (s *Scribe) Run(ctx context.Context) {
	wait := time.Duration(0) // after tries that failed
	for ctx.Err() == nil {
		again, err := s.write(ctx)
		switch {
		case err == nil && !again:
			wait = 0
			lifecycle.Rest(ctx, pace)
			select {
			case <-s.o.Policy.peopled:
			case <-ctx.Done():
			}
			continue
		case err != nil && ctx.Err() == nil:
			s.o.Logger.Warn("list of members was not written", "err", err)
		}
		wait = min(max(2*wait, pace), maxRetry)
		lifecycle.Rest(ctx, wait+rand.N(wait/4))
	}
}

// write writes the list when the stored one says something else. again is set when
// another replica was faster: what it wrote is to be looked at.
func (s *Scribe) write(ctx context.Context) (again bool, err error) {
	stored, ok, err := s.o.Stored(ctx)
	if err != nil {
		return false, fmt.Errorf("read the stored list: %w", err)
	}
	if !ok {
		stored = nil
	}
	list, err := s.o.Policy.list(stored)
	if list == nil || err != nil {
		return false, err
	}
	out := s.o.Append(ctx, []store.Write{{Event: list}})[0]
	return errors.Is(out.Err, store.ErrSuperseded), unless(out.Err, store.ErrSuperseded, store.ErrDuplicate)
}

// unless returns err unless it is one of those.
func unless(err error, those ...error) error {
	for _, that := range those {
		if errors.Is(err, that) {
			return nil
		}
	}
	return err
}
