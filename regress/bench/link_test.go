package bench_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/regress/bench"
)

// wireConn is the client's end of a connection on which bytes come in pieces.
type wireConn struct {
	net.Conn // nil: nothing else is called
	in       []byte
	piece    int // bytes a read gives at most
	out      bytes.Buffer
}

func (c *wireConn) Read(p []byte) (int, error) {
	if len(c.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.in[:min(len(c.in), c.piece)])
	c.in = c.in[n:]
	return n, nil
}

func (c *wireConn) Write(p []byte) (int, error) { return c.out.Write(p) }

// sent returns a frame of a server.
func sent(fin bool, opcode byte, payload string) []byte {
	b := []byte{opcode}
	if fin {
		b[0] |= 0x80
	}
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	return append(b, payload...)
}

func TestMessagesComeOutAsTheyWentIn(t *testing.T) {
	t.Parallel()
	messages := []string{"", "a", strings.Repeat("b", 125), strings.Repeat("c", 126), strings.Repeat("d", 70_000), strings.Repeat("e", 300_000), "f"}
	var whole, parts []byte
	for _, m := range messages {
		whole = append(whole, sent(true, 1, m)...)
		half := len(m) / 2
		parts = append(parts, sent(false, 1, m[:half])...)
		parts = append(parts, sent(true, 9, "ping")...)
		parts = append(parts, sent(false, 0, "")...)
		parts = append(parts, sent(true, 10, "")...)
		parts = append(parts, sent(true, 0, m[half:])...)
	}
	for _, in := range [][]byte{whole, parts} {
		for _, piece := range []int{1, 2, 3, 1000, 1 << 20} {
			c := &wireConn{in: in, piece: piece}
			got, err := bench.Messages(c)
			require.ErrorIs(t, err, io.EOF)
			require.Equal(t, messages, got)
			if &in[0] == &parts[0] {
				pongs := bytes.Count(c.out.Bytes(), []byte{0x8A, 0x84})
				require.Equal(t, len(messages), pongs, "each ping is answered")
			}
		}
	}
}

func TestFramesThatAreNotAllowedEndTheConnection(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		in   []byte
		want string
	}{
		{"masked", []byte{0x81, 0x81, 1, 2, 3, 4, 5}, "RFC 6455"},
		{"compressed", []byte{0xC1, 0x00}, "RFC 6455"},
		{"binary", []byte{0x82, 0x00}, "RFC 6455"},
		{"unknown opcode", []byte{0x83, 0x00}, "RFC 6455"},
		{"ping in parts", []byte{0x09, 0x00}, "RFC 6455"},
		{"long ping", sent(true, 9, strings.Repeat("x", 126)), "RFC 6455"},
		{"continuation of nothing", sent(true, 0, "x"), "RFC 6455"},
		{"message within a message", append(sent(false, 1, "x"), sent(true, 1, "y")...), "RFC 6455"},
		{"too long", []byte{0x81, 127, 0, 0, 0, 0, 0x01, 0, 0, 1}, "16 MiB"},
		{"length beyond 63 bits", []byte{0x81, 127, 255, 255, 255, 255, 255, 255, 255, 255}, "16 MiB"},
		{"close", sent(true, 8, "\x03\xf1going away"), `1009 "going away"`},
		{"close without a code", sent(true, 8, ""), "without a code"},
	} {
		got, err := bench.Messages(&wireConn{in: tc.in, piece: 1})
		require.ErrorContains(t, err, tc.want, tc.name)
		require.Empty(t, got, tc.name)
	}
}

// FuzzLink compares what comes byte by byte with what comes at once.
func FuzzLink(f *testing.F) {
	f.Add(append(sent(false, 1, "ab"), sent(true, 0, "cd")...))
	f.Add(append(sent(true, 9, "ping"), sent(true, 1, strings.Repeat("x", 5000))...))
	f.Add([]byte{0x81, 0x85, 1, 2, 3})
	f.Fuzz(func(t *testing.T, in []byte) {
		slow, slowErr := bench.Messages(&wireConn{in: in, piece: 1})
		fast, fastErr := bench.Messages(&wireConn{in: in, piece: 1 << 20})
		require.Equal(t, slow, fast)
		require.Equal(t, slowErr, fastErr)
	})
}

func TestWhatAClientSendsIsMasked(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 125, 126, 65_535, 65_536} {
		payload := bytes.Repeat([]byte("xyz"), n)[:n]
		frame := bench.Frame(payload, [4]byte{1, 2, 3, 4})
		require.Equal(t, byte(0x81), frame[0])
		require.NotZero(t, frame[1]&0x80)
		body := frame[len(frame)-n:]
		for i := range body {
			require.Equal(t, payload[i], body[i]^byte(1+i%4))
		}
		require.Equal(t, []byte{1, 2, 3, 4}, frame[len(frame)-n-4:len(frame)-n])
	}
	all := []string{"one", "two", "three"}
	require.Equal(t, bench.Script(all, 0, 3), append(bench.Script(all, 0, 1), bench.Script(all, 1, 3)...))
	require.Empty(t, bench.Script(all, 2, 2))
}

func TestHandshakeThatIsRefusedIsAFailure(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ answer, want string }{
		{"HTTP/1.1 503 Service Unavailable\r\n\r\n", `the relay answered "HTTP/1.1 503 Service Unavailable"`},
		{"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\n\r\n", "Sec-WebSocket-Accept is wrong"},
		{strings.Repeat("x", 20_000), "does not end"},
		{"HTTP/1.1 101", "EOF"},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		served := make(chan error, 1)
		go func() {
			c, err := l.Accept()
			if err == nil {
				_, err = c.Read(make([]byte, 1024))
				_, write := io.WriteString(c, tc.answer)
				err = errors.Join(err, write, c.(*net.TCPConn).CloseWrite())
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}
			served <- err
		}()
		report, err := bench.Run(t.Context(), quickly(&fake{url: "ws://" + l.Addr().String()}, "alone"))
		require.NoError(t, err)
		require.Contains(t, result(t, report).Failure, tc.want)
		require.NoError(t, <-served)
		require.NoError(t, l.Close())
	}
}

func TestARelayThatNeverAnswersTheHandshakeIsAFailure(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	o := quickly(&fake{url: "ws://" + l.Addr().String()}, "alone")
	o.Patience = 200 * time.Millisecond
	report, err := bench.Run(t.Context(), o)
	require.NoError(t, err)
	require.Contains(t, result(t, report).Failure, "the relay sent nothing for 200ms")
}
