//go:build unix

package conn_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/relay/conn"
)

// tracked is the relay's end of a connection. It remembers how it was written to.
type tracked struct {
	*net.TCPConn
	writes    int // by Write
	deadlines []time.Time
	waits     chan struct{} // closed by the first SetWriteDeadline
}

func (c *tracked) Write(p []byte) (int, error) {
	c.writes++
	return c.TCPConn.Write(p)
}

func (c *tracked) SetWriteDeadline(deadline time.Time) error {
	if c.deadlines = append(c.deadlines, deadline); len(c.deadlines) == 1 {
		close(c.waits)
	}
	return c.TCPConn.SetWriteDeadline(deadline)
}

// pass lets the deadline pass that is set.
func (c *tracked) pass(t *testing.T) {
	if n := len(c.deadlines); n > 0 && !c.deadlines[n-1].IsZero() {
		require.NoError(t, c.TCPConn.SetWriteDeadline(time.Unix(1, 0)))
	}
}

// pair returns both ends of a connection. Neither keeps much for the other.
func pair(t testing.TB) (*tracked, *net.TCPConn) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	client, err := net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() }) // the test may have
	server, err := l.AcceptTCP()
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() }) // likewise
	require.NoError(t, client.SetReadBuffer(32<<10))
	require.NoError(t, server.SetWriteBuffer(32<<10))
	return &tracked{TCPConn: server, waits: make(chan struct{})}, client
}

// ways are those in which a connection is written to; the second one is the obvious one.
var ways = map[string]func(c net.Conn) conn.Wire{
	"tried":           func(c net.Conn) conn.Wire { return conn.NewWire(c) },
	"with a deadline": func(c net.Conn) conn.Wire { return conn.NewWire(struct{ net.Conn }{c}) },
}

// inBothWays runs test for either way to write.
func inBothWays(t *testing.T, test func(t *testing.T, w conn.Wire, server *tracked, client *net.TCPConn)) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, client := pair(t)
			test(t, way(server), server, client)
		})
	}
}

