package relay_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/relay/config"
)

func (r *running) dialTCP(t *testing.T) net.Conn {
	c, err := net.Dial("tcp", r.url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() }) // the relay may have closed it first
	require.NoError(t, c.SetDeadline(time.Now().Add(soon)))
	return c
}

const get = " HTTP/1.1\r\nHost: a.b\r\n"

// The header is refused although it has not come to an end.
func TestALongHeaderIsRefused(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir()).dialTCP(t)
	_, err := io.WriteString(c, "GET /"+get+"X: "+strings.Repeat("x", 24<<10))
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, answer.StatusCode)
}

func TestAClientThatReadsNoAnswersIsCut(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), func(c *config.Config) { c.Network.WriteTimeout = 300 * time.Millisecond }).dialTCP(t)
	requests := strings.Repeat("GET /metrics"+get+"\r\n", 100)
	var err error
	for err == nil {
		_, err = io.WriteString(c, requests)
	}
	var network net.Error
	require.False(t, errors.As(err, &network) && network.Timeout(), err)
}

// A client that says nothing counts, before there is any request.
func TestSilentSocketsAreCapped(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), func(c *config.Config) {
		c.Network.MaxConnectionsPerAddress, c.Network.HandshakeTimeout = 1, time.Minute
	})
	const room = 1 + 32
	for range room {
		r.dialTCP(t)
	}
	_, err := r.dialTCP(t).Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}
