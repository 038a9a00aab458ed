package conn_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/conn"
)

// counting counts the writes to the raw connections of a listener.
type counting struct {
	net.Listener
	writes *atomic.Int64
}

func (l counting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countingConn{c.(*net.TCPConn), l.writes}, nil
}

type countingConn struct {
	*net.TCPConn
	writes *atomic.Int64
}

func (c countingConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.TCPConn.Write(p)
}

func (c countingConn) SyscallConn() (syscall.RawConn, error) {
	raw, err := c.TCPConn.SyscallConn()
	return countingRaw{raw, c.writes}, err
}

type countingRaw struct {
	syscall.RawConn
	writes *atomic.Int64
}

func (c countingRaw) Write(f func(fd uintptr) bool) error {
	c.writes.Add(1)
	return c.RawConn.Write(f)
}

// queueing returns a hook that queues frames while the writer stands at its first
// batch, so that they are all in the next one.
func queueing(opened <-chan *lifecycle.Conn, frames ...string) *pause.Hook {
	var once sync.Once
	return pause.NewHook(func(p pause.Point) {
		if p != pause.WriteTaken {
			return
		}
		once.Do(func() {
			c := <-opened
			for _, f := range frames {
				c.Notify([]byte(f))
			}
		})
	})
}

func TestSixteenFramesAreOneWrite(t *testing.T) {
	t.Parallel()
	if !pause.Enabled {
		t.Log("this build cannot pause")
		return
	}
	var writes atomic.Int64
	var frames []string
	want := []frame{{text, "first"}}
	for i := range 16 {
		frames = append(frames, fmt.Sprintf("%d %s", i, strings.Repeat("x", 500)))
		want = append(want, frame{text, frames[i]})
	}
	r := serveQueueing(t, frames, &writes)
	c := dialRaw(t, r, "")
	c.send(text, "first")
	c.expect(want...)
	require.Equal(t, int64(3), writes.Load(), "handshake, first, sixteen")
}

// serveQueueing serves an echo whose first answer is followed by frames in one batch.
func serveQueueing(t testing.TB, frames []string, writes *atomic.Int64) *relay {
	opened := make(chan *lifecycle.Conn, 1)
	return serve(t, session{}, func(o *conn.Options) {
		inner := o.Open
		o.Open = func(c *lifecycle.Conn) conn.Session {
			opened <- c
			return inner(c)
		}
		o.Pause = queueing(opened, frames...)
	}, func(l net.Listener) net.Listener { return counting{l, writes} })
}

func TestABatchHoldsAtMost64KiB(t *testing.T) {
	t.Parallel()
	if !pause.Enabled {
		t.Log("this build cannot pause")
		return
	}
	var writes atomic.Int64
	want := []frame{{text, "first"}}
	var frames []string
	for range 6 {
		frames = append(frames, strings.Repeat("x", 32<<10))
		want = append(want, frame{text, frames[0]})
	}
	r := serveQueueing(t, frames, &writes)
	c := dialRaw(t, r, "")
	c.send(text, "first")
	c.expect(want...)
	require.Equal(t, int64(5), writes.Load(), "handshake, first, three times two")
}

func TestPongsGoBetweenBatchesAndNeverIntoOne(t *testing.T) {
	t.Parallel()
	r := serve(t, session{handle: func(ctx context.Context, c *lifecycle.Conn, msg []byte) {
		for range 50 {
			echo(ctx, c, msg)
		}
	}}, nil)
	c := dialRaw(t, r, "")
	var sent []byte
	for range 100 {
		sent = append(append(sent, maskedFrame(text, strings.Repeat("m", 300))...), maskedFrame(ping, "p")...)
	}
	written := make(chan error, 1)
	go func() {
		_, err := c.Write(sent)
		written <- err
	}()
	messages, pongs := 0, 0
	for messages < 5000 || pongs < 100 {
		f, err := c.receive()
		require.NoError(t, err)
		switch f.first {
		case text:
			require.Equal(t, strings.Repeat("m", 300), f.payload)
			messages++
		case pong:
			require.Equal(t, "p", f.payload)
			pongs++
		default:
			require.Fail(t, "no frame that was sent", f.String())
		}
	}
	require.NoError(t, <-written)
}
