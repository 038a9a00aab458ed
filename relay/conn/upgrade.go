package conn

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

const (
	// readBuffer is per connection, for its life: a few small messages fit.
	readBuffer = 1 << 10
	// controlBuffer holds the largest control frame: the library writes no others.
	controlBuffer = 128
	// sendBuffer bounds what the kernel keeps for a client, in bytes. More would
	// only hide for longer that a client does not read, and keep a ping waiting.
	sendBuffer = 256 << 10
)

// upgrade does the handshake. On an error the request has been answered.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request, o *Options) (*webSocket, error) {
	sock := &webSocket{
		server: s, max: o.MaxMessage, pong: make(chan struct{}, 1),
		endless: context.WithoutCancel(s.group.Context()),
	}
	mode := websocket.CompressionDisabled
	if o.Compression {
		mode = websocket.CompressionNoContextTakeover
	}
	hijacker := &hijacker{ResponseWriter: w, timeout: o.WriteTimeout}
	ws, err := websocket.Accept(hijacker, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // any web page may use a relay; there are no cookies to abuse
		CompressionMode:    mode,
		OnPingReceived:     sock.onPing,
		OnPongReceived:     sock.onPong,
	})
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(-1) // Read counts itself: the library's limit closes before answers are flushed
	sock.ws, sock.wire = ws, hijacker.wire
	sock.deflate = strings.HasPrefix(w.Header().Get("Sec-WebSocket-Extensions"), "permessage-deflate")
	return sock, nil
}

// hijacker gives the library a wireConn with small buffers instead of the
// connection and the 4 KiB buffers of net/http.
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
		err = tune(raw)
	}
	if err != nil {
		return nil, nil, errors.Join(err, raw.Close())
	}
	h.wire = &wireConn{Conn: raw, timeout: h.timeout, early: append([]byte(nil), early...)}
	return h.wire, bufio.NewReadWriter(
		bufio.NewReaderSize(h.wire, readBuffer), bufio.NewWriterSize(h.wire, controlBuffer),
	), nil
}

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
