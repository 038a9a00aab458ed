package fences

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
)

// WriterEnv names the variable with the Writer, in JSON, that a test binary is to be.
const WriterEnv = "FENCEPOST_TEST_WRITER"

// Crew is some writers, each a process, that are started again when they are killed. Its
// methods may be called from any goroutine.
type Crew struct {
	// Set at construction, never changed.
	doomed func(Line) bool // whether to kill a writer that has just told this

	mu sync.Mutex // guards the fields below
	// +checklocks:mu
	told []Line
	// +checklocks:mu
	running map[int]*exec.Cmd
	// +checklocks:mu
	owner int // who claimed last
	// +checklocks:mu
	kills int
	// +checklocks:mu
	ended bool

	readers sync.WaitGroup
}

// NewCrew returns a crew without members.
func NewCrew(doomed func(Line) bool) *Crew {
	return &Crew{doomed: doomed, running: make(map[int]*exec.Cmd)}
}

// Hire starts a writer.
func (c *Crew) Hire(w Writer) error {
	config, err := json.Marshal(w)
	if err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(cmd.Environ(), WriterEnv+"="+string(config))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.running[w.Number] = cmd
	c.readers.Go(func() { c.listen(w, cmd, out) })
	return nil
}

// listen notes what a writer tells, and hires it again when it was killed.
func (c *Crew) listen(w Writer, cmd *exec.Cmd, out io.Reader) {
	s := bufio.NewScanner(out)
	for s.Scan() {
		var l Line
		if json.Unmarshal(s.Bytes(), &l) != nil {
			continue // a line that the kill cut
		}
		if c.note(l) {
			_ = cmd.Process.Kill() // it may have ended
		}
	}
	_ = cmd.Wait() // a signal is what is wanted
	if err := c.Hire(w); err != nil {
		fmt.Fprintln(os.Stderr, "hire:", err)
	}
}

func (c *Crew) note(l Line) (kill bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told = append(c.told, l); l.Did == "claimed" {
		c.owner = l.Writer
	}
	if kill = !c.ended && c.doomed(l); kill {
		c.kills++
	}
	return kill
}

// Owner is who claimed last, 0 while nobody has.
func (c *Crew) Owner() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owner
}

// Told is what was told so far.
func (c *Crew) Told() []Line {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.told)
}

// Signal sends a signal to a writer, if it runs.
func (c *Crew) Signal(number int, s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cmd := c.running[number]; cmd != nil {
		_ = cmd.Process.Signal(s) // it may have ended
	}
}

// End kills everybody and returns what was told, and how many were killed before.
func (c *Crew) End() (told []Line, kills int) {
	c.stop()
	c.readers.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told, c.kills
}

func (c *Crew) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, cmd := range c.running {
		_ = cmd.Process.Kill() // it may have ended
	}
}
