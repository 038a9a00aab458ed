package bench

import (
	"math"
	"math/bits"
	"time"
)

const (
	// subBits is the number of bits that a bucket keeps of a duration: buckets of
	// 128 to a power of two are at most 1/128 wide, and their middle is off by half.
	subBits = 7
	// maxBits bounds what is told apart: durations up to 18 minutes.
	maxBits = 40
)

// Histogram counts durations in log-linear buckets: a quantile is at most 0.4 %
// off. The zero value is empty and ready. Not safe for concurrent use.
type Histogram struct {
	counts   []uint64 // bucket -> durations; nil while empty
	n        uint64
	min, max time.Duration // of all
}

// Add counts one duration. What is below zero counts as zero.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	if h.counts == nil {
		h.counts = make([]uint64, bucket(1<<maxBits)+1)
		h.min = d
	}
	h.counts[bucket(int64(d))]++
	h.n++
	h.min, h.max = min(h.min, d), max(h.max, d)
}

// Merge adds what other counted.
func (h *Histogram) Merge(other *Histogram) {
	if other.n == 0 {
		return
	}
	if h.counts == nil {
		h.counts = make([]uint64, len(other.counts))
		h.min = other.min
	}
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.n += other.n
	h.min, h.max = min(h.min, other.min), max(h.max, other.max)
}

// Count returns how many durations were added.
func (h *Histogram) Count() uint64 { return h.n }

// Quantile returns the duration below or at which the share q of all lies, 0 when
// there is none.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := max(1, uint64(math.Ceil(q*float64(h.n))))
	for i, n := range h.counts {
		if n >= rank {
			return min(max(middle(i), h.min), h.max)
		}
		rank -= n
	}
	return h.max
}

// bucket returns the bucket of v: one for each number up to 2^(subBits+1), then
// 2^subBits for each power of two.
func bucket(v int64) int {
	v = min(v, 1<<maxBits)
	shift := max(0, bits.Len64(uint64(v))-subBits-1)
	return shift<<subBits + int(v>>shift)
}

// middle returns the middle of bucket i.
func middle(i int) time.Duration {
	shift := max(0, i>>subBits-1)
	low := int64(i-shift<<subBits) << shift
	return time.Duration(low + (int64(1)<<shift-1)/2)
}
