package handlers

import (
	"context"

	"fencepost/lifecycle"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Writing says who may act. Refusals are a wire.Reason; any other error is an
// internal one. An error that is Accepted is a yes.
type Writing interface {
	// MayAuthenticate says whether the holder of key may be here.
	MayAuthenticate(key string) error
	// MaySubmit refuses what is hopeless, from what ev claims: its id and signature
	// have not been checked. It does not block.
	MaySubmit(keys []string, ev *wire.Event) error
	// Plan decides about a verified event and returns what is to be committed for
	// it, with the terms that the decision rests on.
	Plan(ctx context.Context, keys []string, ev *wire.Event) (store.Write, error)
	// LooksBack reports whether Plan looks for earlier events in the store.
	LooksBack(ev *wire.Event) bool
}

// Reading says who may see what.
type Reading interface {
	// Version moves after permissions were taken away and before those are looked
	// for who depended on them.
	Version() uint64
	// MayRead refuses filters of which all is closed to the holder of keys.
	MayRead(keys []string, filters []*wire.Filter) error
	// Visible returns what the store leaves out (nil: nothing), and an error that
	// is set, once the query is over, when that could not be told: store.ErrMoved when
	// something was taken away meanwhile on which its answers rested.
	Visible(ctx context.Context, keys []string, filters []*wire.Filter) (visible func(*wire.Event) bool, failed func() error)
	// Sight says who may see ev.
	Sight(ev *wire.Event) lifecycle.Sight
}

// Progress is how far this relay has followed the log.
type Progress interface {
	Place
	Waiting
}

// Place says where this relay is.
type Place interface {
	// Begun is what the fan-out has begun: committed.
	Begun() store.Position
	// Deferred are the rows at or below Begun that the fan-out has not delivered yet,
	// in rising order. Nobody changes the slice.
	Deferred() []store.Position
	// Applied is how far control rows are in force here.
	Applied() store.Position
}

// Waiting blocks until this relay has come somewhere.
type Waiting interface {
	// Settle blocks until no row at or below at is deferred or yet to come, or ctx ends.
	Settle(ctx context.Context, at store.Position) error
	// Await blocks until Applied has reached at, or ctx ends.
	Await(ctx context.Context, at store.Position) error
}

// Accepted is an error that means OK true with a text: there is nothing to
// commit, or, beside a write, what to say once that is done.
type Accepted interface {
	error
	Accepted() wire.Reason
}
