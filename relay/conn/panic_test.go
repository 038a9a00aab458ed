package conn_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/conn"
)

func TestAPanicEndsItsConnectionAndNoOther(t *testing.T) {
	inQuery := func(_ context.Context, c *lifecycle.Conn, msg []byte) {
		if string(msg) == "boom" {
			c.Query(context.Background(), "query", func(context.Context) { panic("in a query") })
			return
		}
		c.Notify(msg)
	}
	inHandle := func(_ context.Context, c *lifecycle.Conn, msg []byte) {
		if string(msg) == "boom" {
			panic("in Handle")
		}
		c.Notify(msg)
	}
	tests := map[string]session{
		"in a query": {handle: inQuery},
		"in Handle":  {handle: inHandle},
	}
	for name, s := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, s, nil, func(t *testing.T, r *relay) {
				bad, good := newMemory(), newMemory()
				_, badDone := begin(t.Context(), r, bad)
				c, done := begin(t.Context(), r, good)
				bad.in <- []byte("boom")
				<-badDone
				require.Equal(t, []string{closePayload(1011, "internal error")}, bad.said())
				good.in <- []byte("still here")
				synctest.Wait()
				require.Equal(t, []string{"still here"}, good.said())
				c.Close(lifecycle.Cause{Code: 1000})
				<-done
				require.Equal(t, 1, r.counts.panics)
				require.Equal(t, map[string]int{"panic": 1, "normal": 1}, r.reasons())
			})
		})
	}
}

func TestAPanicAtTheEdgesOfASessionEndsItsConnection(t *testing.T) {
	t.Run("in Open", func(t *testing.T) {
		open := func(o *conn.Options) { o.Open = func(*lifecycle.Conn) conn.Session { panic("in Open") } }
		inBubble(t, session{}, open, func(t *testing.T, r *relay) {
			m := newMemory()
			r.Serve(t.Context(), m, lifecycle.Peer{})
			require.Equal(t, []string{closePayload(1011, "internal error")}, m.said())
			require.Equal(t, 1, r.counts.panics)
		})
	})
	t.Run("in End", func(t *testing.T) {
		s := session{onEnd: func([]*lifecycle.Handle) { panic("in End") }}
		inBubble(t, s, nil, func(t *testing.T, r *relay) {
			m := newMemory()
			c, done := begin(t.Context(), r, m)
			c.Close(lifecycle.Cause{Code: 1008})
			<-done
			require.Equal(t, 1, r.counts.panics)
			require.Zero(t, r.registry.Len())
		})
	})
}
