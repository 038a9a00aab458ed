//go:build !nopause

package explore_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
	"fencepost/regress/harness"
	"fencepost/regress/trace"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// world is a relay with a few clients for one schedule. Operations run one at a
// time, so only what a step may do beside its operation's thread needs the lock.
type world struct {
	// Set at construction, never changed.
	t     *testing.T
	relay *harness.Relay
	hook  *pause.Hook
	ack   bool // CLOSE is answered with CLOSED
	slow  bool // the relay may end a subscription because its client is slow
	costs *costs

	clients   []*client
	elsewhere *outside
	banned    string           // a key whose connections must be over in the end
	counts    map[string][]int // what COUNTs may say, by id
	floor     *atomic.Uint64   // of a log that is trimmed
	tail      bool             // the follower does not know how much is committed; the rest is applied in the end
	last      []func()         // what else is checked in the end

	mu sync.Mutex // guards the field below; never held across a callback
	// +checklocks:mu
	problems []string
}

// client is one connection with everything that is known about it.
type client struct {
	*harness.Client
	name  string
	world *world
	trace *trace.Trace

	gone     bool
	reported int // commits that the trace knows
	left     int // frames that the last drain has left

	// mu guards the fields below. What a take or an eviction frees room for goes
	// on in the same step, so it is held until what was taken or evicted is noted.
	mu sync.Mutex
	// +checklocks:mu
	reading string // the message being read, until it takes effect
	// +checklocks:mu
	subs map[string]*subscription // what the client believes to be open, by id
	// +checklocks:mu
	acks map[string]int // CLOSED owed for CLOSE, by id
	// +checklocks:mu
	asked map[string]int // COUNTs not answered, by id
	// +checklocks:mu
	talks map[string]*wire.Filter // what the open negotiations are about, by id
	// +checklocks:mu
	batches []int // frames of each take
	// +checklocks:mu
	removals map[string]int // event id -> how often its removal was told
}

// subscription is one that its client believes to be open.
type subscription struct {
	filters []*wire.Filter
	feed    *wire.ChangesMessage // nil for a REQ
	ended   bool                 // the relay has ended this very generation: CLOSED is due
}

func newWorld(t *testing.T, o harness.Options, slow bool, costs *costs) *world {
	return &world{t: t, relay: harness.New(t, o), hook: o.Pause, ack: o.CloseAck, slow: slow, costs: costs}
}

// connect opens a connection called name.
func (w *world) connect(name string) *client {
	c := &client{
		Client: w.relay.Connect(w.t), name: name, world: w,
		subs: make(map[string]*subscription), acks: make(map[string]int), asked: make(map[string]int), removals: make(map[string]int),
		talks: make(map[string]*wire.Filter),
	}
	c.trace = trace.New(trace.Options{Commits: true, CloseAck: w.ack, Judge: c.Judge()})
	w.clients = append(w.clients, c)
	return c
}

// send is the reader's part of a message.
func (c *client) send(msg string) {
	c.read(msg)
	c.Send(msg)
	c.takeEffect()
}

// read notes that the relay begins to read a message.
func (c *client) read(msg string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = msg
}

// takeEffect notes that the message being read has taken effect, if it has not
// done so before. Frames taken from here on belong to what follows it.
func (c *client) takeEffect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reading == "" {
		return
	}
	msg := []byte(c.reading)
	c.reading = ""
	c.trace.Sent(msg)
	m, err := wire.Decode(msg)
	require.NoError(c.world.t, err)
	switch m := m.(type) {
	case *wire.ReqMessage:
		refused := m.Filters[0].Search != "" || c.Refuses(m.Filters) != nil
		c.subs[m.ID] = &subscription{filters: m.Filters, ended: refused}
		c.acks[m.ID] = 0 // one that is still queued would end the newer generation
	case *wire.ChangesMessage:
		filters := []*wire.Filter{m.Filter}
		c.subs[m.ID] = &subscription{filters: filters, feed: m, ended: c.Refuses(filters) != nil}
		c.acks[m.ID] = 0
	case *wire.CloseMessage:
		if c.world.ack && c.subs[m.ID] != nil {
			c.acks[m.ID]++
		}
		delete(c.subs, m.ID)
	case *wire.CountMessage:
		c.asked[m.ID]++
	case *wire.NegOpenMessage:
		c.talks[m.ID] = m.Filter
	case *wire.NegCloseMessage:
		delete(c.talks, m.ID)
	}
}

