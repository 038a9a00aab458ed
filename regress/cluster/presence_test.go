package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/regress/cluster"
	"fencepost/regress/postgres"
	"fencepost/relay/web/nip98"
)

// staleAfter is presence.stale in this suite, the shortest that there is.
const staleAfter = 10 * time.Second

// present asks a replica about a key, as the operator, and returns the state.
func present(ctx context.Context, r *cluster.Replica, key, n int) (state string, err error) {
	address := fmt.Sprintf("http%s/api/presence?pubkeys=%s&n=%d", strings.TrimPrefix(r.URL, "ws"), cluster.Public(key), n)
	soon := time.Now().Add(time.Second) // a relay takes no token of the second in which it started
	header, err := nip98.Header(cluster.Secret(operatorKey), http.MethodGet, address, nil, soon)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", header)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Sprint(response.StatusCode), nil
	}
	var got struct {
		Presence []struct {
			State string
			Age   *float64 `json:"age_seconds"`
		}
	}
	if err := json.Unmarshal(body, &got); err != nil || len(got.Presence) != 1 {
		return "", fmt.Errorf("%s: %w", body, err)
	}
	return got.Presence[0].State, nil
}

// observer asks about some keys again and again, and remembers every answer.
type observer struct {
	replica *cluster.Replica

	mu   sync.Mutex
	last map[int]string
	ever map[int]map[string]bool
}

func (o *observer) run(ctx context.Context, keys ...int) error {
	for n := 0; ctx.Err() == nil; n++ {
		for _, key := range keys {
			state, err := present(context.WithoutCancel(ctx), o.replica, key, n)
			if err != nil {
				return err
			}
			o.mu.Lock()
			o.last[key] = state
			if o.ever[key] == nil {
				o.ever[key] = make(map[string]bool)
			}
			o.ever[key][state] = true
			o.mu.Unlock()
		}
		_ = cluster.Wait(ctx, 100*time.Millisecond) // the loop asks
	}
	return nil
}

// becomes waits until a key has a state.
func (o *observer) becomes(t *testing.T, key int, states ...string) {
	t.Helper()
	_, err := within(t.Context(), func() (bool, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, s := range states {
			if o.last[key] == s {
				return true, nil
			}
		}
		return false, nil
	})
	require.NoError(t, err, "%d is %s, not %v", key, o.now(key), states)
}

func (o *observer) now(key int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last[key]
}

// never requires that a key has never had a state so far.
func (o *observer) never(t *testing.T, key int, state string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	require.False(t, o.ever[key][state], "%d was %s", key, state)
}

// A replica that is killed, stopped or cut from the database makes its users stale, never
// offline, and they are back when it is, without connecting again. A replica that starts
// again under its name has none of its predecessor's users. Offline is who left.
func TestPresenceUnderFaultsIsStaleNeverOffline(t *testing.T) {
	t.Parallel()
	c, _ := start(t, 3, cluster.Options{Proxied: true, Env: []string{
		"FENCEPOST_RELAY_PUBKEY=" + cluster.Public(operatorKey),
		"FENCEPOST_PRESENCE_STALE=" + staleAfter.String(), "FENCEPOST_PRESENCE_IDLE=5s",
	}})
	const alice, bob = writerKey, witnessKey
	o := &observer{replica: c.Replicas[2], last: make(map[int]string), ever: make(map[int]map[string]bool)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var observing errgroup.Group
	observing.Go(func() error { return o.run(ctx, alice, bob) })
	watch(t, c.Replicas[0], alice)
	b := watch(t, c.Replicas[1], bob)
	here := []string{"online", "idle"}
	o.becomes(t, alice, here...)
	o.becomes(t, bob, here...)

	c.Replicas[0].Kill()
	o.becomes(t, alice, "stale")
	require.NoError(t, c.Replicas[0].Start(ctx))
	require.NoError(t, cluster.Wait(ctx, 6*time.Second)) // it reports meanwhile
	o.becomes(t, alice, "stale")
	watch(t, c.Replicas[0], alice)
	o.becomes(t, alice, here...)

	require.NoError(t, c.Replicas[1].Stop())
	o.becomes(t, bob, "stale")
	require.NoError(t, c.Replicas[1].Continue())
	o.becomes(t, bob, here...)

	c.Replicas[1].Proxy.Set(postgres.BlackHole)
	o.becomes(t, bob, "stale")
	state, err := present(ctx, c.Replicas[1], bob, -1)
	require.NoError(t, err)
	require.Equal(t, "503", state, "who cannot read the index says so")
	c.Replicas[1].Proxy.Set(postgres.None)
	o.becomes(t, bob, here...)
	o.never(t, alice, "offline")
	o.never(t, bob, "offline")

	b.end()
	o.becomes(t, bob, "offline")
	o.never(t, alice, "offline")
	cancel()
	require.NoError(t, observing.Wait())
}
