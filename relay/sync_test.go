package relay_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/relay/client"
	"fencepost/relay/config"
	"fencepost/relay/wire"
)

// Clients that leave and come back while events are published, replaced and deleted
// end with exactly what a REQ shows, whether they resumed or were told to begin anew.
func TestClientsThatComeBackEndWithTheExactSet(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), func(c *config.Config) {
		c.Subscriptions.MaxLimit, c.Subscriptions.DefaultLimit = 50, 50
	})
	filter := wire.NewFilter(nostr.Filter{Kinds: []int{0, 1, 30023}})
	sets := make([]*client.Set, 6)
	var g errgroup.Group
	writer := r.dial(t)
	g.Go(func() error { return publishAtRandom(t, writer, 300) })
	for i := range sets {
		sets[i] = &client.Set{}
		g.Go(func() error {
			rng := rand.New(rand.NewPCG(7, uint64(i)))
			for range 8 {
				c := r.dial(t)
				o := client.Sync{Filter: filter, Token: sets[i].Token, Keeper: sets[i]}
				if rng.IntN(4) == 0 {
					o.Token = "lost" // what a client with a token of another relay has
				}
				if err := c.Sync(t.Context(), o); err != nil {
					return err
				}
				_ = c.Close() // the relay may have closed it first
				<-time.After(time.Duration(rng.IntN(20)) * time.Millisecond)
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())

	want := &client.Set{}
	require.NoError(t, r.dial(t).Sync(t.Context(), client.Sync{Filter: filter, Keeper: want}))
	require.NotEmpty(t, want.IDs())
	for _, set := range sets {
		o := client.Sync{Filter: filter, Token: set.Token, Keeper: set}
		require.NoError(t, r.dial(t).Sync(t.Context(), o))
		require.Equal(t, want.IDs(), set.IDs())
		require.Equal(t, want.Token, set.Token)
	}
}

// publishAtRandom publishes notes, profiles and articles of a few keys, newer versions
// of them, and deletions of what it has published.
func publishAtRandom(t *testing.T, c *client.Client, n int) error {
	rng := rand.New(rand.NewPCG(7, 1000))
	keys := []string{nostr.GeneratePrivateKey(), nostr.GeneratePrivateKey()}
	var made []*nostr.Event
	begin := nostr.Now() - nostr.Timestamp(n)
	for i := range n {
		key := keys[rng.IntN(len(keys))]
		ev := &nostr.Event{Kind: []int{0, 1, 1, 1, 30023, 5}[rng.IntN(6)], CreatedAt: begin + nostr.Timestamp(i), Content: nostr.GeneratePrivateKey()}
		switch ev.Kind {
		case 30023:
			ev.Tags = nostr.Tags{{"d", []string{"a", "b"}[rng.IntN(2)]}}
		case 5:
			if len(made) == 0 {
				continue
			}
			ev.Tags = nostr.Tags{{"e", made[rng.IntN(len(made))].ID}}
		}
		require.NoError(t, ev.Sign(key))
		made = append(made, ev)
		if err := c.Publish(t.Context(), wire.NewEvent(*ev)); err != nil {
			return err
		}
	}
	return nil
}
