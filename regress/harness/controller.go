package harness

import (
	"sync"

	"fencepost/lifecycle/pause"
)

// Controller parks goroutines at pause points. Its Hook goes into the relay's
// options. It is made and used inside one bubble.
type Controller struct {
	mu sync.Mutex // guards the fields below; never held while parked
	// +checklocks:mu
	armed map[pause.Point][]*Stop // point -> stops not reached yet, in order
	// +checklocks:mu
	stops []*Stop // all that were ever armed
}

// Stop is one armed stop at a point.
type Stop struct {
	reached chan struct{} // closed when somebody parks
	release chan struct{} // closed by Release
	once    sync.Once     // of release
}

// NewController returns a controller with nothing armed.
func NewController() *Controller {
	return &Controller{armed: make(map[pause.Point][]*Stop)}
}

// Hook returns the hook to hand to the relay.
func (c *Controller) Hook() *pause.Hook { return pause.NewHook(c.at) }

// Arm lets the next goroutine that comes to p park there, once. Several armed
// stops of one point are reached in the order of arming.
func (c *Controller) Arm(p pause.Point) *Stop {
	s := &Stop{reached: make(chan struct{}), release: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed[p] = append(c.armed[p], s)
	c.stops = append(c.stops, s)
	return s
}

// ReleaseAll disarms what was not reached and lets everybody go on.
func (c *Controller) ReleaseAll() {
	for _, s := range c.disarm() {
		s.Release()
	}
}

func (c *Controller) disarm() []*Stop {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.armed)
	stops := c.stops
	c.stops = nil
	return stops
}

func (c *Controller) at(p pause.Point) {
	if s := c.next(p); s != nil {
		close(s.reached)
		<-s.release
	}
}

func (c *Controller) next(p pause.Point) *Stop {
	c.mu.Lock()
	defer c.mu.Unlock()
	stops := c.armed[p]
	if len(stops) == 0 {
		return nil
	}
	c.armed[p] = stops[1:]
	return stops[0]
}

// Parked reports whether somebody has reached the stop. Ask after synctest.Wait.
func (s *Stop) Parked() bool {
	select {
	case <-s.reached:
		return true
	default:
		return false
	}
}

// Reached returns a channel that is closed when somebody parks, for tests over
// real sockets.
func (s *Stop) Reached() <-chan struct{} { return s.reached }

// Release lets the parked goroutine go on, now or when it comes. A second call
// does nothing.
func (s *Stop) Release() { s.once.Do(func() { close(s.release) }) }
