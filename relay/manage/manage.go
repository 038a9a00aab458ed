package manage

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"fencepost/relay/access"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Store keeps what is decided.
type Store interface {
	Append(ctx context.Context, writes []store.Write) []store.Outcome
	Snapshot(ctx context.Context) (store.Snapshot, error)
}

// Progress is how far this replica has followed the log.
type Progress interface {
	// Await blocks until what stands at or below a position is in force here, or
	// ctx ends.
	Await(ctx context.Context, at store.Position) error
}

// Letters are the rows that replicas have given up to deliver.
type Letters interface {
	// DeadLetters returns up to max, also those of other replicas.
	DeadLetters(ctx context.Context, max int) ([]store.DeadLetter, error)
	// Requeue has a row of this replica tried again; store.ErrNoLetter when there is no
	// such letter.
	Requeue(ctx context.Context, at store.Position) error
}

// Options make an API. All but Mirrors must be set.
type Options struct {
	Access   *access.Policy
	Store    Store
	Progress Progress
	Letters  Letters
	Now      func() time.Time
	Logger   *slog.Logger
	Mirrors  func() any // what the relay's mirrors do, as JSON shows it; must not block; nil: there is no such method
}

// API is the methods of NIP-86.
type API struct {
	o       Options
	methods map[string]method
}

// method reads its parameters and returns the result.
type method func(ctx context.Context, a *args) (result any, err error)

// New returns the API.
func New(o Options) *API {
	a := &API{o: o}
	a.methods = a.table()
	if o.Mirrors != nil {
		a.methods["listmirrors"] = func(_ context.Context, p *args) (any, error) { return o.Mirrors(), p.end() }
	}
	return a
}

// Call carries out one method and returns what becomes the JSON of its result. A
// wire.Reason says why it was not carried out; any other error is internal.
func (a *API) Call(ctx context.Context, name string, params []json.RawMessage) (any, error) {
	m, ok := a.methods[name]
	if !ok {
		return nil, wire.Because(wire.Unsupported, "there is no such method; supportedmethods lists them")
	}
	result, err := m(ctx, &args{method: name, left: params})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return result, nil
}

// supported lists the other methods.
func (a *API) supported(_ context.Context, p *args) (any, error) {
	names := slices.Sorted(maps.Keys(a.methods))
	return slices.DeleteFunc(names, func(n string) bool { return n == "supportedmethods" }), p.end()
}
