package lifecycle

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
)

// Group is a set of named goroutines that share one lifetime. Goroutines of the
// relay start in a group and are waited for by whoever made it.
type Group struct {
	// Set at construction, never changed.
	ctx    context.Context
	cancel context.CancelFunc

	mu sync.Mutex // guards the fields below; never held across a callback
	// +checklocks:mu
	closed bool
	// +checklocks:mu
	failed chan error // first panic; capacity 1, never closed; made when it is needed
	// +checklocks:mu
	running []running // those that run, in no order: names are few
	// +checklocks:mu
	total int
	// +checklocks:mu
	idle chan struct{} // closed when total falls to 0; nil when nobody waits
}

// running is how many goroutines of one name run.
type running struct {
	name string
	n    int
}

// NewGroup returns a group whose goroutines are told to stop when ctx ends or
// Cancel is called.
func NewGroup(ctx context.Context) *Group {
	g := new(Group)
	g.ctx, g.cancel = context.WithCancel(ctx)
	return g
}

// Context ends with the group.
func (g *Group) Context() context.Context { return g.ctx }

// Cancel tells the goroutines to stop. It does not wait.
func (g *Group) Cancel() { g.cancel() }

// Failed receives the first panic of the group's goroutines, which is a bug of
// this program: the owner ends what the group stands for.
func (g *Group) Failed() <-chan error { return g.failures() }

func (g *Group) failures() chan error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed == nil {
		g.failed = make(chan error, 1)
	}
	return g.failed
}

// Go starts fn under a name. It returns false, and starts nothing, once Wait was
// called. fn must return soon after its context ends.
func (g *Group) Go(name string, fn func(ctx context.Context)) bool {
	if !g.enter(name) {
		return false
	}
	go g.run(name, fn)
	return true
}

// Run is Go in the caller's goroutine: it returns once fn has returned or panicked.
func (g *Group) Run(name string, fn func(ctx context.Context)) bool {
	if !g.enter(name) {
		return false
	}
	g.run(name, fn)
	return true
}

func (g *Group) run(name string, fn func(ctx context.Context)) {
	defer g.leave(name)
	defer g.recover(name)
	fn(g.ctx)
}

func (g *Group) recover(name string) {
	if r := recover(); r != nil {
		select {
		case g.failures() <- fmt.Errorf("panic in %s: %v\n%s", name, r, debug.Stack()):
		default:
		}
		g.cancel()
	}
}

func (g *Group) enter(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.countLocked(name, 1)
	return true
}

func (g *Group) countLocked(name string, change int) {
	g.total += change
	i := slices.IndexFunc(g.running, func(r running) bool { return r.name == name })
	if i < 0 {
		g.running = append(g.running, running{name, change})
		return
	}
	if g.running[i].n += change; g.running[i].n == 0 {
		g.running = slices.Delete(g.running, i, i+1)
	}
}

func (g *Group) leave(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.countLocked(name, -1); g.total == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// Wait lets no goroutine start any more and blocks until all have ended or ctx
// ends; the error then names those that still run.
func (g *Group) Wait(ctx context.Context) error {
	idle := g.seal()
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("goroutines still run: %v: %w", g.Running(), ctx.Err())
	}
}

func (g *Group) seal() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.total == 0 {
		return nil
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	return g.idle
}

// Running returns how many goroutines of each name run.
func (g *Group) Running() map[string]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make(map[string]int, len(g.running))
	for _, r := range g.running {
		out[r.name] = r.n
	}
	return out
}
