package handlers_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/handlers"
	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// What a REQ that is replaced at once would put into the index is thousands of
// entries; hundreds of them at a time filled gigabytes.
func TestAReplacedQueryNeverReachesTheIndex(t *testing.T) {
	t.Parallel()
	if !pause.Enabled {
		t.Skip("this build has no pause points")
	}
	synctest.Test(t, func(t *testing.T) {
		o := harness.Options{Control: harness.NewController(), Limits: harness.DefaultLimits()}
		o.Limits.Queries = 1
		c := harness.New(t, o).Connect(t)
		stands := o.Control.Arm(pause.ReqSnapshot)
		c.Send(`["REQ","a",{}]`)
		synctest.Wait()
		require.True(t, stands.Parked())
		started := o.Control.Arm(pause.ReqStarted)
		c.Send(`["REQ","b",{}]`) // waits for the place of a
		c.Send(`["CLOSE","b"]`)
		synctest.Wait()
		require.False(t, started.Parked())
	})
}

func TestTheFiltersOfAConnectionAreWeighed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := harness.Options{Limits: harness.DefaultLimits()}
		o.Limits.Weight = 8
		c := harness.New(t, o).Connect(t)
		c.Send(`["REQ","a",{"kinds":[1,2,3,4]}]`) // four values and a filter
		require.Equal(t, []string{`["EOSE","a",["finish"]]`}, c.Settle())
		require.Equal(t, 5, c.Conn.Usage().Weight)

		const over = "rate-limited: too many filter values on this connection"
		const counts = "rate-limited: too many COUNTs, or filter values in them, wait on this connection"
		c.Send(`["REQ","b",{"kinds":[1,2,3]}]`)
		c.Send(`["COUNT","c",{"kinds":[1,2,3]}]`)
		require.Equal(t, []string{`["CLOSED","b","` + over + `"]`, `["CLOSED","c","` + counts + `"]`}, c.Settle())
		c.Send(`["COUNT","c",{"kinds":[1]}]`)
		require.Equal(t, []string{`["COUNT","c",{"count":0}]`}, c.Settle())
		require.Equal(t, 5, c.Conn.Usage().Weight, "a COUNT gives its weight back")

		c.Send(`["REQ","a",{"kinds":[1,2,3,4,5,6,7]}]`)
		require.Equal(t, []string{`["EOSE","a",["finish"]]`}, c.Settle(), "the older one makes room")
		c.Send(`["CLOSE","a"]`)
		c.Settle()
		require.Equal(t, lifecycle.Usage{}, c.Conn.Usage())
	})
}

// A COUNT that waits holds a goroutine, however few values it has.
func TestWaitingCountsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		control := harness.NewController()
		c := harness.New(t, harness.Options{Control: control}).Connect(t)
		var stops []*harness.Stop
		for range harness.DefaultLimits().Queries {
			stops = append(stops, control.Arm(pause.ReqSnapshot))
		}
		for range 100 {
			c.Send(`["COUNT","c",{"kinds":[1]}]`)
		}
		require.Len(t, c.Settle(), 36, "refused at once")
		for _, s := range stops {
			s.Release()
		}
		require.Len(t, c.Settle(), 64)
		c.Send(`["COUNT","c",{"kinds":[1]}]`)
		require.Equal(t, []string{`["COUNT","c",{"count":0}]`}, c.Settle())
	})
}

func TestValuesAreCappedOverAllFilters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := harness.New(t, harness.Options{Handlers: handlers.Limits{Values: 3}}).Connect(t)
		for _, verb := range []string{"REQ", "COUNT"} {
			c.Send(fmt.Sprintf(`[%q,"a",{"kinds":[1,2]},{"#t":["x","y"]}]`, verb))
			require.Equal(t, []string{`["CLOSED","a","invalid: more than 3 values in all filters"]`}, c.Settle())
		}
	})
}

// endless is a store whose queries work until they are told to stop.
type endless struct{ store.Store }

func (e endless) Snapshot(ctx context.Context) (store.Snapshot, error) {
	s, err := e.Store.Snapshot(ctx)
	return endlessSnapshot{s}, err
}

type endlessSnapshot struct{ store.Snapshot }

func (s endlessSnapshot) Query(ctx context.Context, f []*wire.Filter, o store.QueryOptions) (store.Rows, error) {
	rows, err := s.Snapshot.Query(ctx, f, o)
	return endlessRows{rows}, err
}

func (endlessSnapshot) Count(ctx context.Context, _ []*wire.Filter, _ int, _ func(*wire.Event) bool) (int, bool, error) {
	<-ctx.Done()
	return 0, false, fmt.Errorf("count: %w", ctx.Err())
}

// slow is a store of which each page takes six tenths of a second.
type slow struct{ store.Store }

func (e slow) Snapshot(ctx context.Context) (store.Snapshot, error) {
	s, err := e.Store.Snapshot(ctx)
	return slowSnapshot{s}, err
}

type slowSnapshot struct{ store.Snapshot }

func (s slowSnapshot) Query(ctx context.Context, f []*wire.Filter, o store.QueryOptions) (store.Rows, error) {
	rows, err := s.Snapshot.Query(ctx, f, o)
	return slowRows{rows}, err
}

type slowRows struct{ store.Rows }

func (r slowRows) Next(ctx context.Context, dst []store.Record, _ int) ([]store.Record, error) {
	select {
	case <-time.After(600 * time.Millisecond):
		return r.Rows.Next(ctx, dst, 1)
	case <-ctx.Done():
		return dst, ctx.Err()
	}
}

func TestTheTimeOfAQueryIsThatOfAllItsPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := harness.New(t, harness.Options{
			Handlers: handlers.Limits{QueryTimeout: time.Second},
			Wrap:     func(s store.Store) store.Store { return slow{s} },
		})
		r.Commit(t, storetest.Draft{Kind: 1, At: 1}.Event(), storetest.Draft{Kind: 1, At: 2}.Event())
		c := r.Connect(t)
		c.Send(`["REQ","a",{}]`)
		<-time.After(700 * time.Millisecond)
		require.Len(t, c.Settle(), 1, "the first page")
		<-time.After(time.Minute)
		require.Equal(t, []string{`["CLOSED","a","error: the query takes too long, ask for less"]`}, c.Settle())
	})
}

type endlessRows struct{ store.Rows }

func (endlessRows) Next(ctx context.Context, dst []store.Record, _ int) ([]store.Record, error) {
	<-ctx.Done()
	return dst, fmt.Errorf("scan: %w", ctx.Err())
}

func TestAQueryThatTakesTooLongIsEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := harness.New(t, harness.Options{
			Handlers: handlers.Limits{QueryTimeout: time.Second},
			Wrap:     func(s store.Store) store.Store { return endless{s} },
		})
		c := r.Connect(t)
		c.Send(`["REQ","a",{}]`)
		c.Send(`["COUNT","b",{}]`)
		require.Empty(t, c.Settle())
		<-time.After(time.Second)
		const why = "error: the query takes too long, ask for less"
		require.ElementsMatch(t, []string{`["CLOSED","a","` + why + `"]`, `["CLOSED","b","` + why + `"]`}, c.Settle())
		require.Zero(t, r.Index.Len())
	})
}
