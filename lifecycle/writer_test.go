package lifecycle_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

// sleeper is a connection whose writer writes nothing: it is over when the
// connection closes, and otherwise leaves the taking to the test.
func sleeper(t testing.TB) (c *lifecycle.Conn, starts *atomic.Int32) {
	starts = new(atomic.Int32)
	c = newConn(t, func(o *lifecycle.Options) {
		o.Write = func(context.Context) (over bool) {
			starts.Add(1)
			return c.Cause() != lifecycle.Cause{}
		}
	})
	t.Cleanup(func() {
		drain(c)
		c.Close(lifecycle.Cause{Code: 1000})
	})
	return c, starts
}

// drain takes until there is nothing, as a writer does.
func drain(c *lifecycle.Conn) {
	for len(take(c)) > 0 {
	}
}

func TestWhateverIsQueuedWakesTheWriter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, starts := sleeper(t)
		h := reserve(t, c, "a")
		h.Begin(0)
		answer, err := c.ReserveAnswer(t.Context())
		require.NoError(t, err)
		steps := []struct {
			name string
			do   func()
		}{
			{"a stored event", func() { require.NoError(t, h.Replay(t.Context(), event(1), nil)) }},
			{"EOSE", func() { _, _ = h.GoLive(wire.HintFinish) }}, // takes no error here
			{"a live event", func() { h.Deliver(2, event(2), nil) }},
			{"CLOSED", func() { h.Evict(why) }},
			{"an answer", func() { answer.Send(wire.AppendNotice(nil, why)) }},
			{"an unsolicited frame", func() { c.Notify(wire.AppendNotice(nil, why)) }},
			{"the end", func() { c.Close(lifecycle.Cause{Code: 1000}) }},
		}
		for _, step := range steps {
			drain(c)
			synctest.Wait()
			before := starts.Load()
			step.do()
			synctest.Wait()
			require.EqualValues(t, 1, starts.Load()-before, step.name)
		}
		<-c.Written()
	})
}

// The writer has found nothing and is about to end: what is queued now starts
// another one, which does not wait for the first.
func TestWriterThatIsEndingLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ending := make(chan struct{})
		var starts atomic.Int32
		var wrote []string
		var c *lifecycle.Conn
		c = newConn(t, func(o *lifecycle.Options) {
			o.Write = func(context.Context) (over bool) {
				n := starts.Add(1)
				for {
					frames, done := c.Take(nil, 1)
					for _, f := range frames {
						wrote = append(wrote, brief(f))
					}
					switch {
					case done:
						return true
					case len(frames) == 0 && n == 1:
						<-ending
						return false
					case len(frames) == 0:
						return false
					}
				}
			}
		})
		c.Notify(wire.AppendNotice(nil, why))
		c.Notify(wire.AppendAuth(nil, "x"))
		synctest.Wait()
		require.Equal(t, []string{"NOTICE", "AUTH"}, wrote, "the first has written both and is about to end")
		require.EqualValues(t, 1, starts.Load())

		c.Notify(wire.AppendNotice(nil, why))
		synctest.Wait()
		require.Len(t, wrote, 3)
		close(ending)
		synctest.Wait()
		c.Notify(wire.AppendNotice(nil, why))
		synctest.Wait()
		require.Len(t, wrote, 4, "the end of the first changes nothing")
		require.EqualValues(t, 3, starts.Load())
		c.Close(lifecycle.Cause{Code: 1000})
		<-c.Written()
	})
}

// Whichever of a wake-up and the writer's end comes first, all is written.
func TestWakeUpsAgainstTheEndOfTheWriter(t *testing.T) {
	t.Parallel()
	const n = 20_000
	var wrote, running, most atomic.Int32
	var c *lifecycle.Conn
	c = newConn(t, func(o *lifecycle.Options) {
		o.Write = func(context.Context) (over bool) {
			for {
				frames, done := c.Take(nil, 1<<20)
				if len(frames) == 0 {
					return done // another one may run already
				}
				most.Store(max(most.Load(), running.Add(1)))
				wrote.Add(int32(len(frames)))
				running.Add(-1)
			}
		}
	})
	for range n {
		a, err := c.ReserveAnswer(t.Context()) // waits for the writer, and for ever if it sleeps
		require.NoError(t, err)
		a.Send([]byte("x"))
	}
	c.Close(lifecycle.Cause{Code: 1000})
	<-c.Written()
	require.EqualValues(t, n, wrote.Load())
	require.EqualValues(t, 1, most.Load())
}

func TestGroupWaitsForTheWriterThatSleeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := sleeper(t)
		drain(c)
		require.Equal(t, map[string]int{"writer": 1}, c.Group().Running())
		c.Close(lifecycle.Cause{Code: 1000})
		<-c.Written()
		c.Finish()
		require.NoError(t, c.Group().Wait(t.Context()))
	})
}

func TestGiveUpEndsAWriterThatWaitsForAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c *lifecycle.Conn
		c = newConn(t, func(o *lifecycle.Options) {
			o.Write = func(context.Context) (over bool) {
				_, over = c.Take(nil, 1<<20)
				return over
			}
		})
		answer, err := c.ReserveAnswer(t.Context())
		require.NoError(t, err)
		c.Close(lifecycle.Cause{Code: 1000})
		synctest.Wait()
		require.False(t, closed(c.Written()), "an answer is due")
		c.GiveUp()
		<-c.Written()
		answer.Drop()
	})
}

func TestPanicOfTheWriterIsItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConn(t, func(o *lifecycle.Options) {
			o.Write = func(context.Context) (over bool) { panic("boom") }
		})
		c.Notify(wire.AppendNotice(nil, why))
		<-c.Written()
		require.ErrorContains(t, <-c.Group().Failed(), "panic in writer: boom")
		require.Error(t, c.Group().Context().Err())
		require.NoError(t, c.Group().Wait(t.Context()))
	})
}
