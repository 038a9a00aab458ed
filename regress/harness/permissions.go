package harness

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access"
	"fencepost/relay/access/group"
	"fencepost/relay/metrics"
	"fencepost/relay/wire"
)

// Secret is the relay's own key.
const Secret = "5555555555555555555555555555555555555555555555555555555555555555"

// permit makes the policy of the relay and what carries out its changes.
func (r *Relay) permit(t testing.TB, o Options) {
	self, err := nostr.GetPublicKey(Secret)
	require.NoError(t, err)
	sign := func(ev *nostr.Event) error { return ev.Sign(Secret) }
	book, err := group.New(group.Options{
		Self: self, Sign: sign, Now: time.Now, Find: r.find, Prefixed: r.prefixed, Rules: o.Groups,
	})
	require.NoError(t, err)
	r.Policy = access.New(access.Options{
		Self: self, Sign: sign, Rules: o.Rules, Groups: book, Outside: o.Outside, Now: time.Now,
	})
	var none *metrics.Metrics // counts nothing
	r.Cutter = access.NewCutter(access.CutterOptions{
		Policy: r.Policy, Connections: r.Registry, Index: r.Index, Metrics: none, Pause: o.Pause,
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
	r.Cutter.Recheck()
}
