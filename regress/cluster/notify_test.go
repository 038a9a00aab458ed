package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/regress/cluster"
	"fencepost/relay/wire"
)

// Wake-ups that nobody sent, that come many times over and that say something change
// nothing (O4).
func TestForgedAndRepeatedNotificationsChangeNothing(t *testing.T) {
	t.Parallel()
	c, _ := start(t, 2, cluster.Options{})
	l := newLoad(t, c)
	forger := operate(t, c.Database)
	forged := 0
	v := l.run(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, size(2*time.Second, 10*time.Second))
		defer cancel()
		for ; cluster.Wait(ctx, time.Millisecond) == nil || forged == 0; forged++ {
			const sql = "SELECT pg_notify('fencepost', $1)"
			payload := []string{"", "1000000", `{"position":-1}`, fmt.Sprint(forged)}[forged%4]
			if _, err := forger.conn.Exec(context.WithoutCancel(ctx), sql, payload); err != nil {
				return err
			}
		}
		return nil
	})
	t.Logf("%d forged", forged)
	require.Positive(t, forged)
	require.Zero(t, v.Cut)
}

// Lost wake-ups delay and never drop: no listener and no notifier lives for long (O4), and
// no commit fails because of them (O14).
func TestLostNotificationsCostLatencyOnly(t *testing.T) {
	t.Parallel()
	c, _ := start(t, 2, cluster.Options{})
	l := newLoad(t, c)
	l.silence(c.Replicas[1])
	killers := []*operator{operate(t, c.Database), operate(t, c.Database)}
	kills := make([]int, 2)
	v := l.run(func(ctx context.Context) error {
		dying, cancel := context.WithTimeout(ctx, size(3*time.Second, 20*time.Second))
		defer cancel()
		var g errgroup.Group
		for i, which := range []string{listeners, notifiers} {
			g.Go(func() (err error) {
				kills[i], err = killers[i].terminate(dying, 10*time.Millisecond, which)
				return err
			})
		}
		return g.Wait()
	})
	latencies := cluster.Crossings(l.ledger, l.subscribers)
	slowest := latencies[len(latencies)-1]
	t.Logf("%d listeners and %d notifiers killed; from OK on one replica to a reader of another: median %s, slowest %s",
		kills[0], kills[1], seconds(latencies[len(latencies)/2]), seconds(slowest))
	require.Positive(t, min(kills[0], kills[1]))
	require.Zero(t, v.Cut)
	_, refused, _ := l.ledger.Counts()
	require.Empty(t, refused, "a wake-up fails no commit")
	require.Less(t, slowest, 5*time.Second+l.stall.Longest, "a poll a second is the floor")
}

// A listener that hears nothing any more, and is not told, is noticed within 5 s (O3).
// Meanwhile the poll finds what it would have heard of.
func TestAListenerThatHearsNothingIsNoticed(t *testing.T) {
	t.Parallel()
	c, _ := start(t, 2, cluster.Options{Proxied: true})
	l := newLoad(t, c)
	victim := c.Replicas[1]
	l.silence(victim)
	var took time.Duration
	v := l.run(func(ctx context.Context) (err error) {
		victim.Proxy.Deafen(true)
		took, err = within(ctx, func() (bool, error) {
			status, body, err := victim.Ready(ctx)
			return status == http.StatusOK && degraded(body), err
		})
		connected, asked := victim.Metric(ctx, "fencepost_listener_connected")
		require.NoError(t, asked)
		require.Zero(t, connected)
		if err == nil {
			err = cluster.Wait(ctx, size(2*time.Second, 10*time.Second))
		}
		victim.Proxy.Deafen(false)
		_, healed := within(ctx, func() (bool, error) { return sound(ctx, victim) })
		return errors.Join(err, healed)
	})
	latencies := cluster.Crossings(l.ledger, l.subscribers)
	slowest := latencies[len(latencies)-1]
	t.Logf("noticed after %s; slowest event %s", seconds(took), seconds(slowest))
	require.LessOrEqual(t, took, noticed+l.stall.Longest)
	require.Zero(t, v.Cut)
	require.Less(t, slowest, 5*time.Second+l.stall.Longest)
}

// Of two commits the one that began first ends last. Nobody misses either, whichever
// replica it is on (O5). From the second round on the first one holds the lock of the log,
// so that the other goes on only when the database has ended it.
func TestCommitsInTheReverseOrderOfTheirStartLoseNothing(t *testing.T) {
	t.Parallel()
	c, _ := start(t, 2, cluster.Options{Proxied: true})
	a, b := c.Replicas[0], c.Replicas[1]
	filter := []*wire.Filter{wire.NewFilter(nostr.Filter{Kinds: []int{note}})}
	ears := []*ear{listen(t, a, filter), listen(t, b, filter)}
	o := operate(t, c.Database)
	locked := 0
	var stall cluster.Stall
	var slowest time.Duration
	end := watchStall(t, &stall)
	for round := range 4 {
		text := fmt.Sprintf("began first in round %d", round)
		first, err := cluster.Event(1, note, text)
		require.NoError(t, err)
		second, err := cluster.Event(2, note, fmt.Sprintf("ended first in round %d", round))
		require.NoError(t, err)
		held := a.Proxy.Hold(text)
		var g errgroup.Group
		conn := dial(t, a)
		g.Go(func() error { return insist(t.Context(), conn, first) })
		<-held.Reached()
		inside, err := o.holds(t.Context(), a)
		require.NoError(t, err)
		if inside {
			locked++
		}
		began := time.Now()
		publish(t, b, second)
		took := time.Since(began)
		slowest = max(slowest, took)
		held.Release()
		require.NoError(t, g.Wait())
		log, err := cluster.ReadLog(t.Context(), c.Database)
		require.NoError(t, err)
		at := []int64{}
		for _, e := range []*wire.Event{second, first} {
			position, rows := log.Position(e.ID)
			require.Equal(t, 1, rows)
			at = append(at, position)
			for _, ear := range ears {
				require.Equal(t, e.ID, ear.next(t).ID, "round %d, in the order of positions %v", round, at)
			}
		}
		require.Less(t, at[0], at[1])
		t.Logf("round %d: the first holds the lock: %t; the second took %s", round, inside, seconds(took))
	}
	end()
	require.Less(t, slowest, goOn+stall.Longest)
	require.Positive(t, locked, "the other was held up, and went on")
}

// watchStall has s watch until the end that it returns is called.
func watchStall(t *testing.T, s *cluster.Stall) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error { return s.Run(ctx) })
	return func() {
		cancel()
		_ = g.Wait() // no errors
	}
}

// healthy asks whether the process says that it lives.
func healthy(ctx context.Context, r *cluster.Replica) error {
	ok, err := r.Healthy(ctx)
	if err == nil && !ok {
		err = errors.New("the process says that it does not live")
	}
	return err
}
