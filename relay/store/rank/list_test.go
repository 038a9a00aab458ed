package rank_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/rank"
)

// match is a match of a filter: the newest has the lowest number.
type match struct{ at, filter int }

func key(m match) int        { return m.at }
func compare(a, b match) int { return cmp.Compare(a.at, b.at) }
func score(m match) float64  { return float64((m.at*7 + m.filter*3) % 10) }

func keys(ms []match) (out []int) {
	for _, m := range ms {
		out = append(out, m.at)
	}
	return out
}

// searching is a filter whose matches are these. It counts how many were asked for.
func searching(limit int, matches []match, asked *int) rank.Searching[match] {
	next := 0
	return rank.Searching[match]{Limit: limit, Next: func(context.Context) (m match, s float64, ok bool, err error) {
		*asked++
		if next == len(matches) {
			return m, 0, false, nil
		}
		m = matches[next]
		next++
		return m, score(m), true, nil
	}}
}

// all takes what is in l, page by page.
func all(t *testing.T, l *rank.List[int, match], page int) (out []match) {
	t.Helper()
	for {
		best, err := l.Best(t.Context(), page)
		require.NoError(t, err)
		require.LessOrEqual(t, len(best), page)
		if len(best) == 0 {
			return out
		}
		out = append(out, best...)
		require.True(t, l.More())
		l.Take(len(best))
	}
}

// TestTheBestOfEachFilterComeFirst compares with the slow way: look through every match
// of every filter for the best one that was not given yet.
func TestTheBestOfEachFilterComeFirst(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var filters []rank.Searching[match]
		var within []match // of all filters, what their limits leave
		hidden := false
		for f := range 1 + r.IntN(3) {
			var matches []match
			for at := range r.IntN(20) {
				if r.IntN(2) == 0 {
					matches = append(matches, match{at, f})
				}
			}
			limit := 1 + r.IntN(12)
			filters = append(filters, searching(limit, matches, new(int)))
			for range limit {
				if i := slowBest(matches); i >= 0 {
					within = append(within, matches[i])
					matches = slices.Delete(slices.Clone(matches), i, i+1)
				}
			}
			hidden = hidden || len(matches) > 0
		}
		var want []int
		for i := slowBest(within); i >= 0; i = slowBest(within) {
			at := within[i].at
			want = append(want, at)
			within = slices.DeleteFunc(within, func(m match) bool { return m.at == at })
		}

		l := rank.New(key, compare, filters)
		require.Equal(t, want, keys(all(t, l, 1+r.IntN(5))))
		require.Equal(t, hidden, l.More())
		for at := range 20 {
			require.Equal(t, slices.Contains(want, at), l.Has(at), at)
		}
	}
}

// slowBest returns where the best one is, -1 for none.
func slowBest(ms []match) int {
	best := -1
	for i, m := range ms {
		if best < 0 || score(m) > score(ms[best]) || score(m) == score(ms[best]) && m.at < ms[best].at {
			best = i
		}
	}
	return best
}

func TestASearchLooksAsDeepAsItsLimitAndOneFurther(t *testing.T) {
	t.Parallel()
	many := make([]match, 3*store.SearchDepth)
	for i := range many {
		many[i].at = i
	}
	for _, row := range []struct{ limit, looks, given int }{
		{1, store.SearchDepth, 1},
		{store.SearchDepth - 1, store.SearchDepth, store.SearchDepth - 1},
		{store.SearchDepth, store.SearchDepth + 1, store.SearchDepth},
		{store.SearchDepth + 5, store.SearchDepth + 6, store.SearchDepth + 5},
		{len(many), len(many) + 1, len(many)}, // the last look sees the end
		{math.MaxInt, len(many) + 1, len(many)},
	} {
		asked := 0
		l := rank.New(key, compare, []rank.Searching[match]{searching(row.limit, many, &asked)})
		require.Zero(t, asked, "nobody asked yet")
		require.Len(t, all(t, l, math.MaxInt), row.given)
		require.Equal(t, row.looks, asked)
		require.Equal(t, row.given < len(many), l.More())
	}
}

func TestWhatIsNotTakenIsGivenAgain(t *testing.T) {
	t.Parallel()
	l := rank.New(key, compare, []rank.Searching[match]{searching(9, []match{{at: 0}, {at: 1}, {at: 2}}, new(int))})
	for _, n := range []int{0, -1} {
		best, err := l.Best(t.Context(), n)
		require.NoError(t, err)
		require.Empty(t, best)
		require.True(t, l.More())
	}
	best, err := l.Best(t.Context(), 3)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 0}, keys(best))
	l.Take(1)
	best, err = l.Best(t.Context(), 3)
	require.NoError(t, err)
	require.Equal(t, []int{2, 0}, keys(best))
	l.Take(2)
	require.False(t, l.More())
	require.True(t, l.Has(1), "it was in the list")
}

func TestAnErrorStays(t *testing.T) {
	t.Parallel()
	broken, asked := errors.New("broken"), 0
	l := rank.New(key, compare, []rank.Searching[match]{{Limit: 9, Next: func(context.Context) (match, float64, bool, error) {
		asked++
		if asked == 2 {
			return match{}, 0, false, broken
		}
		return match{at: asked}, 1, true, nil
	}}})
	for range 2 {
		best, err := l.Best(t.Context(), 9)
		require.ErrorIs(t, err, broken)
		require.Empty(t, best)
	}
	require.Equal(t, 2, asked)
}

func TestNoFilterFindsNothing(t *testing.T) {
	t.Parallel()
	l := rank.New[int, match](key, compare, nil)
	require.Empty(t, all(t, l, 5))
	require.False(t, l.More())
	require.False(t, l.Has(0))
}
