package cluster_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/regress/cluster"
	"fencepost/regress/postgres"
)

// noticed is how soon a replica must say that it does not reach its database (O3).
const noticed = 5 * time.Second

// A replica that is cut from its database says so within 5 s, goes on once it is healed,
// and its publishers and subscribers miss nothing. The other replica does not notice.
func TestAReplicaThatIsCutFromTheDatabaseSaysSoAndCatchesUp(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		cut  func(p *postgres.Proxy)
	}{
		{"black hole", func(p *postgres.Proxy) { p.Set(postgres.BlackHole) }},
		{"reset", func(p *postgres.Proxy) { p.Set(postgres.Reset) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, _ := start(t, 2, cluster.Options{Proxied: true})
			l := newLoad(t, c)
			victim := c.Replicas[0]
			var took, healed time.Duration
			v := l.run(func(ctx context.Context) error {
				cut := func() (err error) {
					tc.cut(victim.Proxy)
					took, err = within(ctx, func() (bool, error) { return impaired(ctx, victim) })
					return err
				}
				heal := func() (err error) {
					victim.Proxy.Set(postgres.None)
					healed, err = within(ctx, func() (bool, error) { return sound(ctx, victim) })
					return err
				}
				return l.without(ctx, "cut from the database", victim, size(5*time.Second, 15*time.Second), cut, heal)
			})
			t.Logf("noticed after %s, healed after %s", seconds(took), seconds(healed))
			require.LessOrEqual(t, took, noticed+l.stall.Longest)
			require.Zero(t, v.Cut, "readers stay connected")
		})
	}
}

// The connections that a replica has fall silent, and new ones work. It follows the log
// again within 5 s, so it has not lost touch with it (access.max_lag), and tells of it.
func TestAReplicaWhoseConnectionsFallSilentMakesNewOnes(t *testing.T) {
	t.Parallel()
	c, _ := start(t, 2, cluster.Options{Proxied: true})
	l := newLoad(t, c)
	victim := c.Replicas[0]
	var longest time.Duration
	v := l.run(func(ctx context.Context) error {
		cut := func() (err error) {
			victim.Proxy.Silence()
			longest, err = standstill(ctx, victim)
			return err
		}
		sane := func() error {
			_, err := within(ctx, func() (bool, error) {
				lost, err := victim.Metric(ctx, "fencepost_listener_losses_total")
				good, ready := sound(ctx, victim)
				return lost > 0 && good, errors.Join(err, ready)
			})
			return err
		}
		return l.without(ctx, "its connections silent", victim, size(5*time.Second, 15*time.Second), cut, sane)
	})
	t.Logf("followed again after %s", seconds(longest))
	require.LessOrEqual(t, longest, noticed+l.stall.Longest)
	require.Zero(t, v.Cut, "readers stay connected")
}

// standstill waits for a replica to go on in the log after it has not for a second, and
// returns for how long it did not. Others publish meanwhile.
func standstill(ctx context.Context, r *cluster.Replica) (time.Duration, error) {
	var at uint64
	since := time.Now()
	var longest time.Duration
	_, err := within(ctx, func() (bool, error) {
		position, err := r.Position(ctx)
		if err != nil || position == at {
			return false, err
		}
		longest = time.Since(since)
		at, since = position, time.Now()
		return longest > time.Second, nil
	})
	return longest, err
}

// A slow way to the database costs time and nothing else.
func TestASlowWayToTheDatabaseLosesNothing(t *testing.T) {
	t.Parallel()
	c, _ := start(t, 2, cluster.Options{Proxied: true})
	l := newLoad(t, c)
	v := l.run(func(ctx context.Context) error {
		for _, delay := range []time.Duration{100 * time.Millisecond, 0, 10 * time.Millisecond} {
			c.Replicas[0].Proxy.Delay(delay)
			if err := cluster.Wait(ctx, size(time.Second, 5*time.Second)); err != nil {
				return err
			}
		}
		c.Replicas[0].Proxy.Delay(0)
		return nil
	})
	require.Zero(t, v.Cut)
}

// sound reports whether a replica says that nothing is wrong with it.
func sound(ctx context.Context, r *cluster.Replica) (bool, error) {
	bad, err := impaired(ctx, r)
	return err == nil && !bad, err
}

// impaired reports whether a replica says that it is degraded or not ready.
func impaired(ctx context.Context, r *cluster.Replica) (bool, error) {
	status, body, err := r.Ready(ctx)
	return status != http.StatusOK || degraded(body), err
}

func degraded(body string) bool { return strings.Contains(body, `"degraded":["`) }

// The database crashes and comes back while everybody publishes. Nobody is told OK true
// about what is lost, refusals say error, and readers stay.
func TestARestartOfTheDatabaseLosesNothing(t *testing.T) {
	t.Parallel()
	c, server := start(t, 2, cluster.Options{})
	if !server.Own() {
		t.Skipf("needs a server of its own, not that of %s", postgres.EnvURL)
	}
	l := newLoad(t, c)
	v := l.run(func(ctx context.Context) error {
		for range size(2, 6) {
			if err := cluster.Wait(ctx, time.Second); err != nil {
				return err
			}
			server.Kill()
			for _, r := range c.Replicas {
				require.NoError(t, healthy(ctx, r))
			}
			if err := cluster.Wait(ctx, size(500*time.Millisecond, 2*time.Second)); err != nil {
				return err
			}
			server.Restart(t)
		}
		return cluster.Wait(ctx, time.Second)
	})
	require.Zero(t, v.Cut, "readers stay connected")
	for _, r := range c.Replicas {
		_, err := within(t.Context(), func() (bool, error) { return sound(t.Context(), r) })
		require.NoError(t, err)
	}
}

// While the database is away for longer than a commit is tried for, publishers are told
// OK false.
func TestWithoutTheDatabaseEventsAreRefusedWithAnError(t *testing.T) {
	t.Parallel()
	c, server := start(t, 1, cluster.Options{})
	if !server.Own() {
		t.Skipf("needs a server of its own, not that of %s", postgres.EnvURL)
	}
	conn := dial(t, c.Replicas[0])
	before, err := cluster.Event(1, note, "before")
	require.NoError(t, err)
	require.NoError(t, conn.Publish(t.Context(), before))
	server.Kill()
	during, err := cluster.Event(1, note, "during")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), cluster.Patience)
	defer cancel()
	err = conn.Publish(ctx, during)
	require.ErrorContains(t, err, "refused: error: ")
	require.NotRegexp(t, regexp.MustCompile(`(?i)postgres|connect|dial|sql|127\.0`), err.Error(), "nothing internal is told")
	status, body, err := c.Replicas[0].Ready(t.Context())
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status, body)
	require.NoError(t, healthy(t.Context(), c.Replicas[0]))
	server.Restart(t)
	require.NoError(t, insist(t.Context(), conn, during))
}
