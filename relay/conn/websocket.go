package conn

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"

	"fencepost/lifecycle"
)

// webSocket is a Socket over the WebSocket protocol (RFC 6455, RFC 7692) from the
// end of its handshake on.
type webSocket struct {
	// Set at construction, never changed.
	server  *Server
	wire    *wireConn
	deflate bool // permessage-deflate was agreed on

	pong chan struct{} // a pong came; capacity 1, never closed

	// reading is held while something is read. The writer, which waits for the client's
	// close frame at the end, so takes over from the reader.
	reading sync.Mutex
	// +checklocks:reading
	in inbound
}

func newWebSocket(s *Server, w *wireConn, max int64, deflate bool) *webSocket {
	sock := &webSocket{
		server: s, wire: w, deflate: deflate, pong: make(chan struct{}, 1),
		in: inbound{inbox: newInbox(w, &s.reads), server: s, max: max, deflate: deflate},
	}
	sock.in.try, sock.in.control = sock.in.tryRead, sock.onControl
	return sock
}

// Read implements Socket.
func (s *webSocket) Read() ([]byte, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	return s.in.message()
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

// Close implements Socket. Until the reader has what it waits for it waits for the
// reader: both end with the client's close frame, or with CloseNow.
func (s *webSocket) Close(code int, text string) error {
	payload := append(binary.BigEndian.AppendUint16(nil, uint16(code)), text...)
	if err := s.wire.writeControl(append(appendHeader(nil, finBit|opClose, len(payload)), payload...)); err != nil {
		return err
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	return s.in.drain()
}

// CloseNow implements Socket.
func (s *webSocket) CloseNow() {
	_ = s.wire.Conn.Close() // whatever it says, the connection is over
}

// onControl takes pings and pongs, in the reader.
func (s *webSocket) onControl(op byte, payload []byte) {
	if op == opPing {
		frame := append(appendHeader(make([]byte, 0, 2+len(payload)), finBit|opPong, len(payload)), payload...)
		if err := s.wire.writeControl(frame); err != nil && !errors.Is(err, net.ErrClosed) {
			s.CloseNow() // nothing can be written any more, and half a frame may have been
		}
		return
	}
	select {
	case s.pong <- struct{}{}:
	default:
	}
}
