package explore_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
)

// toy returns an operation of n segments.
func toy(name string, n int, segment func()) explore.Operation {
	return explore.Operation{Name: name, Run: func(at func(pause.Point)) {
		for i := range n {
			if i > 0 {
				at(pause.Point(fmt.Sprintf("segment%d", i)))
			}
			segment()
		}
	}}
}

func TestExplorerRunsEveryInterleavingOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		segments []int
		want     int
	}{
		"3 and 4":      {segments: []int{3, 4}, want: 35},
		"8 and 8":      {segments: []int{8, 8}, want: 12870},
		"three of 4":   {segments: []int{4, 4, 4}, want: 34650},
		"one":          {segments: []int{5}, want: 1},
		"four singles": {segments: []int{1, 1, 1, 1}, want: 24},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := make(map[string]bool)
			result, err := explore.All(t, explore.Plan{Build: func(*testing.T, *pause.Hook) *explore.Program {
				var order []byte
				p := &explore.Program{Check: func() []string { seen[string(order)] = true; return nil }}
				for i, n := range c.segments {
					op := toy(fmt.Sprintf("op%d", i), n, func() { order = append(order, byte('a'+i)) })
					p.Operations = append(p.Operations, op)
				}
				return p
			}})
			require.NoError(t, err)
			require.Equal(t, c.want, result.Schedules)
			require.Len(t, seen, c.want)
			require.Zero(t, result.Broken)
			t.Logf("%d interleavings", result.Schedules)
		})
	}
}

func TestExplorerNamesThreadsAndReplaysSchedules(t *testing.T) {
	t.Parallel()
	var order string
	plan := explore.Plan{Build: func(*testing.T, *pause.Hook) *explore.Program {
		order = ""
		return &explore.Program{
			Operations: []explore.Operation{
				toy("a", 2, func() { order += "a" }), toy("b", 2, func() { order += "b" }),
			},
			Check: func() []string {
				if order == "abba" {
					return []string{"abba"}
				}
				return nil
			},
			Trace: func() string { return "order " + order },
		}
	}}
	result, err := explore.All(t, plan)
	require.NoError(t, err)
	require.Equal(t, 6, result.Schedules)
	require.Equal(t, 1, result.Broken)
	found := result.First[0]
	require.Equal(t, "a@start b@start b@segment1 a@segment1", found.Schedule.String())
	require.Equal(t, "order abba", found.Trace)

	schedule, err := explore.ParseSchedule(found.Schedule.String())
	require.NoError(t, err)
	result, err = explore.Replay(t, plan, schedule)
	require.NoError(t, err)
	require.Equal(t, 1, result.Broken)

	_, err = explore.Replay(t, plan, explore.Schedule{{Thread: "c", Point: explore.Start}})
	require.ErrorContains(t, err, "step 1: c@start is not among [a@start b@start]")
	_, err = explore.ParseSchedule("a")
	require.Error(t, err)
}

func TestExplorerDoesNotRunABlockedStep(t *testing.T) {
	t.Parallel()
	result, err := explore.All(t, explore.Plan{Build: func(*testing.T, *pause.Hook) *explore.Program {
		ready := make(chan struct{})
		var order string
		return &explore.Program{
			Operations: []explore.Operation{
				toy("first", 2, func() { order += "1" }),
				{Name: "opener", Run: func(func(pause.Point)) { order += "o"; close(ready) }},
				{Name: "waiter", Run: func(at func(pause.Point)) { <-ready; at("through"); order += "w" }},
			},
			Check: func() []string {
				if len(order) != 4 || order[len(order)-1] == 'o' {
					return []string{order}
				}
				return nil
			},
		}
	}})
	require.NoError(t, err)
	require.Zero(t, result.Broken, result.First)
	require.Positive(t, result.Schedules)
}

func TestExplorerReportsWhatNeverEnds(t *testing.T) {
	t.Parallel()
	result, err := explore.All(t, explore.Plan{Build: func(t *testing.T, _ *pause.Hook) *explore.Program {
		wake := make(chan struct{}, 1)
		asleep := false
		return &explore.Program{
			Operations: []explore.Operation{
				{Name: "sleeper", Run: func(at func(pause.Point)) {
					at("looked") // nobody has called yet, as far as it knows
					asleep = true
					select {
					case <-wake:
					case <-t.Context().Done():
					}
				}},
				{Name: "caller", Run: func(func(pause.Point)) {
					if asleep {
						wake <- struct{}{}
					}
				}},
			},
			Check: func() []string { return nil },
		}
	}})
	require.NoError(t, err)
	require.Equal(t, 3, result.Schedules)
	require.Equal(t, 2, result.Broken)
	require.Equal(t, []string{"never ends: sleeper"}, result.First[0].Problems)
}

func TestExplorerReportsPanics(t *testing.T) {
	t.Parallel()
	result, err := explore.All(t, explore.Plan{Build: func(*testing.T, *pause.Hook) *explore.Program {
		return &explore.Program{
			Operations: []explore.Operation{{Name: "bad", Run: func(func(pause.Point)) { panic("at the disco") }}},
			Check:      func() []string { return nil },
		}
	}})
	require.NoError(t, err)
	require.Equal(t, 1, result.Broken)
	require.Contains(t, result.First[0].Problems[0], "bad panics: at the disco")
}

func TestExplorerNoticesProgramsThatAreNotDeterministic(t *testing.T) {
	t.Parallel()
	builds := 0
	_, err := explore.All(t, explore.Plan{Build: func(*testing.T, *pause.Hook) *explore.Program {
		builds++
		return &explore.Program{
			Operations: []explore.Operation{toy("a", 1+builds%2, func() {}), toy("b", 2, func() {})},
			Check:      func() []string { return nil },
		}
	}})
	require.ErrorContains(t, err, "not deterministic")
}
