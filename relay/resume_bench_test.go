//go:build unix

package relay_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/handlers"
	"fencepost/lifecycle"
	"fencepost/registry/index"
	"fencepost/relay/access"
	"fencepost/relay/metrics"
	"fencepost/relay/outbox"
	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
)

// minute is how many rows a client has missed that was away for a minute at 100 events
// a second: more than the store keeps in memory.
const minute = 6_000

// BenchmarkResume is one resume after a minute away, from the CHANGES to its EOSE in
// the writer's hands, with the embedded store and the real permissions. It costs in
// proportion to what was missed, not to what is stored.
func BenchmarkResume(b *testing.B) {
	for _, stored := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("%d stored", stored), func(b *testing.B) {
			r := newResumed(b, stored)
			for _, bench := range []struct {
				name, filter string
				events       int
			}{
				{"all of it wanted", `"kinds":[1,2]`, minute},
				{"a hundredth wanted", `"kinds":[2]`, minute / 100},
			} {
				b.Run(bench.name, func(b *testing.B) {
					b.ReportAllocs()
					before := cpu(b)
					for b.Loop() {
						require.Equal(b, bench.events+1, r.resume(stored-minute, bench.filter), "and EOSE")
					}
					used := cpu(b) - before
					b.ReportMetric(float64(used.Nanoseconds())/float64(b.N*minute), "cpu-ns/row")
					b.ReportMetric(float64(used.Microseconds())/float64(b.N)/1000, "cpu-ms/op")
				})
			}
		})
	}
}

// cpu returns what this process has used, which says more than the clock does on a
// machine that others use too.
func cpu(b *testing.B) time.Duration {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// resumed is a relay without sockets, with one client.
type resumed struct {
	b       *testing.B
	session *handlers.Session
	conn    *lifecycle.Conn
	frames  int
	ended   chan int // how many frames came up to an EOSE
}

func newResumed(b *testing.B, stored int) *resumed {
	log := slog.New(slog.DiscardHandler)
	s, err := embedded.Open(b.TempDir(), embedded.Options{Now: time.Now, CacheBytes: 64 << 20, Logger: log})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	fill(b, s, stored)
	policy, handles := access.New(access.Options{Self: numbered(0)}), index.New()
	var none *metrics.Metrics // counts nothing
	follower := outbox.New(outbox.Options{
		Log: s, Index: handles, Access: policy, Metrics: none, Now: time.Now, Logger: log, Start: store.Position(stored),
	})
	group := lifecycle.NewGroup(b.Context())
	h := handlers.New(handlers.Options{
		Store: s, Index: handles, Progress: follower, Writing: policy, Reading: policy, Metrics: none,
		Pool: lifecycle.NewPool(group, 1), Now: time.Now, Logger: log,
	})
	r := &resumed{b: b, ended: make(chan int, 1)}
	r.conn = lifecycle.NewConn(b.Context(), lifecycle.Options{
		Sight: policy.Sight, Write: r.write,
		Limits: lifecycle.Limits{
			QueueFrames: 1 << 12, QueueBytes: 8 << 20, HoldFrames: 64, HoldBytes: 1 << 20, Subscriptions: 8, Weight: 100,
			Queries: 4, Pending: 1, PendingBytes: 1, RoomTimeout: time.Minute,
		},
	})
	r.session = h.Open(r.conn)
	b.Cleanup(func() {
		r.session.End(r.conn.Finish())
		require.NoError(b, r.conn.Group().Wait(context.Background()))
		group.Cancel()
		require.NoError(b, group.Wait(context.Background()))
	})
	return r
}

// fill stores that many notes, of which each hundredth is of kind 2.
func fill(b *testing.B, s store.Store, n int) {
	const batch = 1_000
	for at := 0; at < n; at += batch {
		writes := make([]store.Write, batch)
		for i := range writes {
			kind := 1
			if i%100 == 0 {
				kind = 2
			}
			writes[i].Event = storetest.Draft{Key: i % 7, Kind: kind, At: int64(at + i), Content: "what was said while nobody was looking"}.Event()
		}
		for _, out := range s.Append(b.Context(), writes) {
			require.NoError(b, out.Err)
		}
	}
}

// write takes what is queued, as a writer to a fast client does.
func (r *resumed) write(context.Context) (over bool) {
	var batch []lifecycle.Frame
	var text []byte
	for {
		frames, done := r.conn.Take(batch[:0], 64<<10)
		if batch = frames; len(frames) == 0 {
			return done
		}
		for _, f := range frames {
			text = f.AppendTo(text[:0])
			if !bytes.HasPrefix(text, []byte(`["CHANGES"`)) {
				continue // the challenge
			}
			if r.frames++; bytes.HasPrefix(text, []byte(`["CHANGES","x","EOSE"`)) {
				r.ended <- r.frames
				r.frames = 0
			}
		}
	}
}

// resume returns how many frames a resume behind a position brings.
func (r *resumed) resume(since int, filter string) int {
	r.session.Handle(r.conn.Context(), fmt.Appendf(nil, `["CHANGES","x",{"since":%d,%s}]`, since, filter))
	return <-r.ended
}