// watched are the points behind which a message has taken effect.
var watched = []pause.Point{pause.ReqReserved, pause.CloseReleased}

// passing watches for the points that stand behind the critical section of REQ
// and of CLOSE.
func (w *world) passing(thread string, p pause.Point) {
	if !slices.Contains(watched, p) {
		return
	}
	for _, c := range w.clients {
		if thread == c.name+".reader" {
			c.takeEffect()
		}
	}
}

// open subscribes and receives what is stored, before the operations begin.
func (c *client) open(id, filter string) {
	c.send(fmt.Sprintf(`["REQ",%q,%s]`, id, filter))
	synctest.Wait()
	c.write()
}

// commit stores an event.
func (w *world) commit(ev *wire.Event) { w.relay.Commit(w.t, ev) }

// report tells the trace what was committed since it was told last.
func (c *client) report() { c.reported = c.world.relay.Committed(c.reported, c.trace.Committed) }

// evict ends h as a revocation does and notes whose CLOSED is due.
func (c *client) evict(h *lifecycle.Handle) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	done := h.Evict(wire.Because(wire.Restricted, "no longer allowed"))
	if s := c.subs[h.ID()]; done && s != nil {
		s.ended = true
	}
	return done
}

// handles returns the current candidates for ev on c's subscription id, as an
// eviction selects them.
func (w *world) handles(c *client, id string, ev *wire.Event) []*lifecycle.Handle {
	return slices.DeleteFunc(w.relay.Index.Candidates(nil, ev), func(h *lifecycle.Handle) bool {
		return h.Conn() != c.Conn || h.ID() != id
	})
}

func (w *world) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// program makes the world's part of a program.
func (w *world) program(operations ...explore.Operation) *explore.Program {
	return &explore.Program{
		Operations: operations,
		Passing:    w.passing,
		Watched:    watched,
		Drain: func() (moved bool) {
			for _, c := range w.clients {
				moved = c.drain() || moved
			}
			return moved
		},
		Check: w.check,
		Trace: w.transcript,
	}
}

func (w *world) transcript() string {
	var out []string
	for _, c := range w.clients {
		out = append(out, fmt.Sprintf("-- %s, written in batches of %v", c.name, c.batches), c.trace.Transcript())
	}
	return strings.Join(out, "\n")
}

// costs remembers what a subscription id reserves, for all worlds of a scenario.
type costs struct {
	mu sync.Mutex // guards the field below; never held across a callback
	// +checklocks:mu
	known map[string]int // message that opens it -> bytes
}

func newCosts() *costs { return &costs{known: make(map[string]int)} }

func (k *costs) of(id string) (bytes int, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	bytes, ok = k.known[id]
	return bytes, ok
}

func (k *costs) set(id string, bytes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[id] = bytes
}

// reserves returns the bytes that a live subscription of that id, or a feed,
// reserves, measured on a connection of its own.
func (w *world) reserves(id string, isFeed bool) int {
	msg := fmt.Sprintf(`["REQ",%q,{"kinds":[65535]}]`, id)
	if isFeed {
		msg = fmt.Sprintf(`["CHANGES",%q,{"kinds":[65535],"since":%d,"live":true}]`, id, w.head())
	}
	if n, ok := w.costs.of(msg); ok {
		return n
	}
	c := w.relay.Connect(w.t)
	c.Send(msg)
	c.Settle()
	n := c.Conn.Usage().Reserved
	c.Disconnect(w.t)
	w.costs.set(msg, n)
	return n
}

func (w *world) head() store.Position {
	info, err := w.relay.Store.Log(w.t.Context())
	require.NoError(w.t, err)
	return info.Head
}
