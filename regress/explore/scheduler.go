package explore

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"testing/synctest"

	"fencepost/lifecycle/pause"
)

// scheduler lets one thread go at a time. It is made and used in one bubble.
type scheduler struct {
	// Set at construction, never changed.
	points  map[pause.Point]bool // where to park: true; what is not there is passed
	passing func(thread string, p pause.Point)

	operations sync.WaitGroup

	mu sync.Mutex // guards the fields below; never held while parked
	// +checklocks:mu
	threads map[uint64]*thread // goroutine id -> thread
	// +checklocks:mu
	parked []*thread
	// +checklocks:mu
	running *thread // let go last; what is new in its step is its child
	// +checklocks:mu
	unfinished map[string]bool // operations that have not ended
	// +checklocks:mu
	reached map[pause.Point]bool
	// +checklocks:mu
	panics []string
	// +checklocks:mu
	on bool // threads park; off while the program is built and after its end
}

// thread is an operation's goroutine or one that it has started.
type thread struct {
	name    string
	release chan struct{} // one send a step; never closed

	// Guarded by scheduler.mu.
	at       pause.Point // where it is parked, or was last
	children int
}

func newScheduler(points []pause.Point) *scheduler {
	s := &scheduler{
		points:     make(map[pause.Point]bool),
		threads:    make(map[uint64]*thread),
		unfinished: make(map[string]bool),
		running:    &thread{name: "setup"},
		reached:    make(map[pause.Point]bool),
	}
	for _, p := range points {
		s.points[p] = true
	}
	return s
}

// watch takes in what p wants to know.
func (s *scheduler) watch(p *Program) {
	s.passing = p.Passing
	for _, point := range p.Watched {
		if !s.points[point] {
			s.points[point] = false
		}
	}
}

// start brings every operation to its first stop.
func (s *scheduler) start(operations []Operation) {
	s.turnOn(operations)
	for _, op := range operations {
		s.operations.Go(func() { s.run(op) })
	}
	synctest.Wait()
}

func (s *scheduler) turnOn(operations []Operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = true
	for _, op := range operations {
		s.unfinished[op.Name] = true
	}
}

func (s *scheduler) run(op Operation) {
	t := &thread{name: op.Name, release: make(chan struct{})}
	s.mu.Lock()
	s.threads[goid()] = t
	s.mu.Unlock()
	defer s.end(op.Name)
	s.park(t, Start)
	op.Run(func(p pause.Point) { s.park(t, p) })
}

func (s *scheduler) end(name string) {
	r := recover()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unfinished, name)
	if r != nil {
		s.panics = append(s.panics, fmt.Sprintf("%s panics: %v\n%s", name, r, debug.Stack()))
	}
}

// at is the relay's hook.
func (s *scheduler) at(p pause.Point) {
	parks, known := s.points[p]
	if !known {
		return // before thread, which costs as much as the rest
	}
	t := s.thread()
	if t == nil {
		return
	}
	if s.passing != nil {
		s.passing(t.name, p)
	}
	if parks {
		s.park(t, p)
	}
}

// thread returns the caller's thread, nil while the scheduler is off. One that
// was never seen was started, or let go, by the step that runs, and is named after
// it.
func (s *scheduler) thread() *thread {
	if !s.isOn() {
		return nil
	}
	id := goid()
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.threads[id]; t != nil {
		return t
	}
	s.running.children++
	name := s.running.name + "+" + strconv.Itoa(s.running.children)
	t := &thread{name: name, release: make(chan struct{})}
	s.threads[id] = t
	return t
}

func (s *scheduler) isOn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.on
}

func (s *scheduler) park(t *thread, p pause.Point) {
	if s.enter(t, p) {
		<-t.release
	}
}

func (s *scheduler) enter(t *thread, p pause.Point) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.on {
		return false
	}
	s.reached[p] = true
	t.at = p
	s.parked = append(s.parked, t)
	return true
}

// choices returns who can be let go, in an order that depends on nothing but
// their names. Ask when everything is quiet.
func (s *scheduler) choices() []Choice {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(s.parked, func(a, b *thread) int { return cmp.Compare(a.name, b.name) })
	out := make([]Choice, len(s.parked))
	for i, t := range s.parked {
		out[i] = Choice{Thread: t.name, Point: t.at}
	}
	return out
}

// step lets the i-th choice go and waits until everything is quiet again: each
// goroutine is parked here, or blocked on another one, or over.
func (s *scheduler) step(i int) {
	s.take(i).release <- struct{}{}
	synctest.Wait()
}

func (s *scheduler) take(i int) *thread {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.parked[i]
	s.parked = slices.Delete(s.parked, i, i+1)
	s.running = t
	return t
}

// blocked returns the operations that have not ended.
func (s *scheduler) blocked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for name := range s.unfinished {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// abandon parks nobody any more and lets those who are go on, one after another.
func (s *scheduler) abandon() {
	for _, t := range s.turnOff() {
		t.release <- struct{}{}
		synctest.Wait()
	}
}

func (s *scheduler) turnOff() []*thread {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = false
	parked := s.parked
	s.parked = nil
	return parked
}

// goid returns the caller's goroutine id, which the runtime prints first in a
// stack trace. Nothing else tells a worker from its parent at a pause point.
func goid() uint64 {
	var buf [32]byte
	line := buf[:runtime.Stack(buf[:], false)]
	line = bytes.TrimPrefix(line, []byte("goroutine "))
	digits, _, _ := bytes.Cut(line, []byte(" "))
	id, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		panic("goroutine id: " + err.Error())
	}
	return id
}
