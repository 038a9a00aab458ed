package conn

import (
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"fencepost/lifecycle"
)

// webSocket is a Socket over the WebSocket library, which does the handshake,
// the reading and the closing. Data frames are written here, a batch with one
// write, because the library flushes every message.
type webSocket struct {
	// Set at construction, never changed.
	server  *Server
	ws      *websocket.Conn
	wire    *wireConn
	max     int64           // bytes of a message; 0 is no bound
	deflate bool            // permessage-deflate was agreed on
	endless context.Context // see Socket

	pong chan struct{} // a pong came; capacity 1, never closed
}

// Read implements Socket.
func (s *webSocket) Read() ([]byte, error) {
	kind, r, err := s.ws.Reader(s.endless)
	if err != nil {
		return nil, endOf(err)
	}
	if kind != websocket.MessageText {
		return nil, &EndError{Cause: causeBinary}
	}
	if s.max > 0 {
		r = io.LimitReader(r, s.max+1)
	}
	msg, err := io.ReadAll(r)
	if err != nil {
		return nil, endOf(err)
	}
	if s.max > 0 && int64(len(msg)) > s.max {
		return nil, &EndError{Cause: causeTooBig}
	}
	return msg, nil
}

// endOf tells a client that ended or broke the protocol from a lost connection.
func endOf(err error) error {
	var corrupt flate.CorruptInputError
	var network net.Error
	var end websocket.CloseError
	switch {
	case errors.As(err, &end):
		return &EndError{Cause: clientCause(end), Err: err}
	case errors.As(err, &corrupt):
		return &EndError{Cause: causeInflate, Err: err}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.As(err, &network):
		return err
	default:
		return &EndError{Cause: causeProtocol, Err: err}
	}
}

// clientCause returns what a client's close frame is answered with: its own code
// (RFC 6455 section 5.5.1).
func clientCause(end websocket.CloseError) lifecycle.Cause {
	cause := causeClient
	switch {
	case !utf8.ValidString(end.Reason):
		cause = causeReason
	case end.Code != websocket.StatusNoStatusRcvd:
		cause.Code = int(end.Code)
	}
	return cause
}

// Write implements Socket.
func (s *webSocket) Write(deadline time.Time, frames []lifecycle.Frame) error {
	const keep = 2 * maxBatch // a larger buffer held one huge event
	buf := s.server.buffers.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= keep {
			s.server.buffers.Put(buf)
		}
	}()
	var err error
	if *buf, err = s.render((*buf)[:0], frames); err != nil {
		return err
	}
	return s.wire.writeFrames(deadline, *buf, false)
}

func (s *webSocket) render(dst []byte, frames []lifecycle.Frame) (_ []byte, err error) {
	var d *deflater
	if s.deflate {
		d = s.server.deflates.Get().(*deflater)
		defer s.server.deflates.Put(d)
	}
	for i := range frames {
		if dst, err = appendFrame(dst, frames[i], d); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// Ping implements Socket. Any byte of the client is a sign of life: its pong may
// stand behind a large message that is still coming in.
func (s *webSocket) Ping(ctx context.Context) error {
	select {
	case <-s.pong: // an old one
	default:
	}
	heard := s.wire.heard.Load()
	if err := s.wire.writeControl(appendHeader(nil, finBit|opPing, 0)); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return nil // the write has taken all the time, and its own deadline judges that
	}
	select {
	case <-s.pong:
		return nil
	case <-ctx.Done():
	}
	if s.wire.heard.Load() != heard {
		return nil
	}
	return ctx.Err()
}

// Close implements Socket. The library only waits for the client's close frame,
// unless that has come; its own is left out.
func (s *webSocket) Close(code int, text string) error {
	payload := append(binary.BigEndian.AppendUint16(nil, uint16(code)), text...)
	if err := s.wire.writeControl(append(appendHeader(nil, finBit|opClose, len(payload)), payload...)); err != nil {
		return err
	}
	err := s.ws.Close(websocket.StatusCode(code), "")
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// CloseNow implements Socket. It closes the network connection itself, because
// the library's CloseNow waits for a Close that is under way.
func (s *webSocket) CloseNow() {
	_ = s.wire.Conn.Close() // whatever it says, the connection is over
	_ = s.ws.CloseNow()     // releases the library's resources
}

// onPing answers a ping, in the reader. The library would give up the connection
// when a batch of ours keeps its pong waiting for five seconds.
func (s *webSocket) onPing(_ context.Context, payload []byte) bool {
	frame := append(appendHeader(make([]byte, 0, 2+len(payload)), finBit|opPong, len(payload)), payload...)
	_ = s.wire.writeControl(frame) // the next Read fails if this does
	return false
}

func (s *webSocket) onPong(context.Context, []byte) {
	select {
	case s.pong <- struct{}{}:
	default:
	}
}
