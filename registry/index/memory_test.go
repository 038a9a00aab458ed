package index_test

import (
	"runtime"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/registry/index"
)

// BenchmarkMemory reports what a standing value costs beside its filter.
func BenchmarkMemory(b *testing.B) {
	const values = 64_000
	for name, perFilter := range map[string]int{"1 value": 1, "1000 values": 1000} {
		b.Run(name, func(b *testing.B) {
			handles := many(b, values/perFilter, func(i int) nostr.Filter {
				f := nostr.Filter{}
				for j := range perFilter {
					f.Authors = append(f.Authors, key(i*perFilter+j))
				}
				return f
			})
			for b.Loop() {
				before := heap()
				x := index.New()
				for _, h := range handles {
					x.Add(h)
				}
				b.ReportMetric(float64(heap()-before)/values, "B/value")
				runtime.KeepAlive(x)
			}
			runtime.KeepAlive(handles)
		})
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Not parallel: it measures the heap of the process.
func TestStandingValueCostsLittleMemory(t *testing.T) {
	const values, most = 20_000, 150 // bytes a value
	f := nostr.Filter{}
	for i := range values {
		f.Authors = append(f.Authors, key(i))
	}
	h := reserve(t, newConn(t), "s", f)
	before := heap()
	x := index.New()
	x.Add(h)
	require.Less(t, heap()-before, uint64(values*most))
	require.Equal(t, values, x.Entries())
	runtime.KeepAlive(h)
}
