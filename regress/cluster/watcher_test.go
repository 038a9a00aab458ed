package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/regress/cluster"
	"fencepost/relay/client"
	"fencepost/relay/wire"
)

// watcher is one connection of a key that notes all that it is sent. Its methods are
// called by one goroutine.
type watcher struct {
	t       *testing.T
	replica *cluster.Replica
	conn    *client.Client
	group   errgroup.Group
	asked   int

	mu sync.Mutex // guards the fields below
	// +checklocks:mu
	got []wire.RelayMessage
	// +checklocks:mu
	over error // why the connection ended; nil while it lasts
	// +checklocks:mu
	more chan struct{} // closed when there is more; then another
}

// watch connects and authenticates.
func watch(t *testing.T, r *cluster.Replica, key int) *watcher {
	t.Helper()
	w := &watcher{t: t, replica: r, conn: dial(t, r), more: make(chan struct{})}
	require.NoError(t, w.authenticate(key))
	w.group.Go(w.read)
	return w
}

func (w *watcher) authenticate(key int) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), cluster.Patience)
	defer cancel()
	if _, err := w.conn.Next(ctx); err != nil { // the challenge
		return err
	}
	return w.conn.Authenticate(ctx, cluster.Secret(key))
}

func (w *watcher) read() error {
	for {
		m, err := w.conn.Next(w.t.Context())
		w.note(m, err)
		if err != nil {
			return nil
		}
	}
}

func (w *watcher) note(m wire.RelayMessage, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.got = append(w.got, m)
	}
	w.over = err
	close(w.more)
	w.more = make(chan struct{})
}

// all returns what has come so far, a channel that is closed when there is more, and why
// the connection is over.
func (w *watcher) all() (got []wire.RelayMessage, more <-chan struct{}, over error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clip(w.got), w.more, w.over
}

// await waits for a message, of which each is asked about once, and returns its place. -1
// when the connection ended first.
func (w *watcher) await(from int, ok func(wire.RelayMessage) bool) int {
	w.t.Helper()
	late := time.After(cluster.Patience)
	for {
		got, more, over := w.all()
		for ; from < len(got); from++ {
			if ok(got[from]) {
				return from
			}
		}
		if over != nil {
			return -1
		}
		select {
		case <-more:
		case <-late:
			require.Fail(w.t, "it did not come", "replica %d, after %d messages", w.replica.Number, len(got))
		}
	}
}

// ask opens a subscription and returns the place of its EOSE or CLOSED, -1 when the
// connection is over.
func (w *watcher) ask(id string, f nostr.Filter) int {
	w.t.Helper()
	got, _, _ := w.all()
	if err := w.send(id, f); err != nil {
		return -1
	}
	return w.answered(len(got), id)
}

// send opens a subscription. It does not wait for the answer.
func (w *watcher) send(id string, f nostr.Filter) error {
	return w.conn.Send(w.t.Context(), wire.AppendReq(nil, id, []*wire.Filter{wire.NewFilter(f)}))
}

// answered returns the place of the first EOSE or CLOSED of a subscription from a place
// on, -1 when the connection is over.
func (w *watcher) answered(from int, id string) int {
	w.t.Helper()
	return w.await(from, func(m wire.RelayMessage) bool {
		return m.Sub == id && (m.Verb == "EOSE" || m.Verb == "CLOSED")
	})
}

// subscribe asks until it is not refused any more, which a replica does that has not
// applied what would allow it.
func (w *watcher) subscribe(id string, f nostr.Filter) {
	w.t.Helper()
	for began := time.Now(); time.Since(began) < cluster.Patience; {
		i := w.ask(id, f)
		require.GreaterOrEqual(w.t, i, 0, "the connection ended")
		if got, _, _ := w.all(); got[i].Verb == "EOSE" {
			return
		}
		require.NoError(w.t, cluster.Wait(w.t.Context(), 20*time.Millisecond))
	}
	require.Fail(w.t, "refused for too long", id)
}

// barrier returns the place of the answer to something that was asked now: what the relay
// sent before is before it. When the connection is over it is the end.
func (w *watcher) barrier() int {
	w.asked++
	if i := w.ask(fmt.Sprintf("barrier %d", w.asked), nostr.Filter{Kinds: []int{ending}, Limit: 1}); i >= 0 {
		return i
	}
	got, _, _ := w.all()
	return len(got)
}

// hears waits for an event on a subscription.
func (w *watcher) hears(id string, e *wire.Event) {
	w.t.Helper()
	i := w.await(0, func(m wire.RelayMessage) bool { return m.Verb == "EVENT" && m.Sub == id && m.Event.ID == e.ID })
	require.GreaterOrEqual(w.t, i, 0, "the connection ended")
}

// end closes the connection and returns everything that came.
func (w *watcher) end() []wire.RelayMessage {
	_ = w.conn.Close() // the relay may have closed it
	_ = w.group.Wait() // it has no errors
	got, _, _ := w.all()
	return got
}
