package lifecycle

import "context"

// writer writes what is queued. A goroutine of the crew runs it, only while there is
// something to write: an idle connection has one goroutine, the reader. The group
// counts it from the beginning until it is over, so that Group.Wait waits for it.
type writer struct {
	// Set at construction, never changed.
	write func(ctx context.Context) (over bool) // nil: there is none, somebody polls Take
	crew  *Crew
	over  chan struct{} // closed when write has returned true or panicked

	next *Conn // whose writer is due after this one; guarded by Crew.mu

	// Guarded by Conn.mu.
	busy   bool // it runs, is about to, or is over
	gaveUp bool // GiveUp was called
}

const writerName = "writer"

func (c *Conn) initWriter(write func(ctx context.Context) (over bool), crew *Crew) {
	if write == nil {
		return
	}
	if crew == nil {
		crew = new(Crew)
	}
	c.writer = writer{write: write, crew: crew, over: make(chan struct{})}
	c.group.enter(writerName) // the group is new and takes it
}

// Written is closed when the writer is over: it has seen Take's done, or cannot
// write any more.
func (c *Conn) Written() <-chan struct{} { return c.writer.over }

// GiveUp ends the writer of a closing connection, whatever answers are still due.
func (c *Conn) GiveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writer.gaveUp = true
	c.wakeLocked()
}

// wakeLocked makes the writer due. One that is busy looks into the queue once more
// before it ends.
func (c *Conn) wakeLocked() {
	if c.writer.write == nil || c.writer.busy {
		return
	}
	c.writer.busy = true
	c.writer.crew.add(c)
}

// tookLocked notes what Take has found. The writer that found nothing to do ends,
// and the decision is taken in the critical section in which it looked: whoever
// pushes afterwards starts another one. See TestWriterThatIsEndingLosesNothing.
func (c *Conn) tookLocked(n int, done bool) {
	c.writer.busy = n > 0 || done
}

func (c *Conn) runWriter() {
	over := true // also after a panic
	defer func() {
		if over {
			close(c.writer.over)
			c.group.leave(writerName)
		}
	}()
	defer c.group.recover(writerName)
	over = c.writer.write(c.group.Context())
}
