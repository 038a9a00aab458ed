package handlers_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/lifecycle"
	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// policy is made of functions; what is not set allows everything.
type policy struct {
	authenticate func(key string) error
	submit       func(keys []string, ev *wire.Event) error
	plan         func(keys []string, ev *wire.Event) (store.Write, error)
	read         func(keys []string, filters []*wire.Filter) error
	visible      func(ev *wire.Event) bool
	failed       error
	sight        func(ev *wire.Event) lifecycle.Sight
	apply        func(e *store.Entry) error
	version      atomic.Uint64
	looks        bool // LooksBack
}

func (p *policy) MayAuthenticate(key string) error {
	if p.authenticate == nil {
		return nil
	}
	return p.authenticate(key)
}

func (p *policy) MaySubmit(keys []string, ev *wire.Event) error {
	if p.submit == nil {
		return nil
	}
	return p.submit(keys, ev)
}

func (p *policy) Plan(_ context.Context, keys []string, ev *wire.Event) (store.Write, error) {
	if p.plan == nil {
		return store.Write{Event: ev}, nil
	}
	return p.plan(keys, ev)
}

func (p *policy) LooksBack(*wire.Event) bool { return p.looks }

func (p *policy) Version() uint64 { return p.version.Load() }

func (p *policy) MayRead(keys []string, filters []*wire.Filter) error {
	if p.read == nil {
		return nil
	}
	return p.read(keys, filters)
}

func (p *policy) Visible(context.Context, []string, []*wire.Filter) (visible func(*wire.Event) bool, failed func() error) {
	version := p.Version()
	return p.visible, func() error {
		if p.Version() != version {
			return store.ErrMoved
		}
		return p.failed
	}
}

func (p *policy) Sight(ev *wire.Event) lifecycle.Sight {
	if p.sight == nil {
		return lifecycle.Sight{}
	}
	return p.sight(ev)
}

func (p *policy) Apply(_ context.Context, e *store.Entry) error {
	if p.apply == nil {
		return nil
	}
	return p.apply(e)
}

func (p *policy) options() harness.Options {
	return harness.Options{Writing: p, Reading: p, Controls: p}
}

// ruled runs test in a bubble of its own, with a client of a relay under a policy.
func ruled(t *testing.T, test func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &policy{}
		r := harness.New(t, p.options())
		test(t, p, r, r.Connect(t))
	})
}

var refused = wire.Because(wire.Restricted, "not for you")

// yes is accepted without a commit.
type yes struct{ wire.Reason }

func (y yes) Accepted() wire.Reason { return y.Reason }

// row is a control row that names scopes.
func row(scopes ...string) store.Control {
	return store.Control{Scopes: scopes, Data: []byte("{}")}
}

func texted(t *testing.T, n string) *wire.Event {
	t.Helper()
	return sign(t, alice, nostr.Event{Content: n})
}

var errOutside = errors.New("https://inner.test does not answer")
