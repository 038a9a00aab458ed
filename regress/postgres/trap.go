package postgres

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// Trap waits in a Proxy for a message to the database with a text in it: of an event
// that is being committed, say.
type Trap struct {
	// Set at construction, never changed.
	text    []byte
	lose    bool
	reached chan struct{} // closed when the message has come
	release chan struct{} // closed by Release

	left     atomic.Int64 // how many messages it still catches
	arriving sync.Once    // of reached
	leaving  sync.Once    // of release
}

// Lose loses the answers to the next n messages with the text in it: each is passed on,
// and when the answer comes the connection is closed instead.
func (p *Proxy) Lose(text string, n int) *Trap { return p.trap(text, n, true) }

// Hold keeps the next message with the text in it from the database, and what follows on
// the same connection, until it is released.
func (p *Proxy) Hold(text string) *Trap { return p.trap(text, 1, false) }

func (p *Proxy) trap(text string, n int, lose bool) *Trap {
	t := &Trap{text: []byte(text), lose: lose, reached: make(chan struct{}), release: make(chan struct{})}
	t.left.Store(int64(n))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.traps = append(p.traps, t)
	return t
}

// Reached returns a channel that is closed when the first message has come.
func (t *Trap) Reached() <-chan struct{} { return t.reached }

// Left returns how many messages the trap still waits for.
func (t *Trap) Left() int { return int(max(t.left.Load(), 0)) }

// Release lets the message go on. A second call does nothing.
func (t *Trap) Release() { t.leaving.Do(func() { close(t.release) }) }

// trapped returns the trap that catches a message, or nil.
func (p *Proxy) trapped(message []byte) *Trap {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.traps {
		if t.left.Load() > 0 && bytes.Contains(message, t.text) {
			t.left.Add(-1)
			return t
		}
	}
	return nil
}

// spring does what the trap is for. It returns false when the link has ended meanwhile.
func (t *Trap) spring(l *link) bool {
	t.arriving.Do(func() { close(t.reached) })
	if t.lose {
		l.losing.Store(true)
		return true
	}
	select {
	case <-t.release:
		return true
	case <-l.done:
		return false
	}
}
