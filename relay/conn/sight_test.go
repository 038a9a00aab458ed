package conn_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/conn"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// Events go through the writer once somebody has decided about them; when nobody
// can, their subscription ends and is handed over.
func TestFramesAreDecidedAboutWithWhatTheRelaySays(t *testing.T) {
	deliver := func(ctx context.Context, c *lifecycle.Conn, msg []byte) {
		h, _, err := c.Reserve(ctx, string(msg), []*wire.Filter{wire.NewFilter(nostr.Filter{})})
		require.NoError(t, err)
		h.Begin(0)
		_, err = h.GoLive(wire.HintFinish)
		require.NoError(t, err)
		for kind := range 3 {
			h.Deliver(store.Position(1+kind), storetest.Draft{Kind: kind}.Event(), lifecycle.Undecided)
		}
	}
	sight := func(fails bool) func(ev *wire.Event) lifecycle.Sight {
		return func(ev *wire.Event) lifecycle.Sight {
			return lifecycle.Sight{Ask: func(context.Context, []string) (bool, error) {
				if fails {
					return false, errors.New("nobody knows")
				}
				return ev.Kind == 1, nil
			}}
		}
	}
	for name, fails := range map[string]bool{"decided": false, "nobody can": true} {
		t.Run(name, func(t *testing.T) {
			var ended []string
			rules := func(o *conn.Options) {
				o.Sight = sight(fails)
				o.OnEnded = func(h *lifecycle.Handle) { ended = append(ended, h.ID()) }
			}
			inBubble(t, session{handle: deliver}, rules, func(t *testing.T, r *relay) {
				m := newMemory()
				c, done := begin(t.Context(), r, m)
				m.in <- []byte("x")
				synctest.Wait()
				said := m.said()
				c.Close(lifecycle.Cause{Code: 1000})
				<-done
				require.Len(t, said, 2)
				if fails {
					require.Contains(t, said[1], `["CLOSED","x","error: `)
					require.Equal(t, []string{"x"}, ended)
					return
				}
				require.Equal(t, string(wire.AppendEvent(nil, "x", storetest.Draft{Kind: 1}.Event())), said[1])
				require.Empty(t, ended)
			})
		})
	}
}
