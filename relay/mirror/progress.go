package mirror

import "sync"

// progress is the cursor of a holding.
type progress struct {
	mu sync.Mutex // guards the field below; nothing else happens under it
	// +checklocks:mu
	cursor Cursor
}

func (p *progress) get() Cursor {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cursor
}

// set changes the cursor and returns it.
func (p *progress) set(change func(*Cursor)) Cursor {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.cursor)
	return p.cursor
}
