package explore

import (
	"fmt"
	"slices"
)

// walk enumerates schedules depth first. It remembers the path of the last run,
// repeats it up to the deepest place with a choice left, and takes that one.
//
// Sleep sets (Godefroid 1996): once everything below a choice was run, the
// choice goes to sleep at its node. It stays asleep in the nodes below its
// siblings until a step comes that it does not commute with. To take a sleeping
// choice would only repeat a schedule that was run, with commuting steps in
// another order; a node where all are asleep is given up. At least one schedule
// of each class of equal ones is run.
type walk struct {
	// Set at construction, never changed.
	independent func(a, b Choice) bool // nil: nothing commutes

	path   []node
	broken error // how a repeated prefix differed
}

type node struct {
	choices []Choice
	taken   int
	asleep  []Choice // inherited, and what was run here
}

// pick continues the path. It returns -1 when every choice is asleep.
func (w *walk) pick(depth int, choices []Choice) int {
	if depth < len(w.path) {
		n := &w.path[depth]
		if !slices.Equal(n.choices, choices) {
			w.broken = fmt.Errorf("not deterministic after %q: first %v, then %v", w.taken(depth), n.choices, choices)
			return -1
		}
		return n.taken
	}
	n := node{choices: choices, asleep: w.inherited()}
	if n.taken = n.awake(); n.taken < 0 {
		return -1
	}
	w.path = append(w.path, n)
	return n.taken
}

// taken returns the steps that lead to depth.
func (w *walk) taken(depth int) Schedule {
	var s Schedule
	for _, n := range w.path[:depth] {
		s = append(s, n.choices[n.taken])
	}
	return s
}

// inherited returns what sleeps below the last node: what slept there and
// commutes with the step taken.
func (w *walk) inherited() []Choice {
	if len(w.path) == 0 || w.independent == nil {
		return nil
	}
	last := w.path[len(w.path)-1]
	var out []Choice
	for _, c := range last.asleep {
		if w.independent(c, last.choices[last.taken]) {
			out = append(out, c)
		}
	}
	return out
}

// awake returns the first choice that is not asleep, or -1.
func (n *node) awake() int {
	return slices.IndexFunc(n.choices, func(c Choice) bool { return !slices.Contains(n.asleep, c) })
}

// next moves to the next schedule; false when there is none.
func (w *walk) next() bool {
	for len(w.path) > 0 {
		n := &w.path[len(w.path)-1]
		n.asleep = append(n.asleep, n.choices[n.taken])
		if n.taken = n.awake(); n.taken >= 0 {
			return true
		}
		w.path = w.path[:len(w.path)-1]
	}
	return false
}
