package lifecycle_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

func reserveFeed(t testing.TB, c *lifecycle.Conn, id string, removed bool) *lifecycle.Handle {
	h, _, err := c.ReserveFeed(t.Context(), id, nil, removed)
	require.NoError(t, err)
	require.NotNil(t, h)
	h.Begin(0)
	return h
}

// fruit is an event that can be decoded.
func fruit(n int) *wire.Event {
	return wire.NewEvent(nostr.Event{
		ID: fmt.Sprintf("%064x", n), PubKey: strings.Repeat("0", 64), Sig: strings.Repeat("0", 128),
		Kind: 1, Content: fmt.Sprint("event ", n),
	})
}

// texts drains the queue and returns each frame in short, checking its length.
func texts(t testing.TB, c *lifecycle.Conn) []string {
	out := []string{}
	for range 20 {
		frames, _ := c.Take(nil, 1<<30)
		if len(frames) == 0 {
			break
		}
		for _, f := range frames {
			text := f.AppendTo(nil)
			require.Len(t, text, f.Len())
			m, err := wire.DecodeRelay(text)
			require.NoError(t, err, "%s", text)
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", m.Verb, m.Change, m.Text)))
		}
	}
	return out
}

func TestFeedFramesHaveTheLengthThatIsCounted(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	h := reserveFeed(t, c, `a"b`, true)
	for _, at := range []store.Position{1, 9, 10, 99, 1000, math.MaxInt64} {
		require.NoError(t, h.ReplayChange(t.Context(), at, fruit(1), false, nil))
		require.NoError(t, h.ReplayChange(t.Context(), at, fruit(1), true, nil))
	}
	require.Len(t, texts(t, c), 12)
	require.Zero(t, c.Usage().Bytes)
}

// The longest EOSE and ERR fit what was reserved when the generation began.
func TestTheEndOfAFeedFitsItsReservation(t *testing.T) {
	t.Parallel()
	epoch := strings.Repeat("e", 64)
	mark := wire.Mark{Cursor: wire.Cursor{Epoch: epoch, Position: math.MaxInt64}, More: true}
	log := wire.Log{Epoch: epoch, Floor: math.MaxInt64, Head: math.MaxInt64}
	for _, id := range []string{"x", strings.Repeat(`"`, 64)} {
		c := newConn(t)
		h := reserveFeed(t, c, id, false)
		_, err := h.GoLiveAt(mark)
		require.NoError(t, err)
		left := c.Usage().Reserved
		require.GreaterOrEqual(t, left, len(wire.AppendChangesErr(nil, id, wire.Because(wire.RateLimited, strings.Repeat(`"`, 200)), &log)))
		require.True(t, h.Resync(wire.Because(wire.Resync, "x"), log))
		require.Equal(t, []string{"CHANGES EOSE", "CHANGES ERR resync: x"}, append([]string{"CHANGES EOSE"}, texts(t, c)...))
		require.Zero(t, c.Usage())
	}
}

func TestWhatEndsAFeedIsSaidAsErr(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *lifecycle.Conn, h *lifecycle.Handle){
		"evicted": func(_ *lifecycle.Conn, h *lifecycle.Handle) { h.Evict(wire.Because(wire.Failed, "x")) },
		"drained": func(c *lifecycle.Conn, _ *lifecycle.Handle) { c.EvictAll(wire.Because(wire.Failed, "x")) },
		"no room": func(_ *lifecycle.Conn, h *lifecycle.Handle) {
			for n := store.Position(1); h.Deliver(n, large(1000), nil) != lifecycle.Ended; n++ {
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newConn(t)
			h := reserveFeed(t, c, "x", false)
			_, err := h.GoLiveAt(wire.Mark{})
			require.NoError(t, err)
			texts(t, c)
			end(c, h)
			got := texts(t, c)
			require.Len(t, got, 1)
			require.True(t, strings.HasPrefix(got[0], "CHANGES ERR error: "), got)
			require.False(t, h.Current())
			require.Zero(t, c.Usage())
		})
	}
}

func TestCloseOfAFeedIsAcknowledgedWithClosed(t *testing.T) {
	t.Parallel()
	c := newConn(t, func(o *lifecycle.Options) { o.CloseAck = true })
	reserveFeed(t, c, "x", false)
	c.Release("x")
	require.Equal(t, []string{"CLOSED"}, texts(t, c))
}

func TestRemovalsAreForFeedsThatAskedForThem(t *testing.T) {
	t.Parallel()
	c := newConn(t)
	req, plain, asked := goLive(t, c, "r"), reserveFeed(t, c, "p", false), reserveFeed(t, c, "a", true)
	require.Equal(t, lifecycle.Dropped, req.DeliverRemoved(1, fruit(1), nil))
	require.Equal(t, lifecycle.Dropped, plain.DeliverRemoved(1, fruit(1), nil))
	require.Equal(t, lifecycle.Held, asked.DeliverRemoved(1, fruit(1), nil))
	_, err := asked.GoLiveAt(wire.Mark{})
	require.NoError(t, err)
	require.Equal(t, lifecycle.Dropped, asked.DeliverRemoved(1, fruit(1), nil))
	require.Equal(t, lifecycle.Queued, asked.DeliverRemoved(2, fruit(2), nil))
	require.Equal(t, []string{"CHANGES EOSE", "CHANGES REMOVED", "CHANGES REMOVED"}, texts(t, c))
}

