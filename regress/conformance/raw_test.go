package conformance_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Opcodes and bits of RFC 6455 section 5.2.
const (
	fin, rsv1, rsv2, rsv3              = 0x80, 0x40, 0x20, 0x10
	opCont, opText, opBinary           = 0x0, 0x1, 0x2
	opClose, opPing, opPong, opUnknown = 0x8, 0x9, 0xA, 0x3
)

// rawPeer speaks WebSocket frame by frame.
type rawPeer struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	resp *http.Response
}

// raw does the handshake with further header lines.
func (r *relay) raw(t *testing.T, header ...string) *rawPeer {
	t.Helper()
	u, err := url.Parse(r.url)
	require.NoError(t, err)
	if u.Scheme != "ws" {
		t.Skipf("%s speaks frames over plain TCP, -conformance.url is %s", t.Name(), u.Scheme)
	}
	host := u.Host
	if u.Port() == "" {
		host += ":80"
	}
	conn, err := net.DialTimeout("tcp", host, patience)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() }) // the relay may have closed it
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	lines := append([]string{
		"GET " + u.RequestURI() + " HTTP/1.1", "Host: " + u.Host, "Connection: Upgrade", "Upgrade: websocket",
		"Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
	}, header...)
	_, err = io.WriteString(conn, strings.Join(lines, "\r\n")+"\r\n\r\n")
	require.NoError(t, err)
	p := &rawPeer{t: t, conn: conn, in: bufio.NewReader(conn)}
	p.resp, err = http.ReadResponse(p.in, nil)
	require.NoError(t, err)
	return p
}

// masked returns a client's frame.
func masked(first byte, payload []byte) []byte {
	key := [4]byte{1, 2, 3, 4}
	frame := header(first, len(payload), 0x80)
	frame = append(frame, key[:]...)
	for i, b := range payload {
		frame = append(frame, b^key[i%4])
	}
	return frame
}

func header(first byte, n int, mask byte) []byte {
	switch {
	case n < 126:
		return []byte{first, mask | byte(n)}
	case n < 1<<16:
		return binary.BigEndian.AppendUint16([]byte{first, mask | 126}, uint16(n))
	default:
		return binary.BigEndian.AppendUint64([]byte{first, mask | 127}, uint64(n))
	}
}

func text(s string) []byte { return masked(fin|opText, []byte(s)) }

// write sends bytes. An error is the relay's answer to them, which read tells.
func (p *rawPeer) write(parts ...[]byte) {
	for _, b := range parts {
		_, _ = p.conn.Write(b)
	}
}

// read returns the next frame, skipping pings.
func (p *rawPeer) read() (first byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1] & 0x7f)
	switch n {
	case 126:
		var ext [2]byte
		_, err = io.ReadFull(p.in, ext[:])
		n = uint64(binary.BigEndian.Uint16(ext[:]))
	case 127:
		var ext [8]byte
		_, err = io.ReadFull(p.in, ext[:])
		n = binary.BigEndian.Uint64(ext[:])
	}
	if err != nil {
		return 0, nil, err
	}
	require.Zero(p.t, head[1]&0x80, "a server does not mask")
	payload = make([]byte, n)
	if _, err := io.ReadFull(p.in, payload); err != nil {
		return 0, nil, err
	}
	if head[0] == fin|opPing {
		return p.read()
	}
	return head[0], payload, nil
}

// code reads until the close frame and returns its code, 0 when the connection
// ended without one.
func (p *rawPeer) code() int {
	p.t.Helper()
	for {
		first, payload, err := p.read()
		if err != nil {
			return 0
		}
		if first == fin|opClose {
			if len(payload) < 2 {
				return 1005
			}
			return int(binary.BigEndian.Uint16(payload))
		}
	}
}

// message returns the next text message that contains part.
func (p *rawPeer) message(part string) string {
	p.t.Helper()
	for {
		first, payload, err := p.read()
		require.NoError(p.t, err, "waiting for %q", part)
		require.NotEqual(p.t, byte(fin|opClose), first, "closed: %q", payload)
		if first&0xf == opText && strings.Contains(string(payload), part) {
			return string(payload)
		}
	}
}
