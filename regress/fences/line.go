package fences

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Line is one thing that a writer did.
type Line struct {
	Did    string // claimed, admitted, duplicate, refused, revoked
	Writer int
	Epoch  uint64
	Number uint64 `json:",omitempty"` // of an admitted frame
	ID     string `json:",omitempty"` // of the event
}

// Content is what the event of a frame says.
type Content struct {
	Writer int
	Epoch  uint64 // of the claim that the writer relied on
	Serial int    // of the process
}

// teller writes lines.
type teller struct {
	mu sync.Mutex // guards to; a line is written whole
	to io.Writer
}

func (t *teller) tell(l Line) {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // a bug: all of it can be JSON
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = fmt.Fprintf(t.to, "%s\n", text) // who reads may be gone
}
