//go:build !nopause

package explore_test

import (
	"flag"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
	"fencepost/relay/store"
)

var (
	full   = flag.Bool("explore.full", false, "run every schedule of the long scenarios instead of a sample")
	replay = flag.String("explore.replay", "", "run one schedule, as a violation printed it, of the scenario that -run names")
)

// sample is how many schedules of a long scenario a short run draws.
const sample = 1000

func (s scenario) plan() explore.Plan {
	costs := newCosts()
	return explore.Plan{Points: s.points, Independent: s.independent(), Build: func(t *testing.T, hook *pause.Hook) *explore.Program {
		o := s.options
		o.Pause = hook
		if s.late {
			o.Wrap = func(x store.Store) store.Store { return careless{Store: x} }
		}
		floor := new(atomic.Uint64)
		if s.trims {
			o.Wrap = func(x store.Store) store.Store { return floored{x, floor} }
		}
		elsewhere := &outside{hook: hook}
		if s.outside {
			o.Outside = elsewhere
		}
		byID := &cutterByID{}
		if s.byID {
			o.Controls = byID
		}
		w := newWorld(t, o, s.slow, costs)
		w.elsewhere, byID.world = elsewhere, w
		if s.trims {
			w.floor = floor
		}
		return w.program(s.given(w)...)
	}}
}

func TestEveryInterleavingKeepsThePromises(t *testing.T) {
	var sum tally
	t.Cleanup(func() { fmt.Println(sum.String()) })
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t, &sum)
		})
	}
}

// tally adds up the scenarios.
type tally struct {
	mu sync.Mutex // guards the fields below; never held across a callback
	// +checklocks:mu
	scenarios, sampled, schedules, broken int
}

func (s *tally) add(r explore.Result, sampled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scenarios++
	s.schedules += r.Schedules
	s.broken += r.Broken
	if sampled {
		s.sampled++
	}
}

func (s *tally) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := fmt.Sprintf("explored %s interleavings in %d scenarios, %d violations", thousands(s.schedules), s.scenarios, s.broken)
	if s.sampled > 0 {
		line += fmt.Sprintf(" (%d scenarios sampled; -explore.full runs all of each)", s.sampled)
	}
	return line
}

// thousands writes n with commas.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

func (s scenario) run(t *testing.T, sum *tally) {
	var result explore.Result
	var err error
	how := "every interleaving"
	sampled := s.long && !*full && *replay == ""
	switch {
	case *replay != "":
		how = "one schedule"
		var schedule explore.Schedule
		schedule, err = explore.ParseSchedule(*replay)
		require.NoError(t, err)
		result, err = explore.Replay(t, s.plan(), schedule)
	case sampled:
		how = "a sample"
		result = explore.Sample(t, s.plan(), sample, 1)
	default:
		result, err = explore.All(t, s.plan())
	}
	require.NoError(t, err)
	sum.add(result, sampled)
	if s.reduced && !sampled {
		how = fmt.Sprintf("sleep sets, %s given up as equal to one that was run; %s", thousands(result.Cut), commutes)
	}
	t.Logf("%s interleavings of up to %d steps, %d violations (%s)", thousands(result.Schedules), result.Longest, result.Broken, how)
	for _, v := range result.First {
		t.Errorf("a promise is broken; replay with -run '%s' -explore.replay='%s'\n%v", t.Name(), v.Schedule, v)
	}
	for _, p := range s.points {
		assert.True(t, *replay != "" || result.Reached[p], "no schedule reaches %s", p)
	}
}
