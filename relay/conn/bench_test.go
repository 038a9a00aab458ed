package conn_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

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
