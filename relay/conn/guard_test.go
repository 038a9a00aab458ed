package conn_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/relay/conn"
)

// guarded is a server without HTTP and what its listener lets through.
type guarded struct {
	*relay
	net.Listener
	taken chan net.Conn
}

func newGuarded(t *testing.T, most int, change func(o *conn.Options)) *guarded {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	r := newRelay(t, t.Context(), session{}, change)
	g := &guarded{relay: r, Listener: r.Guard(l, most), taken: make(chan net.Conn, 1)}
	t.Cleanup(func() { require.NoError(t, g.Listener.Close()) })
	go func() {
		for c, err := g.Accept(); err == nil; c, err = g.Accept() {
			g.taken <- c
		}
	}()
	return g
}

// dial connects and returns the relay's side, or nil if the relay closes it.
func (g *guarded) dial(t *testing.T) net.Conn {
	c, err := net.Dial("tcp", g.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() }) // the relay may have closed it first
	closed := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		closed <- err
	}()
	select {
	case in := <-g.taken:
		t.Cleanup(func() { _ = in.Close() }) // the test may have
		return in
	case err := <-closed:
		require.ErrorIs(t, err, io.EOF)
		return nil
	}
}

func TestSocketsAreCountedBeforeHTTP(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(o *conn.Options)
		most   int
		want   int
	}{
		"per address":         {func(o *conn.Options) { o.MaxPerAddress = 2 }, 0, 2 + 32},
		"total":               {func(o *conn.Options) { o.MaxTotal = 3 }, 0, 3 + 256},
		"descriptors":         {func(o *conn.Options) { o.MaxTotal = 3 }, 5, 5},
		"descriptors, no cap": {nil, 5, 5},
		"more than enough":    {func(o *conn.Options) { o.MaxTotal = 3 }, 1000, 3 + 256},
		"a trusted proxy": {
			func(o *conn.Options) { o.MaxPerAddress, o.MaxTotal, o.TrustedProxies = 1, 20, loopback }, 0, 20 + 256,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t, tt.most, tt.change)
			var last net.Conn
			for i := range tt.want {
				last = g.dial(t)
				require.NotNil(t, last, i)
			}
			require.Nil(t, g.dial(t), "one too many")
			require.Equal(t, map[string]int{"socket": 1}, g.refusals())

			require.NoError(t, last.Close())
			require.Error(t, last.Close(), "gives its place back only once")
			require.NotNil(t, g.dial(t))
			require.Nil(t, g.dial(t))
		})
	}
}

func TestANewCapHoldsForNewSockets(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 0, func(o *conn.Options) { o.MaxPerAddress = 1 })
	for range 1 + 32 {
		require.NotNil(t, g.dial(t))
	}
	require.Nil(t, g.dial(t))
	g.Update(conn.Options{Limits: limits(), MaxPerAddress: 2})
	require.NotNil(t, g.dial(t))
	require.Nil(t, g.dial(t))
}

// With room for one socket each client comes in only when nothing is left of the
// one before, however that ended.
func TestWebSocketsGiveTheirSocketBack(t *testing.T) {
	t.Parallel()
	guardian := newRelay(t, t.Context(), session{}, nil)
	soon := func(o *conn.Options) { o.FlushTimeout = 50 * time.Millisecond }
	r := serve(t, session{}, soon, func(l net.Listener) net.Listener { return guardian.Guard(l.(*net.TCPListener), 1) })
	for _, end := range []func(c *raw){
		func(c *raw) { c.send(closed, closePayload(1000, "")) },
		func(c *raw) { c.send(bin, "not understood") },
		func(c *raw) { require.NoError(t, c.Close()) },
	} {
		var c *raw
		for c == nil {
			c = tryRaw(t, r)
		}
		end(c)
	}
}

// tryRaw is dialRaw that returns nil if the relay closes the socket.
func tryRaw(t *testing.T, r *relay) *raw {
	c, err := net.Dial("tcp", r.http.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })      // the relay may have closed it first
	_, _ = io.WriteString(c, request+"\r\n") // seen below
	br := bufio.NewReader(c)
	if _, err := http.ReadResponse(br, nil); err != nil {
		return nil
	}
	return &raw{t: t, Conn: c, r: br}
}
