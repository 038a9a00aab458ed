//go:build unix

package conn_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
)

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

// BenchmarkMessage measures one message of about 400 bytes from a socket of the
// loopback to a handler that does nothing: those of a client that sends ahead, and
// those of one that waits for an answer each time.
func BenchmarkMessage(b *testing.B) {
	const ahead = 64
	for _, burst := range []int{1, ahead} {
		b.Run(fmt.Sprintf("ahead=%d", burst), func(b *testing.B) {
			n := 0
			r := serve(b, session{handle: func(ctx context.Context, c *lifecycle.Conn, _ []byte) {
				if n++; n%burst == 0 {
					echo(ctx, c, []byte("ok"))
				}
			}}, nil)
			c := dialRaw(b, r, "")
			require.NoError(b, c.SetDeadline(time.Time{}))
			sent := bytes.Repeat(maskedFrame(text, strings.Repeat("x", 400)), burst)
			answer := make([]byte, 4)
			b.ReportAllocs()
			before := cpu(b)
			for i := 0; b.Loop(); i++ {
				if i%burst != 0 {
					continue
				}
				if _, err := c.Write(sent); err != nil {
					require.NoError(b, err)
				}
				if _, err := io.ReadFull(c.r, answer); err != nil {
					require.NoError(b, err)
				}
			}
			b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
			(<-r.opened).Close(lifecycle.Cause{Code: 1000})
		})
	}
}
