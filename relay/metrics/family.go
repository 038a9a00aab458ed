package metrics

import (
	"sync"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// maxLabels is how many values a label may have, besides other.
	maxLabels = 24
	// maxLabel is the length of the longest value, in bytes.
	maxLabel = 40
	other    = "other"
)

// family is a counter with one label. A value that was seen before costs one
// lookup without a lock.
type family struct {
	vec   *prometheus.CounterVec
	known sync.Map // label value -> prometheus.Counter

	mu sync.Mutex // guards the field below
	// +checklocks:mu
	size int // values in known
}

// newFamily returns a family that shows the given values from the start, at 0.
func newFamily(vec *prometheus.CounterVec, values []string) *family {
	f := &family{vec: vec}
	for _, v := range values {
		f.add(v)
	}
	return f
}

func (f *family) inc(value string) {
	c, ok := f.known.Load(value)
	if !ok {
		c = f.add(value)
	}
	c.(prometheus.Counter).Inc()
}

func (f *family) add(value string) any {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c, ok := f.known.Load(value); ok {
		return c
	}
	if f.size >= maxLabels || value == "" || len(value) > maxLabel || !utf8.ValidString(value) {
		return f.vec.WithLabelValues(other)
	}
	c := f.vec.WithLabelValues(value)
	f.known.Store(value, c)
	f.size++
	return c
}
