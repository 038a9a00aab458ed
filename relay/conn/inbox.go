package conn

import (
	"io"
	"sync"
)

const (
	// readAhead is how much is read at once, into a buffer that many connections
	// share: one that waits for its client holds none.
	readAhead = 8 << 10
	// ownBuffer is the buffer of a connection that cannot share (TLS).
	ownBuffer = 1 << 10
)

// inbox is what has been read from a client and not been used yet. Its methods
// fail with the network's errors only.
type inbox struct {
	// Set at construction, never changed.
	wire *wireConn
	try  func(uintptr) bool // tryRead, as a value; not used without wire.raw
	pool *sync.Pool         // *[]byte, of readAhead bytes

	// Owned by the reader.
	buf      *[]byte // nil while a connection that shares waits; its own without wire.raw
	from, to int     // (*buf)[from:to] has been read and not been used
	n        int     // what the last tryRead gave
	err      error
}

func newInbox(w *wireConn, pool *sync.Pool) inbox {
	b := inbox{wire: w, pool: pool}
	if w.raw == nil {
		own := make([]byte, ownBuffer)
		b.buf = &own
	}
	return b
}

// need returns the next n bytes, which are valid until the next call. n is at most
// the size of the smaller buffer.
func (b *inbox) need(n int) ([]byte, error) {
	for b.to-b.from < n {
		if err := b.fill(); err != nil {
			return nil, err
		}
	}
	if n == 0 {
		return nil, nil
	}
	b.from += n
	return (*b.buf)[b.from-n : b.from], nil
}

// some returns the next bytes, at least one and at most n, which are valid until
// the next call.
func (b *inbox) some(n int64) ([]byte, error) {
	for b.from == b.to {
		if err := b.fill(); err != nil {
			return nil, err
		}
	}
	return b.need(int(min(n, int64(b.to-b.from))))
}

// fill reads once, behind what is there.
func (b *inbox) fill() error {
	if b.buf != nil {
		b.to = copy(*b.buf, (*b.buf)[b.from:b.to])
		b.from = 0
	}
	n, err := b.read()
	b.to += n
	b.wire.heard.Add(uint64(n))
	if n == 0 && err == nil {
		err = io.EOF
	}
	return err
}

func (b *inbox) read() (n int, err error) {
	if len(b.wire.early) > 0 || b.wire.raw == nil {
		b.take()
		return b.wire.Read((*b.buf)[b.to:])
	}
	if err := b.wire.raw.Read(b.try); err != nil {
		return 0, err
	}
	return b.n, b.err
}

// take makes sure that there is a buffer.
func (b *inbox) take() {
	if b.buf == nil {
		b.buf = b.pool.Get().(*[]byte)
	}
}

// tryRead reads what is there. It returns false when nothing is: it is called again
// then once there is something, and until then an empty buffer is with others.
func (b *inbox) tryRead(fd uintptr) (done bool) {
	b.take()
	var again bool
	if b.n, again, b.err = readNow(fd, (*b.buf)[b.to:]); again {
		b.rest()
	}
	return !again
}

// rest gives the buffer back if nothing is in it.
func (b *inbox) rest() {
	if b.from == b.to {
		b.pool.Put(b.buf)
		b.buf, b.from, b.to = nil, 0, 0
	}
}
