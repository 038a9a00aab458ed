package outbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

// What was committed while a replica was away is decided about under permissions that it
// trusts again, from the last of their changes on; not before, and not while there may be
// more of them (O18).
func TestAReplicaThatWasAwayTrustsWhatItHasReadToTheEnd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		events  int  // before
		control bool // a control row between
		behind  int  // events behind it
		trusted int  // decisions, the last ones
	}{
		"events only":                  {events: 3, trusted: 3},
		"a control row between":        {events: 3, control: true, behind: 2, trusted: 2},
		"a control row at the end":     {events: 3, control: true},
		"as much as is read at once":   {events: 256},
		"one more":                     {events: 257, trusted: 1},
		"one more, and a control row":  {events: 255, control: true, behind: 2, trusted: 2},
		"less than is read at once":    {events: 255, trusted: 255},
		"a control row before another": {events: 1, control: true, behind: 255, trusted: 1},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, 0, func(t *testing.T, w *world) {
				w.SetMaxLag(time.Second)
				w.step(t)
				w.subscribe(t, "x", 7)
				var fresh []bool
				w.policy.sight = func(*wire.Event) lifecycle.Sight {
					fresh = append(fresh, w.Fresh())
					return lifecycle.Sight{}
				}
				after(time.Minute)
				require.False(t, w.Fresh())
				for i := range tt.events {
					w.commit(t, note(i, 1))
				}
				if tt.control {
					w.control(t)
				}
				for i := range tt.behind {
					w.commit(t, note(tt.events+i, 1))
				}
				for n := 1; n > 0; {
					n = w.step(t)
				}
				total := tt.events + tt.behind
				require.Len(t, fresh, total)
				for i, trusted := range fresh {
					require.Equal(t, i >= total-tt.trusted, trusted, i)
				}
				require.True(t, w.Fresh())
			})
		})
	}
}
