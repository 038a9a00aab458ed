package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"fencepost/relay/client"
)

// socketKey is where a request has its socket.
type socketKey struct{}

// hangUpBy returns a client whose relay ends the connection as end says.
func hangUpBy(t *testing.T, end func(*websocket.Conn, *net.TCPConn) error) *client.Client {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, err := websocket.Accept(w, r, nil); err == nil {
			_ = end(conn, r.Context().Value(socketKey{}).(*net.TCPConn)) // the client sees whether it worked
		}
	}))
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, socketKey{}, c)
	}
	server.Start()
	t.Cleanup(server.Close)
	c, err := client.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), client.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestHowARelayEndsAConnectionIsSaidInAFewWords(t *testing.T) {
	t.Parallel()
	frame := func(code websocket.StatusCode, reason string) func(*websocket.Conn, *net.TCPConn) error {
		return func(c *websocket.Conn, _ *net.TCPConn) error { return c.Close(code, reason) }
	}
	for name, row := range map[string]struct {
		end  func(*websocket.Conn, *net.TCPConn) error
		says string
		code websocket.StatusCode
	}{
		"no word": {func(c *websocket.Conn, _ *net.TCPConn) error { return c.CloseNow() }, "the relay closed the connection", -1},
		"a reset": {func(_ *websocket.Conn, s *net.TCPConn) error { return errors.Join(s.SetLinger(0), s.Close()) }, "the relay closed the connection", -1},
		"half a frame": {func(_ *websocket.Conn, s *net.TCPConn) error {
			_, err := s.Write([]byte{0x81})
			return errors.Join(err, s.Close())
		}, "the relay closed the connection", -1},
		"no code":         {frame(websocket.StatusNoStatusRcvd, ""), "the relay closed the connection", websocket.StatusNoStatusRcvd},
		"a code":          {frame(websocket.StatusGoingAway, ""), "the relay closed the connection: 1001", websocket.StatusGoingAway},
		"code and reason": {frame(websocket.StatusPolicyViolation, "too slow"), "the relay closed the connection: 1008 too slow", websocket.StatusPolicyViolation},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := hangUpBy(t, row.end).Next(t.Context())
			require.EqualError(t, err, row.says)
			require.Equal(t, row.code, websocket.CloseStatus(err))
		})
	}
}
