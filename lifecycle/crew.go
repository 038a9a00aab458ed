package lifecycle

import "sync"

// Crew runs the writers of many connections. A fan-out makes many of them due at once, and
// each has next to nothing to write: a goroutine that has written goes on with the next
// one, instead of ending while another begins. As a writer may block, one that begins while
// others are due leaves them to another goroutine: which of the two comes first takes them.
// The zero value is ready for use.
type Crew struct {
	mu sync.Mutex // guards the fields below, and writer.next; taken with Conn.mu held, and innermost
	// +checklocks:mu
	first, last *Conn // whose writer is due, in order of their wake-ups
	// +checklocks:mu
	looking bool   // a goroutine was started, or is to be, that looks for the next one
	run     func() // work, as a value, so that a start allocates nothing; set at the first wake-up, never changed
}

// add makes the writer of c due.
func (w *Crew) add(c *Conn) {
	if w.queue(c) {
		go w.run() // made by queue, and the same from then on
	}
}

// queue reports whether a goroutine has to be started.
func (w *Crew) queue(c *Conn) (start bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.run == nil {
		w.run = w.work
	}
	if w.first == nil {
		w.first = c
	} else {
		w.last.writer.next = c
	}
	w.last = c
	start = !w.looking
	w.looking = true
	return start
}

// work runs writers until none is due.
func (w *Crew) work() {
	deepenWriter(false)
	for looks := true; ; looks = false {
		c, start := w.next(looks)
		if start {
			go w.run()
		}
		if c == nil {
			return
		}
		c.runWriter()
	}
}

// next returns whose writer is due next, nil when none is. start says that a goroutine has
// to be started for those behind it; looks, that the caller is the one that was looking.
// While a writer is due somebody looks, or comes back from here: see
// TestAWriterThatBlocksKeepsNobodyFromWriting.
func (w *Crew) next(looks bool) (c *Conn, start bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if looks {
		w.looking = false
	}
	if c = w.first; c == nil {
		return nil, false
	}
	w.first, c.writer.next = c.writer.next, nil
	if w.first == nil {
		w.last = nil
		return c, false
	}
	start = !w.looking
	w.looking = true
	return c, start
}
