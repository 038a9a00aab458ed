package cluster_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/regress/cluster"
	"fencepost/relay/mirror"
	"fencepost/relay/wire"
)

// Two replicas mirror a third relay in both directions, while events are published on all
// of them and whoever owns the mirror is killed, again and again: the other one goes on
// within a lease, both sides hold the same events at the end, and no subscriber hears
// one twice.
func TestAMirrorMovesToAnotherReplicaWhenItsOwnerIsKilled(t *testing.T) {
	t.Parallel()
	far := startAlone(t)
	path := filepath.Join(t.TempDir(), "fencepost.toml")
	text := fmt.Sprintf("[[mirror]]\nurl = %q\nfilter = '{\"kinds\":[1]}'\ndirection = \"both\"\nstart = \"all\"\n", far.URL)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	c, _ := start(t, 2, cluster.Options{Env: []string{"FENCEPOST_CONFIG=" + path}})

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ledger := cluster.NewLedger()
	var publishing, listening errgroup.Group
	publishers := []*cluster.Publisher{{Replica: far}, {Replica: c.Replicas[0]}, {Replica: c.Replicas[1]}}
	subscribers := make([]*cluster.Subscriber, len(publishers))
	for i, p := range publishers {
		p.Ledger, p.Key, p.Kind, p.Topics, p.Pace = ledger, publisher+i, note, topics, 50*time.Millisecond
		publishing.Go(func() error { return p.Run(ctx) })
		subscribers[i] = cluster.NewSubscriber(p.Replica, nostr.Filter{Kinds: []int{note}}, 0)
		listening.Go(func() error { return subscribers[i].Run(t.Context()) })
	}
	for range size(2, 5) {
		owner := ownerOf(t, c, far)
		require.NoError(t, cluster.Wait(ctx, time.Second))
		c.Replicas[owner].Kill()
		began := time.Now()
		for ownerOf(t, c, far) == owner { // it takes the rest of a lease
			require.NoError(t, ctx.Err())
		}
		t.Logf("replica %d took over %s after the owner was killed", 1-owner, seconds(time.Since(began)))
		require.NoError(t, c.Replicas[owner].Start(ctx))
	}
	cancel()
	require.NoError(t, publishing.Wait())
	word, err := cluster.Event(lastKey, note, cluster.LastWord)
	require.NoError(t, err)
	publish(t, far, word)
	require.NoError(t, listening.Wait())

	want := []string{word.ID}
	for _, s := range ledger.All() {
		want = append(want, s.Event.ID)
	}
	slices.Sort(want)
	for _, r := range []*cluster.Replica{far, c.Replicas[0], c.Replicas[1]} {
		_, err := within(t.Context(), func() (bool, error) { return slices.Equal(want, held(t, r)), nil })
		require.NoError(t, err, "%d of %d events on %s", len(held(t, r)), len(want), r.URL)
		t.Logf("%s holds %d events, digest %x", r.URL, len(want), sha256.Sum256([]byte(strings.Join(held(t, r), ""))))
	}
	for _, s := range subscribers {
		for _, session := range s.Sessions {
			seen := make(map[string]bool)
			for _, h := range session.Heard {
				require.False(t, seen[h.Event.ID], "heard twice on replica %d", session.Replica)
				seen[h.Event.ID] = true
			}
		}
	}
}

// startAlone runs one relay on its embedded store.
func startAlone(t *testing.T) *cluster.Replica {
	t.Helper()
	if !*suites {
		t.Skip("takes minutes: make test-pg runs it, or -cluster")
	}
	return cluster.Start(t, cluster.Options{Binary: binary, Replicas: 1}).Replicas[0]
}

// ownerOf waits until a replica owns the mirror, and returns its number.
func ownerOf(t *testing.T, c *cluster.Cluster, far *cluster.Replica) (owner int) {
	t.Helper()
	name := fmt.Sprintf(`fencepost_mirror_owned{upstream="%s"}`, far.URL)
	ctx, cancel := context.WithTimeout(t.Context(), mirror.Lease+cluster.Patience)
	defer cancel()
	for {
		for i, r := range c.Replicas {
			if owned, err := r.Metric(ctx, name); err == nil && owned == 1 {
				return i
			}
		}
		require.NoError(t, cluster.Wait(ctx, 50*time.Millisecond), "nobody owns the mirror")
	}
}

// held returns what a relay has of kind 1.
func held(t *testing.T, r *cluster.Replica) (ids []string) {
	t.Helper()
	e := listen(t, r, []*wire.Filter{wire.NewFilter(nostr.Filter{Kinds: []int{note}, Limit: 1 << 30})})
	for _, ev := range e.stored {
		ids = append(ids, ev.ID)
	}
	require.NoError(t, errors.Join(e.conn.Close()))
	slices.Sort(ids)
	return ids
}
