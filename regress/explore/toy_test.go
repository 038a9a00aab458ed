package explore_test

import (
	"fmt"
	"sync/atomic"
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
			result := explore.All(t, explore.Plan{Build: func(*testing.T, *pause.Hook) *explore.Program {
				var order []byte
				p := &explore.Program{Check: func() []string { seen[string(order)] = true; return nil }}
				for i, n := range c.segments {
					op := toy(fmt.Sprintf("op%d", i), n, func() { order = append(order, byte('a'+i)) })
					p.Operations = append(p.Operations, op)
				}
				return p
			}})
			require.Equal(t, c.want, result.Schedules)
			require.Len(t, seen, c.want)
			require.Zero(t, result.Broken)
			t.Logf("%d interleavings", result.Schedules)
		})
	}
}

var _ atomic.Bool
