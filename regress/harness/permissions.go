package harness

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/access"
	"fencepost/relay/access/group"
	"fencepost/relay/metrics"
	"fencepost/relay/wire"
)

// Secret is the relay's own key, and Self the public one of it: to derive it would
// take a fourth of the time of a schedule of the explorer.
const (
	Secret = "5555555555555555555555555555555555555555555555555555555555555555"
	Self   = "9ac20335eb38768d2052be1dbbc3c8f6178407458e51e6b4ad22f1d91758895b"
)

// permit makes the policy of the relay and what carries out its changes.
func (r *Relay) permit(t testing.TB, o Options) {
	r.Policy = r.newPolicy(t, o)
	r.history = &history{
		store: r.Store, make: func() *access.Policy { return r.newPolicy(t, o) },
		always: context.WithoutCancel(r.ctx), folded: make(map[int]*access.Policy),
	}
	if o.Cuts == nil {
		o.Cuts = (*metrics.Metrics)(nil) // counts nothing
	}
	r.Cutter = access.NewCutter(access.CutterOptions{
		Policy: r.Policy, Connections: r.Registry, Index: r.Index, Metrics: o.Cuts, Pause: r.history.watch(o.Pause),
	})
}

// sightOfRemoved is the policy's unless another one decides, which is asked about
// what is gone as about what is there.
func (r *Relay) sightOfRemoved() func(*wire.Event) lifecycle.Sight {
	if !r.judged {
		return nil
	}
	return r.Policy.SightOfRemoved
}

// newPolicy returns a policy to which no row has been applied.
func (r *Relay) newPolicy(t testing.TB, o Options) *access.Policy {
	sign := func(ev *nostr.Event) error { return ev.Sign(Secret) }
	book, err := group.New(group.Options{
		Self: Self, Sign: sign, Now: time.Now, Find: r.find, Prefixed: r.prefixed, Rules: o.Groups,
	})
	require.NoError(t, err)
	return access.New(access.Options{
		Self: Self, Sign: sign, Rules: o.Rules, Groups: book, Outside: o.Outside, Now: time.Now,
	})
}

// find returns the stored event with that id.
func (r *Relay) find(ctx context.Context, id string) (*wire.Event, bool, error) {
	found, err := r.prefixed(ctx, id)
	if err != nil || len(found) == 0 {
		return nil, false, err
	}
	return found[0], true, nil
}

// prefixed returns the stored events whose ids begin with prefix.
func (r *Relay) prefixed(ctx context.Context, prefix string) (events []*wire.Event, err error) {
	const all = 1 << 20
	snap, err := r.Store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	found, err := snap.Prefixed(ctx, prefix, all)
	for _, record := range found {
		events = append(events, record.Event)
	}
	return events, err
}

// Rule changes the rules of the configuration as a reload does.
func (r *Relay) Rule(rules access.Rules) {
	r.Policy.SetRules(rules)
	r.history.rule(rules)
	r.Cutter.Recheck()
}
