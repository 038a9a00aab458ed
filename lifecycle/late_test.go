package lifecycle_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// R6: the high-water mark says nothing about rows that were deferred.
func TestDeferredRowsComeOutOfOrderAndOnce(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		at   store.Position
		want lifecycle.Delivery
	}{
		{"above A", 12, lifecycle.Queued},
		{"above A and the high-water mark", 25, lifecycle.Queued},
		{"deferred when A was read", 7, lifecycle.Queued},
		{"stored", 8, lifecycle.Dropped},
		{"at A", 10, lifecycle.Dropped},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := newConn(t)
			h := reserve(t, c, "a")
			h.Begin(10, 3, 7)
			ok, err := h.GoLive(wire.HintFinish)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, lifecycle.Queued, h.Deliver(20, event(20), nil))
			require.Equal(t, row.want, h.DeliverLate(row.at, event(int(row.at)), nil))
			require.Equal(t, lifecycle.Dropped, h.Deliver(20, event(20), nil), "the mark stays where it was")
			require.Equal(t, row.want == lifecycle.Queued, h.EvictOwed(row.at, wire.Because(wire.Failed, "lost")))
			require.Equal(t, row.want == lifecycle.Dropped, h.Current())
		})
	}
}

// Before A is known everything is held, and judged when the replay ends.
func TestDeferredRowsWaitForTheReplay(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	h := reserve(t, c, "a")
	require.Equal(t, lifecycle.Held, h.DeliverLate(3, event(3), nil))
	require.Equal(t, lifecycle.Held, h.DeliverLate(4, event(4), nil))
	h.Begin(10, 4)
	require.Equal(t, lifecycle.Held, h.Deliver(11, event(11), nil))
	require.Equal(t, lifecycle.Held, h.DeliverLate(12, event(12), nil))
	require.Equal(t, lifecycle.Dropped, h.DeliverLate(5, event(5), nil))
	ok, err := h.GoLive(wire.HintFinish)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, lifecycle.Dropped, h.Deliver(11, event(11), nil))
	require.Equal(t, []string{"EOSE a", "EVENT a 4", "EVENT a 11", "EVENT a 12"}, take(c))
}

func TestARowThatIsGivenUpEndsWhoIsOwedIt(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	lost := wire.Because(wire.Failed, "lost")
	pending, live := reserve(t, c, "a"), goLive(t, c, "b")
	require.True(t, pending.EvictOwed(1, lost), "it may wait for it")
	require.False(t, pending.EvictOwed(1, lost))
	require.True(t, live.EvictOwed(1, lost))
	require.Equal(t, []string{"CLOSED a", "CLOSED b"}, take(c))
}
