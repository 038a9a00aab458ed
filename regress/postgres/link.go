package postgres

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// piece is the most that a proxy passes on at once, in bytes.
const piece = 1 << 20

// link is one connection through a proxy.
type link struct {
	// Set at construction, never changed.
	proxy            *Proxy
	client, database *net.TCPConn
	done             chan struct{} // closed when the link has ended

	losing    atomic.Bool // the next answer is lost
	listening atomic.Bool // it has sent LISTEN
	silent    atomic.Bool // nothing is passed on any more
	once      sync.Once   // of the end
}

// forth passes on what the client sends.
func (l *link) forth() error {
	buf := make([]byte, piece)
	for {
		n, err := l.client.Read(buf)
		if !l.passes() || err != nil {
			return l.close()
		}
		if l.silent.Load() {
			continue
		}
		if bytes.Contains(buf[:n], []byte("LISTEN ")) {
			l.listening.Store(true)
		}
		if t := l.proxy.trapped(buf[:n]); t != nil && !t.spring(l) {
			return l.close()
		}
		if _, err := l.database.Write(buf[:n]); err != nil {
			return l.close()
		}
	}
}

// back passes on what the database answers.
func (l *link) back() error {
	buf := make([]byte, piece)
	for {
		n, err := l.database.Read(buf)
		if !l.passes() || err != nil || l.losing.Load() {
			return l.close()
		}
		if l.silent.Load() || l.listening.Load() && l.proxy.deafens() {
			continue
		}
		if _, err := l.client.Write(buf[:n]); err != nil {
			return l.close()
		}
	}
}

// passes waits until what was received may be passed on. It returns false when the link
// has ended first.
func (l *link) passes() bool {
	for {
		healed, delay := l.proxy.obstacles()
		if healed == nil {
			return delay == 0 || l.pause(delay)
		}
		select {
		case <-healed:
		case <-l.done:
			return false
		}
	}
}

func (l *link) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.done:
		return false
	}
}

// close ends both sides.
func (l *link) close() error {
	l.once.Do(func() {
		close(l.done)
		l.proxy.remove(l)
		_ = l.client.Close()   // the other side may be gone
		_ = l.database.Close() // the same
	})
	return nil
}

// reset ends both sides with a reset instead of an orderly end.
func (l *link) reset() {
	_ = l.client.SetLinger(0)   // fails when it is closed already
	_ = l.database.SetLinger(0) // the same
	_ = l.close()               // never fails
}
