package conn_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/conn"
	"fencepost/relay/wire"
)

// event returns an event whose EVENT frame has about 500 bytes. Its id and
// signature are wrong, which is not looked at here.
func event(t testing.TB) *wire.Event {
	hex := strings.Repeat("ab", 32)
	ev, err := wire.DecodeEvent(fmt.Appendf(nil,
		`{"id":"%s","pubkey":"%s","created_at":1,"kind":1,"tags":[],"content":"%s","sig":"%s%s"}`,
		hex, hex, strings.Repeat("x", 180), hex, hex))
	require.NoError(t, err)
	return ev
}

// BenchmarkFrame measures one frame from the queue to a socket of the loopback,
// the client's reading included.
func BenchmarkFrame(b *testing.B) {
	for _, compression := range []bool{false, true} {
		b.Run(fmt.Sprintf("deflate=%t", compression), func(b *testing.B) {
			var writes atomic.Int64
			r := serve(b, session{}, func(o *conn.Options) { o.Compression = compression },
				func(l net.Listener) net.Listener { return counting{l, &writes} })
			c := dialRaw(b, r, offer)
			go func() { _, _ = io.Copy(io.Discard, c.r) }()
			h, _, err := (<-r.opened).Reserve(b.Context(), "sub", nil)
			require.NoError(b, err)
			ev := event(b)
			b.ReportAllocs()
			b.SetBytes(int64(len(ev.Raw())))
			for b.Loop() {
				if err := h.Replay(b.Context(), ev, nil); err != nil {
					require.NoError(b, err)
				}
			}
			b.ReportMetric(float64(b.N)/float64(writes.Load()), "frames/write")
			h.Conn().Close(lifecycle.Cause{Code: 1000})
			<-h.Conn().Group().Context().Done()
		})
	}
}

// BenchmarkLoneFrame measures frames that come one by one, each to the next of some
// sockets, when the one before has been read: no two of them share a write.
func BenchmarkLoneFrame(b *testing.B) {
	const sockets = 64
	r := serve(b, session{}, nil)
	handles, clients := make([]*lifecycle.Handle, sockets), make([]*raw, sockets)
	for i := range clients {
		clients[i] = dialRaw(b, r, "")
		require.NoError(b, clients[i].SetDeadline(time.Time{}))
		h, _, err := (<-r.opened).Reserve(b.Context(), "sub", nil)
		require.NoError(b, err)
		handles[i] = h
	}
	ev := event(b)
	frame := make([]byte, 4+len(`["EVENT","sub",`)+len(ev.Raw())+1)
	b.ReportAllocs()
	before := cpu(b)
	for i := 0; b.Loop(); i++ {
		if err := handles[i%sockets].Replay(b.Context(), ev, nil); err != nil {
			require.NoError(b, err)
		}
		if _, err := io.ReadFull(clients[i%sockets].r, frame); err != nil {
			require.NoError(b, err)
		}
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
	for _, h := range handles {
		h.Conn().Close(lifecycle.Cause{Code: 1000})
	}
}

// cpu returns the CPU time of the process.
func cpu(b *testing.B) time.Duration {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