func TestACompletedFeedIsCurrentUntilItsEndIsTaken(t *testing.T) {
	t.Parallel()
	why := wire.Because(wire.Failed, "more")
	complete := func(t *testing.T, why *wire.Reason) (*lifecycle.Conn, *lifecycle.Handle) {
		c := newConn(t)
		h := reserveFeed(t, c, "x", false)
		require.NoError(t, h.ReplayChange(t.Context(), 1, fruit(1), false, nil))
		require.NoError(t, h.Complete(wire.Mark{}, why))
		require.True(t, h.Current())
		require.Error(t, h.Context().Err())
		return c, h
	}
	t.Run("taken", func(t *testing.T) {
		t.Parallel()
		c, h := complete(t, nil)
		require.Equal(t, []string{"CHANGES EVENT", "CHANGES EOSE"}, texts(t, c))
		require.False(t, h.Current())
		require.Zero(t, c.Usage())
	})
	t.Run("taken, with a reason", func(t *testing.T) {
		t.Parallel()
		c, h := complete(t, &why)
		require.Equal(t, []string{"CHANGES EVENT", "CHANGES EOSE", "CHANGES ERR error: more"}, texts(t, c))
		require.False(t, h.Current())
		require.Zero(t, c.Usage())
	})
	t.Run("closed before", func(t *testing.T) {
		t.Parallel()
		c, h := complete(t, &why)
		require.Same(t, h, c.Release("x"))
		require.Empty(t, texts(t, c))
		require.Zero(t, c.Usage())
	})
	t.Run("replaced before", func(t *testing.T) {
		t.Parallel()
		c, h := complete(t, &why)
		_, old, err := c.Reserve(t.Context(), "x", nil)
		require.NoError(t, err)
		require.Same(t, h, old)
		require.Empty(t, texts(t, c))
		require.Equal(t, 1, c.Usage().Subscriptions)
	})
	t.Run("evicted before", func(t *testing.T) {
		t.Parallel()
		c, h := complete(t, &why)
		require.True(t, h.Evict(wire.Because(wire.Restricted, "no")))
		require.Equal(t, []string{"CHANGES ERR restricted: no"}, texts(t, c))
		require.Zero(t, c.Usage())
	})
	t.Run("closed after its end was taken, before the reason", func(t *testing.T) {
		t.Parallel()
		c, _ := complete(t, &why)
		frames, _ := c.Take(nil, 1<<30)
		require.Len(t, frames, 2)
		require.Nil(t, c.Release("x"))
		require.Empty(t, texts(t, c), "the client would take it for the answer to what comes next")
	})
	t.Run("nothing is held any more", func(t *testing.T) {
		t.Parallel()
		c, h := complete(t, nil)
		require.Equal(t, lifecycle.Held, h.Deliver(5, fruit(5), nil))
		require.Equal(t, []string{"CHANGES EVENT", "CHANGES EOSE"}, texts(t, c))
		require.Zero(t, c.Usage())
	})
	t.Run("retired before it completes", func(t *testing.T) {
		t.Parallel()
		c := newConn(t)
		h := reserveFeed(t, c, "x", false)
		c.Release("x")
		require.ErrorIs(t, h.Complete(wire.Mark{}, nil), lifecycle.ErrRetired)
		require.False(t, h.Resync(wire.Because(wire.Resync, "x"), wire.Log{}))
		require.Empty(t, texts(t, c))
	})
}

// G4: what is queued of a feed is decided about again, and what was removed by the
// rule for what was removed.
func TestAChangeIsDecidedAboutAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here, gone := newRule(), newRule()
		gone.scope = here.scope
		c := newConn(t, func(o *lifecycle.Options) { o.Sight, o.SightOfRemoved = here.sight, gone.sight })
		h := reserveFeed(t, c, "x", true)
		for n := 1; n <= 3; n++ {
			require.NoError(t, h.ReplayChange(t.Context(), store.Position(n), fruit(n), n > 1, lifecycle.NewGrant(here.scope)))
		}
		require.NoError(t, h.Complete(wire.Mark{}, nil))
		here.revoke(5, 2, 3)
		gone.revoke(5, 1, 2)
		require.Empty(t, texts(t, c), "EOSE waits behind what is undecided")
		synctest.Wait()
		require.Equal(t, []string{"CHANGES EVENT", "CHANGES REMOVED", "CHANGES EOSE"}, texts(t, c))
		require.Zero(t, c.Usage())
	})
}