// tooMuch is more than a socket takes at once.
func tooMuch() []byte {
	p := make([]byte, 4<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(p) // it cannot fail
	return p
}

func soon() time.Time { return time.Now().Add(50 * time.Millisecond) }

func inTime() time.Time { return time.Now().Add(patience) }

func TestWhatTheSocketTakesAtOnceNeedsNoDeadline(t *testing.T) {
	t.Parallel()
	server, client := pair(t)
	w := conn.NewWire(server)
	for i := range 3 {
		require.NoError(t, w.WriteFrames(inTime(), fmt.Append(nil, i), false))
	}
	require.NoError(t, w.WriteFrames(time.Unix(1, 0), []byte("last"), true), "a socket that takes everything is not slow")
	require.ErrorIs(t, w.WriteFrames(inTime(), []byte("more"), false), net.ErrClosed)
	require.Empty(t, server.deadlines)
	require.Zero(t, server.writes)
	require.NoError(t, server.Close())
	got, err := io.ReadAll(client)
	require.NoError(t, err)
	require.Equal(t, "012last", string(got))
}

// slowly writes more than the socket takes to a client that begins to read when it is waited for.
func slowly(t *testing.T, w conn.Wire, deadline time.Time, server *tracked, client *net.TCPConn) {
	sent := tooMuch()
	got := make([]byte, len(sent))
	var g errgroup.Group
	g.Go(func() error {
		<-server.waits
		_, err := io.ReadFull(client, got)
		return err
	})
	require.NoError(t, w.WriteFrames(deadline, sent, false))
	require.NotEmpty(t, server.deadlines)
	require.NoError(t, g.Wait())
	require.True(t, bytes.Equal(sent, got), "everything, once, and in order")
}

func TestTheRestIsWrittenWithinTheDeadline(t *testing.T) {
	t.Parallel()
	server, client := pair(t)
	deadline := inTime()
	slowly(t, conn.NewWire(server), deadline, server, client)
	require.Equal(t, 1, server.writes)
	require.Equal(t, []time.Time{deadline, {}}, server.deadlines)
}

func TestASlowWriteLeavesNoDeadlineBehind(t *testing.T) {
	inBothWays(t, func(t *testing.T, w conn.Wire, server *tracked, client *net.TCPConn) {
		slowly(t, w, inTime(), server, client)
		server.pass(t)
		require.NoError(t, w.WriteFrames(inTime(), []byte("later"), false))
		got := make([]byte, 5)
		_, err := io.ReadFull(client, got)
		require.NoError(t, err)
		require.Equal(t, "later", string(got))
	})
}

func TestAClientThatTakesAPartIsSlow(t *testing.T) {
	inBothWays(t, func(t *testing.T, w conn.Wire, _ *tracked, client *net.TCPConn) {
		sent, deadline := tooMuch(), soon()
		require.ErrorIs(t, w.WriteFrames(deadline, sent, false), os.ErrDeadlineExceeded)
		require.False(t, time.Now().Before(deadline))
		require.ErrorIs(t, w.WriteFrames(inTime(), []byte("more"), false), net.ErrClosed, "half a frame was written")
		require.NoError(t, w.Close())
		got, err := io.ReadAll(client)
		require.NoError(t, err)
		require.NotEmpty(t, got)
		require.True(t, bytes.HasPrefix(sent, got))
	})
}

func TestClosingEndsAWrite(t *testing.T) {
	inBothWays(t, func(t *testing.T, w conn.Wire, server *tracked, _ *net.TCPConn) {
		var g errgroup.Group
		g.Go(func() error {
			<-server.waits
			return server.Close()
		})
		require.ErrorIs(t, w.WriteFrames(time.Time{}, tooMuch(), false), net.ErrClosed)
		require.NoError(t, g.Wait())
	})
}

func TestNothingIsWrittenToAClosedSocket(t *testing.T) {
	inBothWays(t, func(t *testing.T, w conn.Wire, server *tracked, _ *net.TCPConn) {
		require.NoError(t, server.Close())
		require.ErrorIs(t, w.WriteFrames(inTime(), []byte("x"), false), net.ErrClosed)
	})
}

// A client that resets the connection is told of as the net package does.
func TestAFailedWriteSaysTheSameInBothWays(t *testing.T) {
	t.Parallel()
	failed := map[string]*net.OpError{}
	for name, way := range ways {
		server, client := pair(t)
		w := way(server)
		require.NoError(t, client.SetLinger(0))
		require.NoError(t, client.Close())
		var err error
		for err == nil { // the reset may take a moment
			err = w.WriteFrames(inTime(), []byte("x"), false)
		}
		require.ErrorIs(t, w.WriteFrames(inTime(), []byte("x"), false), net.ErrClosed)
		var op *net.OpError
		require.ErrorAs(t, err, &op)
		require.Equal(t, server.LocalAddr(), op.Source)
		require.Equal(t, server.RemoteAddr(), op.Addr)
		failed[name] = &net.OpError{Op: op.Op, Net: op.Net, Err: op.Err}
	}
	require.Equal(t, failed["with a deadline"], failed["tried"])
	require.True(t, errors.Is(failed["tried"], syscall.ECONNRESET) || errors.Is(failed["tried"], syscall.EPIPE))
}

func TestAWriteAllocatesNothing(t *testing.T) { // not parallel: allocations are counted
	server, _ := pair(t)
	w, frames, deadline := conn.NewWire(server), []byte("frames"), inTime()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := w.WriteFrames(deadline, frames, false); err != nil {
			require.NoError(t, err)
		}
	}))
}

// expired is a ResponseWriter whose connection has deadlines that have passed.
type expired struct{ http.ResponseWriter }

func (e expired) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(e.ResponseWriter).Hijack()
	if err == nil {
		err = c.SetDeadline(time.Unix(1, 0))
	}
	return c, rw, err
}

// Whoever takes a connection over from HTTP may find deadlines set, and clears
// them: http.Hijacker.
func TestDeadlinesOfHTTPDoNotHold(t *testing.T) {
	t.Parallel()
	r := newRelay(t, t.Context(), session{}, nil)
	r.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.ServeHTTP(expired{w}, req)
	}))
	defer r.http.Close()
	c := dialRaw(t, r, "")
	c.send(text, "hello")
	c.expect(frame{text, "hello"})
	c.send(closed, closePayload(1000, ""))
	c.expectClose(1000)
	r.gone(t)
}

// BenchmarkWrite measures one write of 500 bytes to a socket of the loopback, and
// its part in reading them at the other end, many at once.
func BenchmarkWrite(b *testing.B) {
	const atOnce = 128
	for name, way := range ways {
		b.Run(name, func(b *testing.B) {
			server, client := pair(b)
			require.NoError(b, server.SetWriteBuffer(256<<10))
			require.NoError(b, client.SetReadBuffer(1<<20))
			w, frames := way(server.TCPConn), make([]byte, 500)
			got := make([]byte, atOnce*len(frames))
			b.ReportAllocs()
			before := cpu(b)
			for i := 1; b.Loop(); i++ {
				if err := w.WriteFrames(time.Now().Add(patience), frames, false); err != nil {
					require.NoError(b, err)
				}
				if i%atOnce != 0 {
					continue
				}
				if _, err := io.ReadFull(client, got); err != nil {
					require.NoError(b, err)
				}
			}
			b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}
