package conn

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// wireConn is the network connection of a WebSocket: it keeps the order of frames
// on the wire. Batches of data frames are written with one writeFrames, control
// frames with one writeControl. So no control frame can get into the middle of
// another frame, and none overtakes what was written before it.
type wireConn struct {
	net.Conn
	timeout time.Duration // of writing a control frame; 0 is none

	heard atomic.Uint64 // bytes read so far; inbox counts them

	early []byte // owned by the reader: what came together with the request

	// order is the one mutex that is held across I/O: what it guards is the order
	// of writes. It guards sealed too.
	order sync.Mutex
	// +checklocks:order
	sealed bool // a close frame was written, or writing has failed
}

// Read reads from the peer.
func (c *wireConn) Read(p []byte) (n int, err error) {
	if len(c.early) > 0 {
		n = copy(p, c.early)
		if c.early = c.early[n:]; len(c.early) == 0 {
			c.early = nil
		}
		return n, nil
	}
	return c.Conn.Read(p)
}

// writeControl writes one control frame.
func (c *wireConn) writeControl(frame []byte) error {
	var deadline time.Time
	if c.timeout > 0 {
		deadline = time.Now().Add(c.timeout)
	}
	return c.writeFrames(deadline, frame, isClose(frame))
}

// writeFrames writes whole frames with one write to the socket. After last,
// which says that they end with a close frame, nothing is written any more
// (RFC 6455 section 5.5.1).
func (c *wireConn) writeFrames(deadline time.Time, frames []byte, last bool) error {
	c.order.Lock()
	defer c.order.Unlock()
	if c.sealed {
		return net.ErrClosed
	}
	if err := c.SetWriteDeadline(deadline); err != nil {
		return err
	}
	_, err := c.Conn.Write(frames)
	c.sealed = last || err != nil // half a frame may have been written
	return err
}

func isClose(frame []byte) bool { return len(frame) > 0 && frame[0]&0x0f == opClose }
