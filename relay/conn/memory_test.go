package conn_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/conn"
	"fencepost/relay/wire"
)

// begin serves m and returns its connection and a channel that is closed when
// nothing of it is left.
func begin(ctx context.Context, r *relay, m *memory) (*lifecycle.Conn, <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Serve(ctx, m, lifecycle.Peer{})
	}()
	return <-r.opened, done
}

// inBubble runs test with a relay in memory; nothing may be left at its end.
func inBubble(t *testing.T, s session, change func(o *conn.Options), test func(t *testing.T, r *relay)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := newRelay(t, ctx, s, change)
		test(t, r)
		r.gone(t)
	})
}

func TestMessagesAreHandledInOrderAndAnswersGoOutTogether(t *testing.T) {
	inBubble(t, session{}, nil, func(t *testing.T, r *relay) {
		m := newMemory()
		_, done := begin(t.Context(), r, m)
		m.in <- []byte("one")
		m.in <- []byte("two")
		synctest.Wait()
		require.Equal(t, []string{"one", "two"}, m.said())
		require.Equal(t, 6, r.counts.in)
		require.Equal(t, 6, r.counts.out)
		close(m.in)
		<-done
		require.Equal(t, map[string]int{"lost": 1}, r.reasons())
	})
}

func TestAConnectionThatWasAdmittedBeforeTheDrainEndsItself(t *testing.T) {
	inBubble(t, session{}, nil, func(t *testing.T, r *relay) {
		r.Refuse()
		m := newMemory()
		_, done := begin(t.Context(), r, m)
		<-done
		require.Equal(t, map[string]int{"going_away": 1}, r.reasons())
	})
}

func TestADeadPeerIsNoticedAlthoughItHasSubscriptions(t *testing.T) {
	var stopped bool
	var ended []*lifecycle.Handle
	s := session{
		handle: func(ctx context.Context, c *lifecycle.Conn, msg []byte) {
			h, _, err := c.Reserve(ctx, string(msg), nil)
			if err != nil {
				return
			}
			c.Query(h.Context(), "query", func(context.Context) {
				<-h.Context().Done()
				stopped = true
			})
		},
		onEnd: func(e []*lifecycle.Handle) { ended = append(ended, e...) },
	}
	inBubble(t, s, withPings, func(t *testing.T, r *relay) {
		m := newMemory()
		m.pongs = false
		start := time.Now()
		_, done := begin(t.Context(), r, m)
		m.in <- []byte("a")
		<-done
		require.LessOrEqual(t, time.Since(start), 40*time.Second)
		require.True(t, stopped, "its running queries stop")
		require.Len(t, ended, 1)
		require.Equal(t, "a", ended[0].ID())
		require.Equal(t, map[string]int{"dead": 1}, r.reasons())
	})
}

func withPings(o *conn.Options) { o.PingInterval, o.PongTimeout = 30*time.Second, 10*time.Second }

func TestAPeerThatAnswersPingsStays(t *testing.T) {
	inBubble(t, session{}, withPings, func(t *testing.T, r *relay) {
		m := newMemory()
		c, done := begin(t.Context(), r, m)
		select {
		case <-done:
			require.Fail(t, "the connection ended")
		case <-time.After(time.Hour):
		}
		require.InDelta(t, 120, m.pinged(), 2)
		c.Close(lifecycle.Cause{Code: 1000})
		<-done
	})
}

func TestASlowHandlerDoesNotMakeItsPeerDead(t *testing.T) {
	busy := func(ctx context.Context, c *lifecycle.Conn, msg []byte) {
		select {
		case <-time.After(5 * time.Minute):
			echo(ctx, c, msg)
		case <-ctx.Done():
		}
	}
	inBubble(t, session{handle: busy}, withPings, func(t *testing.T, r *relay) {
		m := newMemory()
		m.pongs = false // the reader that would see the pong is busy
		c, done := begin(t.Context(), r, m)
		m.in <- []byte("x")
		<-time.After(5 * time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"x"}, m.said())
		c.Close(lifecycle.Cause{Code: 1000})
		<-done
	})
}

func TestAClientThatDoesNotReadIsCutWithoutDelayingOthers(t *testing.T) {
	inBubble(t, session{}, nil, func(t *testing.T, r *relay) {
		slow, healthy := newMemory(), newMemory()
		slow.stuck = true
		start := time.Now()
		_, slowDone := begin(t.Context(), r, slow)
		c, done := begin(t.Context(), r, healthy)
		slow.in <- []byte("x")
		healthy.in <- []byte("y")
		synctest.Wait()
		require.Equal(t, []string{"y"}, healthy.said())
		require.Zero(t, time.Since(start))
		<-slowDone
		require.Equal(t, 10*time.Second, time.Since(start), "the write timeout")
		require.Equal(t, map[string]int{"slow": 1}, r.reasons())
		c.Close(lifecycle.Cause{Code: 1000})
		<-done
	})
}

