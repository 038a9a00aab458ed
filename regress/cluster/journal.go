package cluster

import (
	"bytes"
	"regexp"
	"sync"
)

// journal is what a process has logged.
type journal struct {
	mu sync.Mutex // guards the fields below
	// +checklocks:mu
	text bytes.Buffer
	// +checklocks:mu
	grown chan struct{} // closed when there is more; then another
}

func newJournal() *journal { return &journal{grown: make(chan struct{})} }

// Write implements io.Writer.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	close(j.grown)
	j.grown = make(chan struct{})
	return j.text.Write(p)
}

// find looks for a pattern from a place on. The channel is closed when there is more.
func (j *journal) find(pattern *regexp.Regexp, from int) (found bool, grown <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return pattern.Match(j.text.Bytes()[from:]), j.grown
}

// end returns the place behind everything.
func (j *journal) end() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Len()
}

// tail returns the last bytes.
func (j *journal) tail(n int) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	b := j.text.Bytes()
	return string(b[max(0, len(b)-n):])
}
