package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/lifecycle/fence"
	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
	"fencepost/relay/store/storetest"
)

func TestFencesKeepTheContract(t *testing.T) {
	t.Parallel()
	from := server.Start(t)
	storetest.RunFences(t, func(t *testing.T, now func() time.Time) store.Store { return open(t, from, at(now)) })
}

var stream = fence.Stream{Owner: storetest.Key(0), Name: "s"}

func setFence(expected, fresh string, lease time.Duration) store.Write {
	return store.Write{Fence: &store.Fence{Stream: stream, Change: &fence.Change{
		Expected: fence.TokenOf(expected), New: fence.TokenOf(fresh), Active: true, Lease: lease,
	}}}
}

func frame(token string, n int) store.Write {
	ev := storetest.Draft{Kind: 1, At: int64(n), Content: fmt.Sprintf("%s #%d", token, n)}.Event()
	return store.Write{Event: ev, Fence: &store.Fence{Stream: stream, Token: fence.TokenOf(token)}}
}

func appendOne(ctx context.Context, s *postgres.Store, w store.Write) store.Outcome {
	return s.Append(ctx, []store.Write{w})[0]
}

// P14: the clock of a replica, hours off, makes no lease longer or shorter.
func TestLeasesAreJudgedByTheClockOfTheDatabase(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	early := reopen(t, url, at(func() time.Time { return time.Now().Add(-5 * time.Hour) }))
	late := reopen(t, url, at(func() time.Time { return time.Now().Add(5 * time.Hour) }))
	require.NoError(t, appendOne(t.Context(), early, setFence("", "one", time.Hour)).Err)
	require.True(t, store.Refused(appendOne(t.Context(), late, setFence("", "two", time.Hour)).Err))
	require.NoError(t, appendOne(t.Context(), late, frame("one", 1)).Err)
	require.NoError(t, late.Elapse(t.Context(), time.Hour))
	require.NoError(t, appendOne(t.Context(), early, setFence("", "three", time.Hour)).Err)
	state, now, err := late.Fence(t.Context(), stream)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), now, time.Minute)
	require.WithinDuration(t, time.Now().Add(time.Hour), state.Until, time.Minute)
	require.Equal(t, uint64(2), state.Epoch)
}

// P1, P6, P8: replicas that take a stream from each other while both publish.
func TestReplicasNeverMixTheFramesOfTwoOwners(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	var g errgroup.Group
	stores := []*postgres.Store{reopen(t, url, postgres.Options{}), reopen(t, url, postgres.Options{}), reopen(t, url, postgres.Options{})}
	var admitted [3]int
	for i, s := range stores {
		g.Go(func() error {
			token := ""
			for n := range 150 {
				if token == "" || n%10 == i {
					fresh := fmt.Sprintf("owner %d.%d", i, n)
					if out := appendOne(t.Context(), s, setFence(token, fresh, time.Millisecond)); out.Err == nil {
						token = fresh
					} else if !store.Refused(out.Err) {
						return out.Err
					}
					continue
				}
				switch out := appendOne(t.Context(), s, frame(token, n)); {
				case out.Err == nil:
					admitted[i]++
				case store.Refused(out.Err):
					token = ""
				default:
					return out.Err
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	state, _, err := stores[0].Fence(t.Context(), stream)
	require.NoError(t, err)
	require.EqualValues(t, admitted[0]+admitted[1]+admitted[2]+1, state.Next, "numbers are dense")
	rows, err := stores[1].ReadLog(t.Context(), 0, 1000)
	require.NoError(t, err)
	require.Len(t, rows, int(state.Next)-1)
	seen := make(map[string]bool)
	last := ""
	for _, r := range rows {
		var owner, claim int
		_, err := fmt.Sscanf(r.Event.Content, "owner %d.%d #", &owner, &claim)
		require.NoError(t, err)

		tenure := fmt.Sprint(owner, ".", claim)
		if tenure != last {
			require.False(t, seen[tenure], "an owner came back after its successor: %s at %d", tenure, r.Position)
			seen[tenure], last = true, tenure
		}
	}
	require.Greater(t, len(seen), 1)
}

// P18: the memory of used tokens is one for all replicas.
func TestATokenOfARequestIsUsedOnceByAllReplicas(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	stores := []*postgres.Store{reopen(t, url, postgres.Options{}), reopen(t, url, postgres.Options{})}
	until := time.Now().Add(time.Minute)
	const callers = 20
	firsts := make(chan struct{}, callers)
	var g errgroup.Group
	for i := range callers {
		g.Go(func() error {
			first, err := stores[i%2].Seen(t.Context(), storetest.Key(7), until)
			if first {
				firsts <- struct{}{}
			}
			return err
		})
	}
	require.NoError(t, g.Wait())
	require.Len(t, firsts, 1)
	first, err := stores[0].Seen(t.Context(), storetest.Key(8), time.Now().Add(-time.Second))
	require.NoError(t, err)
	require.False(t, first, "what is too old may have been forgotten")
	_, err = stores[0].Seen(t.Context(), "no id", until)
	require.Error(t, err)
}
