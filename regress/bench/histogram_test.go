package bench_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/regress/bench"
)

func TestHistogramAgreesWithSortedSamples(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, tc := range []struct {
		name   string
		sample func() time.Duration
	}{
		{"small", func() time.Duration { return time.Duration(random.IntN(300)) }},
		{"latencies", func() time.Duration { return time.Duration(math.Exp(random.NormFloat64()+13) + 1) }},
		{"any power of two", func() time.Duration { return time.Duration(1)<<random.IntN(40) - 1 }},
		{"one value", func() time.Duration { return 123_456_789 }},
	} {
		for _, n := range []int{1, 2, 10, 5000} {
			var whole, left, right bench.Histogram
			var samples []time.Duration
			for i := range n {
				d := tc.sample()
				samples = append(samples, d)
				whole.Add(d)
				if i%3 == 0 {
					left.Add(d)
				} else {
					right.Add(d)
				}
			}
			left.Merge(&right)
			left.Merge(&bench.Histogram{})
			slices.Sort(samples)
			require.EqualValues(t, n, whole.Count())
			for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 0.999, 1} {
				want := samples[max(0, int(math.Ceil(q*float64(n)))-1)]
				got := whole.Quantile(q)
				require.InDelta(t, float64(want), float64(got), float64(want)/256+1, "%s: quantile %g of %d", tc.name, q, n)
				require.Equal(t, got, left.Quantile(q), "merged")
			}
		}
	}
}

func TestHistogramTakesAnything(t *testing.T) {
	t.Parallel()
	var h bench.Histogram
	require.Zero(t, h.Quantile(0.5), "of nothing")
	h.Add(-time.Second)
	h.Add(math.MaxInt64)
	require.Zero(t, h.Quantile(0.5))
	require.GreaterOrEqual(t, h.Quantile(1), 18*time.Minute, "beyond that, durations are not told apart")
}
