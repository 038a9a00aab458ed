package conn

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// sendBuffer bounds what the kernel keeps for a client, in bytes. More would only
// hide for longer that a client does not read, and keep a ping waiting.
const sendBuffer = 256 << 10

// upgrade does the handshake. On an error the request has been answered.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request, o *Options) (*webSocket, error) {
	mode := websocket.CompressionDisabled
	if o.Compression {
		mode = websocket.CompressionNoContextTakeover
	}
	hijacker := &hijacker{ResponseWriter: w, timeout: o.WriteTimeout}
	shaken, err := websocket.Accept(hijacker, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // any web page may use a relay; there are no cookies to abuse
		CompressionMode:    mode,
	})
	if err != nil {
		return nil, err
	}
	_ = shaken.CloseNow() // closes nowhere; the library never lets go of what is not closed
	deflate := strings.HasPrefix(w.Header().Get("Sec-WebSocket-Extensions"), "permessage-deflate")
	return newWebSocket(s, hijacker.wire, o.MaxMessage, deflate), nil
}

// hijacker keeps the connection and gives the library nothing: it does the
// handshake and is done, and what it makes of a connection would be 3 KiB of each.
type hijacker struct {
	http.ResponseWriter
	timeout time.Duration
	wire    *wireConn
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	raw, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, err := rw.Reader.Peek(rw.Reader.Buffered())
	if err == nil {
		err = errors.Join(tune(raw), raw.SetDeadline(time.Time{})) // those of HTTP do not hold here
	}
	if err != nil {
		return nil, nil, errors.Join(err, raw.Close())
	}
	h.wire = newWireConn(raw, h.timeout, append([]byte(nil), early...))
	const least = 16
	var none nowhere
	return none, bufio.NewReadWriter(bufio.NewReaderSize(none, least), bufio.NewWriterSize(none, least)), nil
}

// nowhere is a connection without anybody at the other end.
type nowhere struct{ net.Conn }

// Read implements net.Conn.
func (nowhere) Read([]byte) (int, error) { return 0, io.EOF }

// Write implements net.Conn.
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// Close implements net.Conn.
func (nowhere) Close() error { return nil }

// tune sets what the kernel does for a connection that lives long. Keep-alives
// find a dead peer when pings are turned off.
func tune(raw net.Conn) error {
	tcp, ok := raw.(interface { // a TCPConn, or what Guard made of it
		SetWriteBuffer(bytes int) error
		SetKeepAliveConfig(net.KeepAliveConfig) error
	})
	if !ok {
		return nil // TLS: the listener's settings hold
	}
	if err := tcp.SetWriteBuffer(sendBuffer); err != nil {
		return err
	}
	return tcp.SetKeepAliveConfig(net.KeepAliveConfig{
		Enable: true, Idle: time.Minute, Interval: 15 * time.Second, Count: 4,
	})
}
