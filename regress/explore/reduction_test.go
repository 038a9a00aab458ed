//go:build !nopause

package explore_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
)

// What the clients see is the same with and without sleep sets, in scenarios
// small enough to run both.
func TestSleepSetsLoseNoOutcome(t *testing.T) {
	t.Parallel()
	for _, s := range []scenario{
		{
			name:   "fan-out to two connections, CLOSE and writer on one, writer on the other",
			points: points(fanoutPoints, only(pause.CloseReleased)),
			given: func(w *world) []explore.Operation {
				a, b := w.connect("a"), w.connect("b")
				a.open("x", apples)
				b.open("x", apples)
				w.commit(apple(1))
				return []explore.Operation{w.follower(w.head()), a.reader(closeX), a.writer(1), b.writer(1)}
			},
		},
		{
			name:   "commit, fan-out to two connections, REQ and writer on one",
			points: points(fanoutPoints, only(pause.ReqIndexed, pause.ReqSnapshot, pause.ReqReplayed)),
			given: func(w *world) []explore.Operation {
				a, b := w.connect("a"), w.connect("b")
				w.stored(apple(1))
				b.open("x", apples)
				return []explore.Operation{w.publisher(apple(2)), w.follower(w.head() + 1), a.reader(reqApples), a.writer(1)}
			},
		},
		{
			name:    "two commits, fan-out, REQ whose hold overflows",
			options: tight(1, 64),
			points: only(pause.ReqIndexed, pause.ReqSnapshot, pause.ReqReplayed, pause.ReqRestarted, pause.ReqCaughtUp,
				pause.FanoutRead, pause.FanoutDecided),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				return []explore.Operation{w.publisher(apple(1), apple(2)), w.follower(w.head() + 2), a.reader(reqApples)}
			},
		},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			all, result := s.outcomes(t)
			s.reduced = true
			some, reduced := s.outcomes(t)
			require.Equal(t, all, some)
			require.Less(t, reduced.Schedules, result.Schedules)
			require.Zero(t, result.Broken+reduced.Broken)
			t.Logf("%d outcomes from %d interleavings, the same from %d", len(all), result.Schedules, reduced.Schedules)
		})
	}
}

// outcomes returns what the clients saw, once for each way it went.
func (s scenario) outcomes(t *testing.T) ([]string, explore.Result) {
	seen := make(map[string]bool)
	plan := s.plan()
	build := plan.Build
	plan.Build = func(t *testing.T, hook *pause.Hook) *explore.Program {
		p := build(t, hook)
		check := p.Check
		p.Check = func() []string {
			problems := check()
			seen[p.Trace()] = true
			return problems
		}
		return p
	}
	result, err := explore.All(t, plan)
	require.NoError(t, err)
	return slices.Sorted(maps.Keys(seen)), result
}

// Three operations that commute in pairs have one interleaving, and three that
// do not have all.
func TestSleepSetsKeepOneOfEachClass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		independent func(a, b explore.Choice) bool
		want        int
	}{
		{name: "nothing commutes", independent: func(a, b explore.Choice) bool { return false }, want: 90},
		{name: "everything commutes", independent: func(a, b explore.Choice) bool { return true }, want: 1},
		{name: "c commutes with all", independent: func(a, b explore.Choice) bool {
			return a.Thread == "c" || b.Thread == "c"
		}, want: 6},
		{name: "only the last segments conflict", independent: func(a, b explore.Choice) bool {
			return !(strings.HasPrefix(string(a.Point), "segment") && strings.HasPrefix(string(b.Point), "segment"))
		}, want: 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			result, err := explore.All(t, explore.Plan{
				Independent: c.independent,
				Build: func(*testing.T, *pause.Hook) *explore.Program {
					p := &explore.Program{Check: func() []string { return nil }}
					for _, name := range []string{"a", "b", "c"} {
						p.Operations = append(p.Operations, toy(name, 2, func() {}))
					}
					return p
				},
			})
			require.NoError(t, err)
			require.Equal(t, c.want, result.Schedules, fmt.Sprint(result.Cut))
		})
	}
}
