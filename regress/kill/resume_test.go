package kill_test

import (
	"path/filepath"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/relay/client"
	"fencepost/relay/wire"
)

// kept is a set that knows how often it was fetched anew.
type kept struct {
	client.Set
	anew int
}

func (k *kept) Retain(keep func(id string) bool) error {
	k.anew++
	return k.Set.Retain(keep)
}

// TestAFeedGoesOnAfterAKill kills the relay while it tells a feed what 20 connections
// publish. Whatever position the client was told, the next process has it: it goes on
// from there and never has to begin anew.
func TestAFeedGoesOnAfterAKill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds a round: -short is set")
	}
	const rounds = 4
	filter := wire.NewFilter(nostr.Filter{Kinds: []int{1, versioned}})
	data := filepath.Join(t.TempDir(), "data")
	p, set, total := start(t, data), &kept{}, &acknowledged{}
	require.NoError(t, p.dial(t).Sync(t.Context(), client.Sync{Filter: filter, Keeper: set}))
	for round := range rounds {
		total.left, total.enough = 300, make(chan struct{})
		follower, token := p.dial(t), set.Token
		var following errgroup.Group
		following.Go(func() error {
			return follower.Sync(t.Context(), client.Sync{Filter: filter, Token: set.Token, Live: true, Keeper: set})
		})
		publishUntilKilled(t, p, round, total)
		require.Equal(t, -1, p.end(t))
		require.Error(t, following.Wait(), "its relay is gone")
		require.NotEqual(t, token, set.Token, "it was told something")

		p = start(t, data)
		require.NoError(t, p.dial(t).Sync(t.Context(), client.Sync{Filter: filter, Token: set.Token, Keeper: set}))
		fresh := &client.Set{}
		require.NoError(t, p.dial(t).Sync(t.Context(), client.Sync{Filter: filter, Keeper: fresh}))
		require.Equal(t, fresh.IDs(), set.IDs())
	}
	require.Equal(t, 1, set.anew, "in the beginning only")
	t.Logf("%d kills, %d events kept by the feed, none fetched anew", rounds, len(set.IDs()))
}
