package conn_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// raw is a client that writes frames as it likes.
type raw struct {
	t testing.TB
	net.Conn
	r      *bufio.Reader
	header http.Header // of the response
}

// frame is one frame as it stands on the wire.
type frame struct {
	first   byte // fin, rsv, opcode
	payload string
}

const (
	text   = 0x81
	bin    = 0x82
	closed = 0x88
	ping   = 0x89
	pong   = 0x8A
)

const request = "GET / HTTP/1.1\r\nHost: relay.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

// dialRaw upgrades, with extra header lines, and sends early in the same write.
func dialRaw(t testing.TB, r *relay, extra string, early ...byte) *raw {
	c, err := net.Dial("tcp", r.http.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	_, err = c.Write(append([]byte(request+extra+"\r\n"), early...))
	require.NoError(t, err)
	br := bufio.NewReader(c)
	res, err := http.ReadResponse(br, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, res.StatusCode)
	return &raw{t: t, Conn: c, r: br, header: res.Header}
}

// maskedFrame returns a frame as a client sends it.
func maskedFrame(first byte, payload string) []byte {
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	key := [4]byte{1, 2, 3, 4}
	b = append(b, key[:]...)
	for i := range len(payload) {
		b = append(b, payload[i]^key[i%4])
	}
	return b
}

func (c *raw) send(first byte, payload string) {
	_, err := c.Write(maskedFrame(first, payload))
	require.NoError(c.t, err)
}

// receive returns the next frame, or an error.
func (c *raw) receive() (f frame, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(c.r, head); err != nil {
		return frame{}, err
	}
	n := uint64(head[1])
	switch n {
	case 126:
		b := make([]byte, 2)
		_, err = io.ReadFull(c.r, b)
		n = uint64(binary.BigEndian.Uint16(b))
	case 127:
		b := make([]byte, 8)
		_, err = io.ReadFull(c.r, b)
		n = binary.BigEndian.Uint64(b)
	}
	if err != nil {
		return frame{}, err
	}
	payload := make([]byte, n)
	_, err = io.ReadFull(c.r, payload)
	return frame{first: head[0], payload: string(payload)}, err
}

// expect checks the next frames.
func (c *raw) expect(frames ...frame) {
	c.t.Helper()
	for _, want := range frames {
		got, err := c.receive()
		require.NoError(c.t, err)
		require.Equal(c.t, want.String(), got.String())
	}
}

// expectClose checks that the next frame closes with code, answers it, and waits
// for the end.
func (c *raw) expectClose(code int) (reason string) {
	c.t.Helper()
	f, err := c.receive()
	require.NoError(c.t, err)
	require.Equal(c.t, byte(closed), f.first, f.String())
	require.Equal(c.t, code, int(binary.BigEndian.Uint16([]byte(f.payload))), f.payload[2:])
	_, _ = c.Write(maskedFrame(closed, f.payload[:2]))
	_, err = c.r.ReadByte()
	require.Error(c.t, err, "nothing follows a close frame")
	return f.payload[2:]
}

func (f frame) String() string {
	if len(f.payload) > 200 {
		return fmt.Sprintf("%#x %d bytes %q", f.first, len(f.payload), f.payload[:20])
	}
	return fmt.Sprintf("%#x %q", f.first, f.payload)
}

func closePayload(code uint16, reason string) string {
	return string(binary.BigEndian.AppendUint16(nil, code)) + reason
}

func url(r *relay) string { return "ws" + strings.TrimPrefix(r.http.URL, "http") }
