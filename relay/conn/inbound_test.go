package conn_test

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/conn"
)

// pieces is a connection on which bytes come in pieces.
type pieces struct {
	net.Conn
	in    []byte
	piece int
}

func (c *pieces) Read(p []byte) (int, error) {
	if len(c.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.piece)], c.in)
	c.in = c.in[n:]
	return n, nil
}

// slow reads messages from b in the obvious way, one after another, until the first
// thing that is wrong, of which it returns the close code: 0 is the end of b.
func slow(b []byte, max int) (msgs, controls []string, code int) {
	var msg []byte
	inside := false
	for {
		if len(b) < 2 {
			return msgs, controls, 0
		}
		op, fin, n := b[0]&0x0f, b[0]&0x80 != 0, uint64(b[1]&0x7f)
		control := op >= 8
		known := op <= 2 || op >= 8 && op <= 10
		if b[0]&0x70 != 0 || b[1]&0x80 == 0 || !known || control && (!fin || n > 125) {
			return msgs, controls, 1002
		}
		more := map[uint64]int{126: 2, 127: 8}[n]
		if len(b) < 2+more {
			return msgs, controls, 0
		}
		if more > 0 {
			n = 0
			for _, x := range b[2 : 2+more] {
				n = n<<8 | uint64(x)
			}
		}
		if n>>63 != 0 || more == 2 && n < 126 || more == 8 && n < 1<<16 {
			return msgs, controls, 1002
		}
		if len(b) < 2+more+4 {
			return msgs, controls, 0
		}
		key := b[2+more : 2+more+4]
		b = b[2+more+4:]
		switch {
		case !control && inside == (op != 0):
			return msgs, controls, 1002
		case op == 2:
			return msgs, controls, 1003
		case !control && uint64(len(msg))+n > uint64(max):
			return msgs, controls, 1009
		case uint64(len(b)) < n:
			return msgs, controls, 0
		}
		payload := make([]byte, n)
		for i := range payload {
			payload[i] = b[i] ^ key[i%4]
		}
		b = b[n:]
		switch {
		case op == 8:
			return msgs, controls, slowClose(payload)
		case control:
			controls = append(controls, string(payload))
		default:
			msg, inside = append(msg, payload...), !fin
			if fin {
				msgs, msg = append(msgs, string(msg)), nil
			}
		}
	}
}

func slowClose(payload []byte) (code int) {
	if len(payload) == 0 {
		return 1000
	}
	if len(payload) == 1 {
		return 1002
	}
	code = int(payload[0])<<8 | int(payload[1])
	valid := code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006 || code >= 3000 && code <= 4999
	switch {
	case !valid:
		return 1002
	case !utf8.Valid(payload[2:]):
		return 1007
	}
	return code
}

func codeOf(err error) int {
	if end, ok := err.(*conn.EndError); ok {
		return end.Cause.Code
	}
	return 0
}

// However the bytes come, the messages are those that the slow way finds.
func FuzzMessages(f *testing.F) {
	join := func(frames ...[]byte) (all []byte) {
		for _, x := range frames {
			all = append(all, x...)
		}
		return all
	}
	f.Add(join(maskedFrame(text, "[1]"), maskedFrame(ping, "a"), maskedFrame(closed, closePayload(1000, "bye"))), 7)
	f.Add(join(maskedFrame(0x01, "a"), maskedFrame(pong, ""), maskedFrame(0x80, "b"), maskedFrame(0x80, "c")), 1)
	f.Add(join(maskedFrame(text, strings.Repeat("x", 300)), maskedFrame(bin, "")), 3)
	f.Add(maskedFrame(closed, "\x03\xe8\xff"), 1)
	f.Add([]byte{text, 0xfe, 0, 1, 1, 2, 3, 4, 'a'}, 1) // a length that is not the shortest
	f.Add([]byte{text, 0xff, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 'a'}, 1)
	f.Add([]byte{text, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}, 1)
	f.Fuzz(func(t *testing.T, in []byte, piece int) {
		const max = 1 << 9
		msgs, controls, code := slow(in, max)
		for _, piece := range []int{1 + int(uint(piece)%100), 1 << 20} {
			gotMsgs, gotControls, err := conn.Messages(&pieces{in: in, piece: piece}, max, false)
			require.Equal(t, msgs, gotMsgs)
			require.Equal(t, controls, gotControls)
			require.Equal(t, code, codeOf(err), "%v", err)
		}
	})
}

// Whatever is compressed, or says that it is, no message is longer than the limit and
// every end has a cause.
func FuzzCompressedMessages(f *testing.F) {
	f.Add([]byte(pack(f, strings.Repeat("long ", 200))))
	f.Add([]byte("\xff\xff\xff"))
	f.Add([]byte{0x01, 0x01, 0x00, 0xfe, 0xff, 'a'}) // a last block of the sender's own
	f.Fuzz(func(t *testing.T, packed []byte) {
		const max = 1 << 9
		msgs, _, err := conn.Messages(&pieces{in: maskedFrame(compressed, string(packed)), piece: 1 << 20}, max, true)
		require.LessOrEqual(t, len(msgs), 1)
		for _, msg := range msgs {
			require.LessOrEqual(t, len(msg), max)
		}
		if len(msgs) == 0 && len(packed) < max {
			require.Contains(t, []int{1007, 1009}, codeOf(err), "%v", err)
		}
	})
}

func TestUnmaskingInPiecesOfAnyLength(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		plain := make([]byte, random.IntN(60))
		for i := range plain {
			plain[i] = byte(random.Uint32())
		}
		key := random.Uint32()
		masked := append([]byte{}, plain...)
		for i := range masked {
			masked[i] ^= binary.LittleEndian.AppendUint32(nil, key)[i%4]
		}
		cut := random.IntN(len(plain) + 1)
		rotated := conn.Unmask(masked[:cut], key)
		conn.Unmask(masked[cut:], rotated)
		require.Equal(t, plain, masked)
	}
}

// Without a socket that can be read by hand, as behind TLS, a connection has a
// buffer of its own and reads the same.
func TestAConnectionThatCannotShareBuffersReadsTheSame(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, withMax, func(l net.Listener) net.Listener { return hiding{l} })
	big := strings.Repeat("x", max)
	c := dialRaw(t, r, "", maskedFrame(text, "early")...)
	c.send(text, big)
	c.expect(frame{text, "early"}, frame{text, big})
	c.send(ping, "now")
	c.expect(frame{pong, "now"})
	c.send(closed, closePayload(1000, ""))
	c.expectClose(1000)
}

type hiding struct{ net.Listener }

func (l hiding) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return struct{ net.Conn }{c}, err
}

// RFC 6455 section 7.1.1: what is under way when the relay closes is read, so that
// the network does not take back the close frame.
func TestTheRelayWaitsForTheCloseFrameOfTheClient(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, func(o *conn.Options) { withMax(o); o.FlushTimeout = time.Minute })
	c := dialRaw(t, r, "")
	(<-r.opened).Close(lifecycle.Cause{Code: 1008, Text: "out"})
	c.expect(frame{closed, closePayload(1008, "out")})
	c.send(text, "under way")
	c.send(text, strings.Repeat("x", max))
	require.NoError(t, c.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	_, err := c.receive()
	var late net.Error
	require.ErrorAs(t, err, &late)
	require.True(t, late.Timeout(), "it waits")
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	c.send(closed, closePayload(1008, ""))
	_, err = c.receive()
	require.ErrorIs(t, err, io.EOF)
}

func BenchmarkUnmask(b *testing.B) {
	p := make([]byte, 400)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		conn.Unmask(p, 0x04030201)
	}
}
