package lifecycle_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/store"
)

// Bursts of every size come out as they went in, whatever the one before was.
func TestBurstsOfEverySizeKeepTheirOrder(t *testing.T) {
	t.Parallel()
	c := newConn(t, func(o *lifecycle.Options) { o.Limits.QueueFrames, o.Limits.QueueBytes = 1<<12, 1<<20 })
	h := goLive(t, c, "x")
	at := 0
	for _, size := range []int{1, 40, 3, 2000, 5, 33, 31, 600, 2, 1500} {
		var want []string
		for range size {
			at++
			require.Equal(t, lifecycle.Queued, h.Deliver(store.Position(at), event(at), nil))
			want = append(want, fmt.Sprint("EVENT x ", at))
		}
		require.Equal(t, want, take(c))
	}
}

// BenchmarkBurst is a burst for one reader, delivered and taken.
func BenchmarkBurst(b *testing.B) {
	for _, size := range []int{1, 16, 64, 400} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			c := newConn(b, func(o *lifecycle.Options) { o.Limits.QueueFrames, o.Limits.QueueBytes = 1<<12, 1<<20 })
			h := reserve(b, c, "x")
			h.Begin(0)
			_, err := h.GoLive(0)
			require.NoError(b, err)
			ev, at := event(1), store.Position(0)
			var frames []lifecycle.Frame
			b.ReportAllocs()
			for b.Loop() {
				for range size {
					at++
					h.Deliver(at, ev, nil)
				}
				frames, _ = c.Take(frames[:0], 1<<30)
			}
		})
	}
}
