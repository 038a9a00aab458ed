package conn_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/conn"
)

// dial connects with a real client.
func dial(t testing.TB, r *relay) *websocket.Conn {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), url(r), nil) //nolint:bodyclose // the library says not to
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

func TestARealClientTalksAndLeaves(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, nil)
	ws := dial(t, r)
	for _, msg := range []string{"a", strings.Repeat("b", 100_000)} {
		require.NoError(t, ws.Write(t.Context(), websocket.MessageText, []byte(msg)))
		ws.SetReadLimit(-1)
		_, got, err := ws.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, msg, string(got))
	}
	require.NoError(t, ws.Close(websocket.StatusNormalClosure, ""))
	r.gone(t)
	require.Equal(t, map[string]int{"client": 1}, r.reasons())
}

func TestTheClientIsToldWhyTheRelayCloses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		cause lifecycle.Cause
		text  string
	}{
		"policy":        {lifecycle.Cause{Code: 1008, Text: "blocked: you are banned"}, "blocked: you are banned"},
		"drain":         {lifecycle.Cause{Code: 1001, Text: "bye"}, "bye"},
		"own code":      {lifecycle.Cause{Code: 4000, Text: ""}, ""},
		"long text":     {lifecycle.Cause{Code: 1008, Text: strings.Repeat("x", 200)}, strings.Repeat("x", 123)},
		"half a letter": {lifecycle.Cause{Code: 1008, Text: strings.Repeat("x", 122) + "é"}, strings.Repeat("x", 122)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, session{}, nil)
			ws := dial(t, r)
			c := <-r.opened
			require.True(t, c.Notify([]byte("last words")))
			c.Close(tt.cause)
			_, got, err := ws.Read(t.Context())
			require.NoError(t, err)
			require.Equal(t, "last words", string(got))
			_, _, err = ws.Read(t.Context())
			var closed websocket.CloseError
			require.ErrorAs(t, err, &closed)
			require.Equal(t, websocket.CloseError{Code: websocket.StatusCode(tt.cause.Code), Reason: tt.text}, closed)
			r.gone(t)
		})
	}
}

func TestAClientThatDoesNotAnswerTheCloseFrameIsCut(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, nil)
	told := false
	for timeout := 50 * time.Millisecond; !told; timeout *= 4 { // one that is over before the frame is written proves nothing
		require.Less(t, timeout, time.Minute)
		r.update(func(o *conn.Options) { o.FlushTimeout = timeout })
		c := dialRaw(t, r, "")
		(<-r.opened).Close(lifecycle.Cause{Code: 1008, Text: "out"})
		f, err := c.receive()
		if told = err == nil; told {
			require.Equal(t, frame{closed, closePayload(1008, "out")}, f)
		}
		r.gone(t)
		_, err = c.receive()
		require.Error(t, err)
	}
}

func TestAClientThatVanishesIsLost(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, nil)
	c := dialRaw(t, r, "")
	<-r.opened
	require.NoError(t, c.Close())
	r.gone(t)
	require.Equal(t, map[string]int{"lost": 1}, r.reasons())
}

func TestAClientThatNeverReadsIsCutAndDelaysNobody(t *testing.T) {
	t.Parallel()
	flood := func(ctx context.Context, c *lifecycle.Conn, msg []byte) {
		if string(msg) != "flood" {
			echo(ctx, c, msg)
			return
		}
		for { // as the answers to many messages
			a, err := c.ReserveAnswer(ctx)
			if err != nil {
				return
			}
			a.Send([]byte(strings.Repeat("x", 1000)))
		}
	}
	r := serve(t, session{handle: flood}, func(o *conn.Options) {
		o.WriteTimeout = 300 * time.Millisecond
		o.Limits.QueueBytes = 256 << 10
	})
	slow := dialRaw(t, r, "")
	slow.send(text, "flood")
	c := <-r.opened
	r.update(func(o *conn.Options) { o.WriteTimeout = time.Minute }) // a machine that stands still cuts nobody else
	healthy := dialRaw(t, r, "")
	for over := false; !over; {
		select {
		case <-c.Closing():
			over = true
		default:
			healthy.send(text, "hello")
			healthy.expect(frame{text, "hello"})
		}
	}
	require.LessOrEqual(t, c.Usage().Bytes, 256<<10)
	healthy.send(closed, closePayload(1000, ""))
	healthy.expectClose(1000)
	r.gone(t)
	require.Equal(t, map[string]int{"slow": 1, "client": 1}, r.reasons())
}

func TestPingsFindADeadPeerAndKeepALivingOne(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, func(o *conn.Options) {
		o.PingInterval, o.PongTimeout = 40*time.Millisecond, 200*time.Millisecond
	})
	dead := dialRaw(t, r, "")
	r.update(func(o *conn.Options) { // a machine that stands still makes no peer dead
		o.PingInterval, o.PongTimeout = 40*time.Millisecond, time.Minute
	})
	alive := dialRaw(t, r, "")
	gone := make(chan struct{})
	go func() { // reads pings and answers none
		defer close(gone)
		for {
			if _, err := dead.receive(); err != nil {
				return
			}
		}
	}()
	for over := false; !over; {
		f, err := alive.receive()
		require.NoError(t, err)
		require.Equal(t, frame{ping, ""}, f)
		alive.send(pong, "")
		select {
		case <-gone:
			over = true
		default:
		}
	}
	alive.send(closed, closePayload(1000, ""))
	for {
		f, err := alive.receive()
		require.NoError(t, err)
		if f.first == closed {
			break
		}
	}
	r.gone(t)
	require.Equal(t, map[string]int{"dead": 1, "client": 1}, r.reasons())
}

func TestChurnLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, nil)
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for i := range 25 {
				c := dialRaw(t, r, "")
				c.send(text, "hello")
				c.expect(frame{text, "hello"})
				if i%2 == 0 {
					c.send(closed, closePayload(1000, ""))
				}
				c.Close()
			}
		})
	}
	clients.Wait()
	r.gone(t)
}
