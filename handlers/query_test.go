//go:build !nopause

package handlers_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
)

// Every place is taken by a query that stands. One that waits for a place
// leaves when its subscription ends, whatever ends it.
func TestAQueryThatIsNoLongerWantedDoesNotWaitForItsPlace(t *testing.T) {
	t.Parallel()
	for _, end := range []string{`["CLOSE","b"]`, `["REQ","b",null]`} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			o := harness.Options{Limits: harness.DefaultLimits()}
			o.Limits.Queries = 1
			synctest.Test(t, func(t *testing.T) {
				o := o
				o.Control = harness.NewController()
				c := harness.New(t, o).Connect(t)
				stands := o.Control.Arm(pause.ReqSnapshot)
				c.Send(`["REQ","a",{}]`)
				synctest.Wait()
				require.True(t, stands.Parked())
				c.Send(`["REQ","b",{}]`)
				synctest.Wait()
				require.Equal(t, 2, c.Conn.Group().Running()["req"])
				c.Send(end)
				synctest.Wait()
				require.Equal(t, 1, c.Conn.Group().Running()["req"])
			})
		})
	}
}
