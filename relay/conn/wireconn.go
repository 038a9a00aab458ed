package conn

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// wireConn is the network connection of a WebSocket: it keeps the order of frames
// on the wire. Batches of data frames are written with one writeFrames, control
// frames with one writeControl. So no control frame can get into the middle of
// another frame, and none overtakes what was written before it.
type wireConn struct {
	// Set at construction, never changed.
	net.Conn
	timeout time.Duration      // of writing a control frame; 0 is none
	raw     syscall.RawConn    // nil: nothing can be read or written without blocking (TLS)
	try     func(uintptr) bool // tryWrite, as a value

	heard atomic.Uint64 // bytes read so far; inbox counts them

	early []byte // owned by the reader: what came together with the request

	// order is the one mutex that is held across I/O: what it guards is the order
	// of writes. It guards sealed too.
	order sync.Mutex
	// +checklocks:order
	sealed bool // a close frame was written, or writing has failed
	// +checklocks:order
	out []byte // what tryWrite is to write, and then what the socket has not taken
	// +checklocks:order
	outErr error // of the last tryWrite
}

// newWireConn returns c as a wireConn. early is what has been read from it already.
func newWireConn(c net.Conn, timeout time.Duration, early []byte) *wireConn {
	w := &wireConn{Conn: c, timeout: timeout, early: early}
	if shared, ok := c.(syscall.Conn); ok && canTry {
		if raw, err := shared.SyscallConn(); err == nil {
			w.raw, w.try = raw, w.tryWrite
		}
	}
	return w
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

// writeFrames writes whole frames with one write to the socket, if that takes them
// all at once; it waits until deadline for the rest to be taken. After last, which
// says that they end with a close frame, nothing is written any more (RFC 6455
// section 5.5.1).
func (c *wireConn) writeFrames(deadline time.Time, frames []byte, last bool) error {
	c.order.Lock()
	defer c.order.Unlock()
	if c.sealed {
		return net.ErrClosed
	}
	err := c.writeLocked(deadline, frames)
	c.sealed = last || err != nil // half a frame may have been written
	return err
}

// writeLocked sets the deadline, a timer of the runtime, only for what the socket
// does not take at once, which is hardly ever anything. BenchmarkWrite: 5.0 us of CPU, not 6.9.
func (c *wireConn) writeLocked(deadline time.Time, p []byte) error {
	if c.raw == nil {
		return c.writeBy(deadline, p)
	}
	rest, err := c.tryLocked(p)
	if err != nil || len(rest) == 0 {
		return err
	}
	if err := c.writeBy(deadline, rest); err != nil {
		return err
	}
	return c.SetWriteDeadline(time.Time{}) // one that has passed would fail the next try
}

func (c *wireConn) writeBy(deadline time.Time, p []byte) error {
	if err := c.SetWriteDeadline(deadline); err != nil {
		return err
	}
	_, err := c.Conn.Write(p)
	return err
}

// tryLocked writes what the socket takes without blocking and returns the rest of p.
func (c *wireConn) tryLocked(p []byte) (rest []byte, err error) {
	c.out = p
	defer func() { c.out, c.outErr = nil, nil }()
	if err := c.raw.Write(c.try); err != nil {
		return p, err
	}
	if c.outErr != nil {
		from, to := c.LocalAddr(), c.RemoteAddr()
		return c.out, &net.OpError{Op: "write", Net: to.Network(), Source: from, Addr: to, Err: c.outErr}
	}
	return c.out, nil
}

// tryWrite writes what the socket takes of out. It returns true, whatever that
// was: it is not to be called again when there is room for more.
//
// +checklocks:c.order
func (c *wireConn) tryWrite(fd uintptr) (done bool) {
	var n int
	n, c.outErr = writeNow(fd, c.out)
	c.out = c.out[n:]
	return true
}

func isClose(frame []byte) bool { return len(frame) > 0 && frame[0]&0x0f == opClose }
