package commit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/relay/store"
	"fencepost/relay/store/commit"
)

func writes(n, bytes int) *commit.Request[int] {
	return commit.Append[int](make([]store.Write, n), bytes)
}

// in runs f in a bubble with a queue whose requests are waiting in their order.
func in(t *testing.T, requests []*commit.Request[int], f func(t *testing.T, q *commit.Queue[int])) {
	synctest.Test(t, func(t *testing.T) {
		q := commit.NewQueue[int]()
		var callers errgroup.Group
		for _, r := range requests {
			callers.Go(func() error { q.Do(context.Background(), r); return nil })
			synctest.Wait()
		}
		f(t, q)
		q.Close()
		for {
			taken, ok := q.Take()
			if !ok {
				break
			}
			answer(taken)
		}
		require.NoError(t, callers.Wait())
	})
}

func answer(taken []*commit.Request[int]) {
	for _, r := range taken {
		r.Answered()
	}
}

func TestOneCommitTakesWhatItCanHold(t *testing.T) {
	t.Parallel()
	sweep := &commit.Request[int]{Until: time.Unix(1, 0)}
	erase := &commit.Request[int]{Erasure: &store.Erasure{}}
	trim := &commit.Request[int]{Keep: &store.Retention{}}
	for name, c := range map[string]struct {
		waiting []*commit.Request[int]
		taken   []int // how many by each Take
	}{
		"all":                        {[]*commit.Request[int]{writes(1, 1), writes(2, 1), writes(3, 1)}, []int{3}},
		"up to a thousand writes":    {[]*commit.Request[int]{writes(600, 1), writes(400, 1), writes(1, 1)}, []int{2, 1}},
		"up to a size":               {[]*commit.Request[int]{writes(1, 4<<20), writes(1, 4<<20), writes(1, 1)}, []int{2, 1}},
		"a call is not divided":      {[]*commit.Request[int]{writes(5000, 9<<20), writes(1, 1)}, []int{1, 1}},
		"what looks at all is alone": {[]*commit.Request[int]{writes(1, 1), sweep, erase, trim, writes(1, 1)}, []int{1, 1, 1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, c.waiting, func(t *testing.T, q *commit.Queue[int]) {
				left := c.waiting
				for _, n := range c.taken {
					taken, ok := q.Take()
					require.True(t, ok)
					require.Equal(t, left[:n], taken)
					left = left[n:]
					answer(taken)
				}
				require.Zero(t, q.Waiting())
			})
		})
	}
}

func TestAFullQueueLetsNobodyInUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	requests := []*commit.Request[int]{writes(1, commit.QueueBytes-1), writes(1, 10), writes(1, 1)}
	in(t, requests, func(t *testing.T, q *commit.Queue[int]) {
		require.Equal(t, 2, q.Waiting(), "the call that passes the bound is the last")
		taken, _ := q.Take()
		require.Equal(t, requests[:1], taken)
		synctest.Wait()
		require.Equal(t, 2, q.Waiting())
		answer(taken)
	})
}

func TestAnEndedContextWithdrawsWhatWasNotTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := commit.NewQueue[int]()
		ctx, cancel := context.WithCancel(t.Context())
		first, second, third := writes(1, 1), writes(2, commit.QueueBytes), writes(1, 1)
		var callers errgroup.Group
		for i, r := range []*commit.Request[int]{first, second, third} {
			callers.Go(func() error { q.Do(ctx, r); return nil })
			synctest.Wait()
			if i == 0 {
				taken, ok := q.Take()
				require.True(t, ok)
				require.Equal(t, []*commit.Request[int]{first}, taken)
			}
		}
		cancel()
		synctest.Wait()
		require.ErrorIs(t, second.Err, context.Canceled)
		require.ErrorIs(t, second.Outcomes[1].Err, context.Canceled)
		require.ErrorIs(t, third.Outcomes[0].Err, context.Canceled)
		require.Zero(t, q.Waiting())
		first.Outcomes[0].Position = 7 // it waits for its outcome
		first.Answered()
		require.NoError(t, callers.Wait())
		require.Equal(t, store.Outcome{Position: 7}, first.Outcomes[0])
	})
}

func TestAClosedQueueAnswersWhatWaitsAndRefusesTheRest(t *testing.T) {
	t.Parallel()
	in(t, []*commit.Request[int]{writes(1, 1)}, func(t *testing.T, q *commit.Queue[int]) {
		q.Close()
		late := writes(1, 1)
		q.Do(t.Context(), late)
		require.ErrorIs(t, late.Outcomes[0].Err, store.ErrClosed)
		taken, ok := q.Take()
		require.True(t, ok)
		answer(taken)
		_, ok = q.Take()
		require.False(t, ok)
	})
}

func TestRestTakesWhateverWaits(t *testing.T) {
	t.Parallel()
	waiting := []*commit.Request[int]{writes(900, 1), writes(900, 1), {Until: time.Unix(1, 0)}}
	in(t, waiting, func(t *testing.T, q *commit.Queue[int]) {
		first, ok := q.Take()
		require.True(t, ok)
		require.Equal(t, waiting[:1], first)
		rest := q.Rest()
		require.Equal(t, waiting[1:], rest)
		require.Zero(t, q.Waiting())
		require.Empty(t, q.Rest())
		answer(first)
		answer(rest)
	})
}
