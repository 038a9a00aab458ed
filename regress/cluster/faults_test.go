package cluster_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/regress/cluster"
)

// Of three replicas the listeners are killed every 300 ms, one replica is killed and
// started again, and each is stopped, at random moments and inside its commit. The others
// go on within 3 s, and everybody who stayed connected hears everything once (O1, O2, O19).
func TestReplicasGoOnWhileOthersAreStoppedAndKilled(t *testing.T) {
	t.Parallel()
	c, _ := start(t, 3, cluster.Options{Proxied: true})
	l := newLoad(t, c)
	kills := 0
	l.run(func(ctx context.Context) error {
		dying, cancel := context.WithCancel(ctx)
		var g errgroup.Group
		killer := operate(t, c.Database)
		g.Go(func() (err error) {
			kills, err = killer.terminate(dying, 300*time.Millisecond, listeners)
			return err
		})
		err := l.torment(ctx, operate(t, c.Database), size(1, 3))
		cancel()
		return errors.Join(err, g.Wait())
	})
	t.Logf("%d listeners were killed", kills)
	require.Positive(t, kills)
}

// torment stops and kills replicas in turn. It measures how the others go on.
func (l *load) torment(ctx context.Context, o *operator, rounds int) error {
	stopped := size(4*time.Second, 10*time.Second)
	for round := range rounds {
		victim := l.cluster.Replicas[round%len(l.cluster.Replicas)]
		err := l.without(ctx, "stopped at random", victim, stopped, victim.Stop, victim.Continue)
		if err != nil {
			return err
		}
		inside := func() error {
			tries, err := o.stopInside(ctx, victim)
			l.t.Logf("stopped inside a commit by try %d", tries)
			return err
		}
		if err := l.without(ctx, "stopped inside a commit", victim, stopped, inside, victim.Continue); err != nil {
			return err
		}
		kill := func() error { victim.Kill(); return nil }
		begin := func() error { return victim.Start(ctx) }
		if err := l.without(ctx, "killed", victim, time.Second, kill, begin); err != nil {
			return err
		}
	}
	return cluster.Wait(ctx, time.Second)
}

// without has the others go on for a while without one replica.
func (l *load) without(ctx context.Context, how string, victim *cluster.Replica, d time.Duration, end, begin func() error) error {
	if err := cluster.Wait(ctx, rand.N(time.Second)); err != nil {
		return err
	}
	from := time.Now()
	if err := errors.Join(end(), cluster.Wait(ctx, d)); err != nil {
		return err
	}
	l.gaps = append(l.gaps, gap{how: how, victim: victim.Number, from: from, to: time.Now(), others: l.others(victim.Number)})
	return begin()
}
