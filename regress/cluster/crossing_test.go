package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/regress/cluster"
	"fencepost/relay/wire"
)

// An event accepted on one replica reaches every matching subscriber on all, once and in
// the order of the log (O1).
func TestEventsReachSubscribersOfEveryReplica(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{2, 3, 5} {
		t.Run(name(replicas), func(t *testing.T) {
			c, _ := start(t, replicas, cluster.Options{})
			l := newLoad(t, c)
			v := l.run(func(ctx context.Context) error { return cluster.Wait(ctx, size(2*time.Second, 20*time.Second)) })
			require.Zero(t, v.Cut, "nobody had a reason to end a session")
		})
	}
}

// An ephemeral event crosses replicas, is never stored, and never comes again: neither to
// who asks for it later nor after a restart.
func TestEphemeralEventsCrossAndAreNeverReplayed(t *testing.T) {
	t.Parallel()
	c, _ := start(t, 2, cluster.Options{})
	a, b := c.Replicas[0], c.Replicas[1]
	filter := []*wire.Filter{wire.NewFilter(nostr.Filter{Kinds: []int{fleeting, ending}})}
	hear := listen(t, b, filter)
	e, err := cluster.Event(1, fleeting, "now or never")
	require.NoError(t, err)
	publish(t, a, e)
	require.Equal(t, e.ID, hear.next(t).ID)

	b.Kill()
	require.NoError(t, b.Start(t.Context()))
	later := []*ear{listen(t, a, filter), listen(t, b, filter)}
	last, err := cluster.Event(1, ending, "something else")
	require.NoError(t, err)
	publish(t, b, last)
	for _, hear := range later {
		require.Equal(t, last.ID, hear.next(t).ID, "nothing came before it, stored or live")
	}
}
