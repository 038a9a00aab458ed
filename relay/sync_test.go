package relay_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/regress/postgres"
	"fencepost/relay/client"
	"fencepost/relay/config"
	"fencepost/relay/wire"
)

// Clients that leave and come back while events are published, replaced and deleted
// end with exactly what a REQ shows, whether they resumed or were told to begin anew.
func TestClientsThatComeBackEndWithTheExactSet(t *testing.T) {
	t.Parallel()
	comeBack(t, []*running{start(t, t.TempDir(), smallPages)})
}

// It does not matter on which replica they were before.
func TestClientsComeBackToAnyReplica(t *testing.T) {
	t.Parallel()
	comeBack(t, replicas(t, postgres.Start(t).Database(t), 3, smallPages))
}

func smallPages(c *config.Config) { c.Subscriptions.MaxLimit, c.Subscriptions.DefaultLimit = 50, 50 }

func comeBack(t *testing.T, relays []*running) {
	t.Helper()
	filter := wire.NewFilter(nostr.Filter{Kinds: []int{0, 1, 30023}})
	sets := make([]*client.Set, 6)
	var g errgroup.Group
	for i, r := range relays {
		writer := r.dial(t)
		g.Go(func() error { return publishAtRandom(t, writer, uint64(i), 300/len(relays)) })
	}
	for i := range sets {
		sets[i] = &client.Set{}
		g.Go(func() error { return leaveAndComeBack(t, relays, filter, uint64(i), sets[i]) })
	}
	require.NoError(t, g.Wait())
	for _, r := range relays[1:] {
		r.follow(t, relays[0])
	}

	want := &client.Set{}
	require.NoError(t, relays[0].dial(t).Sync(t.Context(), client.Sync{Filter: filter, Keeper: want}))
	require.NotEmpty(t, want.IDs())
	for i, set := range sets {
		c := relays[i%len(relays)].dial(t)
		require.NoError(t, c.Sync(t.Context(), client.Sync{Filter: filter, Token: set.Token, Keeper: set}))
		require.Equal(t, want.IDs(), set.IDs())
		require.Equal(t, want.Token, set.Token)
	}
}

// leaveAndComeBack syncs a set a few times, each on a new connection, to any of the
// relays.
func leaveAndComeBack(t *testing.T, relays []*running, filter *wire.Filter, seed uint64, set *client.Set) error {
	rng := rand.New(rand.NewPCG(7, seed))
	for range 8 {
		c, err := client.Dial(t.Context(), "ws://"+relays[rng.IntN(len(relays))].url, client.Options{})
		if err != nil {
			return err
		}
		o := client.Sync{Filter: filter, Token: set.Token, Keeper: set}
		if rng.IntN(4) == 0 {
			o.Token = "lost" // what a client with a token of another relay has
		}
		err = c.Sync(t.Context(), o)
		_ = c.Close() // the relay may have closed it first
		if err != nil {
			return err
		}
		<-time.After(time.Duration(rng.IntN(20)) * time.Millisecond)
	}
	return nil
}

// publishAtRandom publishes notes, profiles and articles of a few keys, newer versions
// of them, and deletions of what it has published.
func publishAtRandom(t *testing.T, c *client.Client, seed uint64, n int) error {
	rng := rand.New(rand.NewPCG(9, seed))
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
		if err := ev.Sign(key); err != nil {
			return err
		}
		made = append(made, ev)
		if err := c.Publish(t.Context(), wire.NewEvent(*ev)); err != nil {
			return err
		}
	}
	return nil
}
