package explore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"fencepost/lifecycle/pause"
)

// Operation is one of the things that happen at once. Run is called in its own
// goroutine; at parks there, so that other operations can come in between.
type Operation struct {
	Name string // without blanks and "@"
	Run  func(at func(pause.Point))
}

// Program is what one schedule runs. It is built anew for every schedule.
type Program struct {
	Operations []Operation
	// Passing is told who comes to which point of the Plan, before it parks there,
	// and to which of Watched. It may be nil.
	Passing func(thread string, p pause.Point)
	Watched []pause.Point // where nobody needs to park
	// Drain makes room for what is still blocked once nothing is parked, as the
	// final take of every client does. It is called until it returns false, when
	// there was nothing to do. It may be nil.
	Drain func() bool
	// Check is called when everything has ended. It returns what is wrong.
	Check func() []string
	// Trace describes what happened, for the report of a violation. It may be nil.
	Trace func() string
}

// Plan is a program and how its schedules are enumerated.
type Plan struct {
	Points []pause.Point // where to park; other points of the relay are passed
	Build  func(t *testing.T, hook *pause.Hook) *Program
	// Independent says that two steps of different threads commute: whichever is
	// first, both lead to the same state, and neither makes the other possible
	// or impossible. With it sleep sets leave out schedules that differ only in
	// the order of such steps; without it every schedule is run.
	Independent func(a, b Choice) bool
}

// Violation is a schedule that broke a promise.
type Violation struct {
	Schedule Schedule
	Problems []string
	Trace    string
}

// String returns the report.
func (v Violation) String() string {
	return fmt.Sprintf("schedule: %s\n  %s\n%s", v.Schedule, strings.Join(v.Problems, "\n  "), v.Trace)
}

// Result says what was explored.
type Result struct {
	Schedules int         // run to their end and checked
	Cut       int         // given up: equal to one that was run, by Independent
	Longest   int         // steps of the longest schedule
	Broken    int         // schedules that broke a promise
	First     []Violation // the first few of them
	Reached   map[pause.Point]bool
}

// keep is how many violations a Result describes.
const keep = 3

// explorer runs the schedules of one plan.
type explorer struct {
	t      *testing.T
	plan   Plan
	result Result
}

func newExplorer(t *testing.T, p Plan) *explorer {
	return &explorer{t: t, plan: p, result: Result{Reached: make(map[pause.Point]bool)}}
}

// All runs every schedule of p, depth first, each from scratch in a bubble of
// its own. An error means that a repeated prefix did not lead to the same
// choices: the program is not deterministic and the count means nothing.
func All(t *testing.T, p Plan) (Result, error) {
	e := newExplorer(t, p)
	w := &walk{independent: p.Independent}
	for more := true; more; more = w.next() {
		e.run(w.pick)
		if w.broken != nil {
			return e.result, w.broken
		}
	}
	return e.result, nil
}

// Sample runs n schedules whose choices are drawn with the seed.
func Sample(t *testing.T, p Plan, n int, seed uint64) Result {
	e := newExplorer(t, p)
	for i := range n {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		e.run(func(_ int, choices []Choice) int { return random.IntN(len(choices)) })
	}
	return e.result
}

// Replay runs one schedule; steps beyond its end are taken in order. An error
// means that the schedule does not fit the program.
func Replay(t *testing.T, p Plan, s Schedule) (Result, error) {
	e := newExplorer(t, p)
	var misfit error
	e.run(func(depth int, choices []Choice) int {
		if depth >= len(s) {
			return 0
		}
		i := slices.Index(choices, s[depth])
		if i < 0 {
			misfit = fmt.Errorf("step %d: %v is not among %v", depth+1, s[depth], choices)
		}
		return i
	})
	return e.result, misfit
}

// run executes one schedule. pick returns the index of the choice to take, or a
// negative number to give the schedule up.
func (e *explorer) run(pick func(depth int, choices []Choice) int) {
	synctest.Test(e.t, func(t *testing.T) {
		s := newScheduler(e.plan.Points)
		program := e.plan.Build(t, pause.NewHook(s.at))
		s.watch(program)
		s.start(program.Operations)
		schedule, complete := follow(s, pick)
		if complete {
			e.check(s, program, schedule)
		} else {
			e.result.Cut++
			s.abandon()
		}
	})
}

// follow takes steps until nobody can be let go.
func follow(s *scheduler, pick func(depth int, choices []Choice) int) (done Schedule, complete bool) {
	for {
		choices := s.choices()
		if len(choices) == 0 {
			return done, true
		}
		i := pick(len(done), choices)
		if i < 0 {
			return done, false
		}
		done = append(done, choices[i])
		s.step(i)
	}
}

// check ends the program in order and holds it against its promises.
func (e *explorer) check(s *scheduler, p *Program, done Schedule) {
	problems := finish(s, p)
	s.abandon()
	s.mu.Lock()
	problems = append(problems, s.panics...)
	for point := range s.reached {
		e.result.Reached[point] = true
	}
	s.mu.Unlock()
	problems = append(problems, p.Check()...)
	e.result.Schedules++
	e.result.Longest = max(e.result.Longest, len(done))
	if len(problems) == 0 {
		return
	}
	if e.result.Broken++; e.result.Broken > keep {
		return
	}
	v := Violation{Schedule: done, Problems: problems}
	if p.Trace != nil {
		v.Trace = p.Trace()
	}
	e.result.First = append(e.result.First, v)
}

// finish drains until nothing moves. An operation that waits for room ends
// then; one that still waits has been forgotten by the relay.
func finish(s *scheduler, p *Program) (problems []string) {
	for moved := true; moved; {
		moved = p.Drain != nil && p.Drain()
		synctest.Wait()
		if len(s.choices()) > 0 {
			s.step(0)
			moved = true
		}
	}
	if blocked := s.blocked(); len(blocked) > 0 {
		return []string{"never ends: " + strings.Join(blocked, ", ")}
	}
	return nil
}
