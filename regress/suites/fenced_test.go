package suites_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/fence"
	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

const fencedLease = 10 * time.Second

var fencedStream = fence.Stream{Owner: harness.Self, Name: "s"}

func fencedChange(t *testing.T, r *harness.Relay, expected, fresh string, active bool) error {
	t.Helper()
	c := fence.Change{Expected: fence.TokenOf(expected), New: fence.TokenOf(fresh), Active: active, Lease: fencedLease}
	return r.Store.Append(t.Context(), []store.Write{{Fence: &store.Fence{Stream: fencedStream, Change: &c}}})[0].Err
}

func fencedNote(t *testing.T, content string) *wire.Event {
	t.Helper()
	e := nostr.Event{Kind: 1, CreatedAt: nostr.Now(), Content: content}
	require.NoError(t, e.Sign(harness.Secret))
	return wire.NewEvent(e)
}

// An owner is stopped on its way to the commit, or on its way back, while something
// happens to its fence (P2, P3, P6).
func TestAFrameOnItsWayMeetsAChangeOfItsFence(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		point   pause.Point
		elapsed time.Duration
		change  func(t *testing.T, r *harness.Relay) error // nil: none
		refused bool
	}{
		"replaced before the commit": {pause.EventPlanned, fencedLease, func(t *testing.T, r *harness.Relay) error {
			return fencedChange(t, r, "", "two", true)
		}, true},
		"handed over before the commit": {pause.EventPlanned, 0, func(t *testing.T, r *harness.Relay) error {
			return fencedChange(t, r, "one", "two", true)
		}, true},
		"revoked before the commit": {pause.EventPlanned, 0, func(t *testing.T, r *harness.Relay) error {
			return fencedChange(t, r, "one", "one", false)
		}, true},
		"only past its lease": {pause.EventPlanned, 2 * fencedLease, nil, false},
		"replaced after the commit": {pause.EventCommitted, 0, func(t *testing.T, r *harness.Relay) error {
			return fencedChange(t, r, "one", "two", true)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				control := harness.NewController()
				r := harness.New(t, harness.Options{Control: control})
				require.NoError(t, fencedChange(t, r, "", "one", true))
				stopped := control.Arm(row.point)
				f := &store.Fence{Stream: fencedStream, Token: fence.TokenOf("one")}
				done := make(chan store.Outcome, 1)
				ctx, note := t.Context(), fencedNote(t, "of the first owner")
				go func() {
					out, _ := r.Handlers.Publish(ctx, nil, note, f)
					done <- out
				}()
				synctest.Wait()
				<-time.After(row.elapsed)
				if row.change != nil {
					require.NoError(t, row.change(t, r))
				}
				stopped.Release()
				out := <-done
				require.Equal(t, row.refused, store.Refused(out.Err), out.Err)
				rows, err := r.Store.ReadLog(t.Context(), 0, 10)
				require.NoError(t, err)
				require.Len(t, rows, map[bool]int{true: 0, false: 1}[row.refused])
			})
		})
	}
}