func TestAnswersThatAreDueAreFlushedBeforeTheCloseFrame(t *testing.T) {
	answers := make(chan lifecycle.Answer, 1)
	s := session{handle: func(ctx context.Context, c *lifecycle.Conn, _ []byte) {
		a, _ := c.ReserveAnswer(ctx)
		answers <- a
	}}
	inBubble(t, s, nil, func(t *testing.T, r *relay) {
		m := newMemory()
		c, done := begin(t.Context(), r, m)
		m.in <- []byte("event")
		a := <-answers
		c.Close(lifecycle.Cause{Code: 1008, Text: "blocked: no"})
		synctest.Wait()
		require.Empty(t, m.said(), "the close frame waits for the answer")
		<-time.After(4 * time.Second)
		a.Send([]byte("OK"))
		<-done
		require.Equal(t, []string{"OK", closePayload(1008, "blocked: no")}, m.said())
		require.Equal(t, map[string]int{"policy": 1}, r.reasons())
	})
}

func TestFlushingIsBounded(t *testing.T) {
	tests := map[string]struct {
		stuck  bool
		handle func(ctx context.Context, c *lifecycle.Conn, msg []byte)
	}{
		"by an answer that does not come": {handle: func(ctx context.Context, c *lifecycle.Conn, _ []byte) {
			_, _ = c.ReserveAnswer(ctx)
		}},
		"by a client that does not read": {stuck: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			patient := func(o *conn.Options) { o.WriteTimeout = time.Hour }
			inBubble(t, session{handle: tt.handle}, patient, func(t *testing.T, r *relay) {
				m := newMemory()
				m.stuck = tt.stuck
				c, done := begin(t.Context(), r, m)
				m.in <- []byte("x")
				synctest.Wait()
				start := time.Now()
				c.Close(lifecycle.Cause{Code: 1008})
				<-done
				require.Equal(t, 5*time.Second, time.Since(start))
			})
		})
	}
}

func TestWhatHandleWaitsForEndsWithTheConnection(t *testing.T) {
	s := session{handle: func(ctx context.Context, c *lifecycle.Conn, _ []byte) {
		<-ctx.Done()
		_, err := c.ReserveAnswer(ctx)
		if err == nil {
			panic("a closing connection takes no more work")
		}
	}}
	inBubble(t, s, nil, func(t *testing.T, r *relay) {
		m := newMemory()
		c, done := begin(t.Context(), r, m)
		m.in <- []byte("x")
		synctest.Wait() // Handle waits
		start := time.Now()
		c.Close(lifecycle.Cause{Code: 1008})
		<-done
		require.Zero(t, time.Since(start))
		require.Zero(t, r.counts.panics)
	})
}

func TestTheEndOfTheServerEndsConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := newRelay(t, ctx, session{}, nil)
		m := newMemory()
		_, done := begin(t.Context(), r, m)
		cancel()
		<-done
		require.Equal(t, []string{closePayload(1001, "the relay is shutting down")}, m.said())
		require.Equal(t, map[string]int{"going_away": 1}, r.reasons())
		r.gone(t)
		late := newMemory()
		r.Serve(t.Context(), late, lifecycle.Peer{})
		<-late.gone
	})
}

func TestConnectionsLeaveNothingBehind(t *testing.T) {
	reserve := func(ctx context.Context, c *lifecycle.Conn, msg []byte) {
		if h, _, err := c.Reserve(ctx, string(msg), nil); err == nil {
			_, _ = h.GoLive(wire.HintFinish)
		}
	}
	inBubble(t, session{handle: reserve}, withPings, func(t *testing.T, r *relay) {
		var all []<-chan struct{}
		for i := range 500 {
			m := newMemory()
			m.pongs = i%4 != 3
			c, done := begin(t.Context(), r, m)
			all = append(all, done)
			m.in <- []byte("a")
			m.in <- []byte("b")
			switch i % 4 {
			case 0:
				close(m.in)
			case 1:
				m.CloseNow()
			case 2:
				c.Close(lifecycle.Cause{Code: 1008})
			}
		}
		for _, done := range all {
			<-done
		}
		require.Zero(t, r.registry.Len())
		require.Equal(t, map[string]int{"lost": 250, "policy": 125, "dead": 125}, r.reasons())
	})
}

func TestPausePointsOfAConnection(t *testing.T) {
	if !pause.Enabled {
		t.Log("this build cannot pause")
		return
	}
	ended := 0
	s := session{onEnd: func(e []*lifecycle.Handle) { ended = len(e) }}
	var at chan pause.Point // of the bubble
	parking := func(o *conn.Options) {
		at = make(chan pause.Point)
		o.Pause = pause.NewHook(func(p pause.Point) { at <- p })
	}
	inBubble(t, s, parking, func(t *testing.T, r *relay) {
		m := newMemory()
		c, done := begin(t.Context(), r, m)
		h, _, err := c.Reserve(t.Context(), "a", nil)
		require.NoError(t, err)
		require.True(t, c.Notify(wire.AppendAuth(nil, "x")))
		synctest.Wait()
		require.Empty(t, m.said(), "taken and not written")
		require.Zero(t, c.Usage().Frames)
		require.Equal(t, pause.WriteTaken, <-at)
		synctest.Wait()
		require.Len(t, m.said(), 1)
		close(m.in)
		synctest.Wait()
		require.False(t, h.Current())
		require.Zero(t, ended)
		require.Equal(t, pause.ConnClosed, <-at)
		<-done
		require.Equal(t, 1, ended)
	})
}
