package race_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"fencepost/relay/wire"
)

// fault is what a test relay does wrong, or in its own way.
type fault string

const (
	correct      fault = "correct"
	afterClose   fault = "frames after CLOSE"
	afterReplace fault = "frames of the replaced filter"
	twice        fault = "some live frames twice"
	eoseTwice    fault = "EOSE twice"
	drops        fault = "some live frames dropped"
	seam         fault = "live frames dropped while stored events are read"
	liveOrder    fault = "live frames in the wrong order"
	storedOrder  fault = "stored events oldest first"
	noEOSE       fault = "no EOSE"
	garbage      fault = "some messages cut off"
	needsAuth    fault = "authentication needed"
	acksClose    fault = "CLOSE is acknowledged"
	gives        fault = "subscriptions ended by the relay"
)

// every says how many frames pass between two faults.
const every = 7

// testRelay is a whole relay in memory behind one lock, which goes wrong in one
// chosen way. Like a real one it answers an event before it fans it out.
type testRelay struct {
	fault fault
	url   string

	mu     sync.Mutex // guards the fields below and those of testConn
	events []*wire.Event
	fanned int // events that were fanned out
	conns  map[*testConn]struct{}
	frames int
}

type testConn struct {
	subs   map[string]*testSub // id -> what is open
	ghosts map[string]*testSub // id -> what is over, and still served
	authed bool
	queue  [][]byte
	wake   chan struct{} // capacity 1, never closed
}

type testSub struct {
	id      string
	filters []*wire.Filter
	after   int // events below this index were stored
	frames  int
}

func newTestRelay(t *testing.T, f fault) *testRelay {
	t.Helper()
	r := &testRelay{fault: f, conns: make(map[*testConn]struct{})}
	server := httptest.NewServer(http.HandlerFunc(r.serve))
	r.url = "ws" + strings.TrimPrefix(server.URL, "http")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); r.follow(ctx) }()
	t.Cleanup(func() { cancel(); <-done; server.Close() })
	return r
}

func (r *testRelay) serve(rw http.ResponseWriter, request *http.Request) {
	conn, err := websocket.Accept(rw, request, nil)
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &testConn{subs: map[string]*testSub{}, ghosts: map[string]*testSub{}, wake: make(chan struct{}, 1)}
	done := make(chan struct{})
	go func() { defer close(done); r.write(ctx, conn, c) }()
	r.enter(c)
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			break
		}
		if m, err := wire.Decode(data); err == nil {
			r.handle(c, m)
		}
	}
	r.leave(c)
	cancel()
	<-done
}

func (r *testRelay) write(ctx context.Context, conn *websocket.Conn, c *testConn) {
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			return
		}
		for _, frame := range r.take(c) {
			if conn.Write(ctx, websocket.MessageText, frame) != nil {
				return
			}
		}
	}
}

func (r *testRelay) take(c *testConn) [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	queue := c.queue
	c.queue = nil
	return queue
}

func (c *testConn) push(frame []byte) {
	c.queue = append(c.queue, frame)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (r *testRelay) enter(c *testConn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[c] = struct{}{}
	c.push(wire.AppendAuth(nil, "challenge"))
}

func (r *testRelay) leave(c *testConn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
}

func (r *testRelay) handle(c *testConn, message wire.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	denied := r.fault == needsAuth && !c.authed
	reason := wire.Because(wire.AuthRequired, "who are you?")
	switch m := message.(type) {
	case *wire.AuthMessage:
		c.authed = m.Event.Verify() == nil
		c.push(wire.AppendOK(nil, m.Event.ID, c.authed, wire.Reason{}))
	case *wire.EventMessage:
		if !denied {
			r.events = append(r.events, m.Event)
			reason = wire.Reason{}
		}
		c.push(wire.AppendOK(nil, m.Event.ID, !denied, reason))
	case *wire.ReqMessage:
		if denied {
			c.push(wire.AppendClosed(nil, m.ID, reason))
			return
		}
		r.open(c, &testSub{id: m.ID, filters: m.Filters, after: len(r.events)})
	case *wire.CloseMessage:
		r.close(c, m.ID)
	}
}

func (r *testRelay) open(c *testConn, s *testSub) {
	delete(c.ghosts, s.id)
	if old := c.subs[s.id]; old != nil && r.fault == afterReplace {
		c.ghosts[s.id] = old
	}
	c.subs[s.id] = s
	for _, e := range r.stored(s) {
		c.push(wire.AppendEvent(nil, s.id, e))
	}
	if r.fault == noEOSE && !strings.HasPrefix(s.id, "barrier") {
		return
	}
	c.push(wire.AppendEOSE(nil, s.id, wire.HintFinish))
	if r.fault == eoseTwice {
		c.push(wire.AppendEOSE(nil, s.id, wire.HintFinish))
	}
	if r.fault == seam {
		s.after += 4
	}
}

func (r *testRelay) stored(s *testSub) []*wire.Event {
	var out []*wire.Event
	for _, e := range r.events[:s.after] {
		if wire.MatchesAny(s.filters, e) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *wire.Event) int {
		if a.CreatedAt != b.CreatedAt {
			return int(b.CreatedAt - a.CreatedAt)
		}
		return strings.Compare(a.ID, b.ID)
	})
	out = out[:min(len(out), s.filters[0].Limit)]
	if r.fault == storedOrder {
		slices.Reverse(out)
	}
	return out
}

func (r *testRelay) close(c *testConn, id string) {
	delete(c.ghosts, id)
	if old := c.subs[id]; old != nil && r.fault == afterClose {
		c.ghosts[id] = old
	}
	delete(c.subs, id)
	if r.fault == acksClose {
		c.push(wire.AppendClosed(nil, id, wire.Reason{}))
	}
}

// follow fans out what was committed, some milliseconds at a time.
func (r *testRelay) follow(ctx context.Context) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.fanOut()
		case <-ctx.Done():
			return
		}
	}
}

func (r *testRelay) fanOut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch := make([]int, 0, len(r.events)-r.fanned)
	for i := r.fanned; i < len(r.events); i++ {
		batch = append(batch, i)
	}
	r.fanned = len(r.events)
	if r.fault == liveOrder {
		slices.Reverse(batch)
	}
	for _, i := range batch {
		for c := range r.conns {
			for _, s := range c.subs {
				r.deliver(c, s, i)
			}
			for _, s := range c.ghosts {
				r.deliver(c, s, i)
			}
		}
	}
}

func (r *testRelay) deliver(c *testConn, s *testSub, i int) {
	if i < s.after || !wire.MatchesAny(s.filters, r.events[i]) {
		return
	}
	frame := wire.AppendEvent(nil, s.id, r.events[i])
	r.frames++
	s.frames++
	switch {
	case r.fault == gives && s.frames == 2:
		delete(c.subs, s.id)
		c.push(wire.AppendClosed(nil, s.id, wire.Because(wire.Failed, "enough")))
		return
	case r.frames%every != 0:
	case r.fault == drops:
		return
	case r.fault == twice:
		c.push(frame)
	case r.fault == garbage:
		c.push(frame[:len(frame)/2])
	}
	c.push(frame)
}

// gone waits until every connection has ended.
func (r *testRelay) gone(t *testing.T) {
	t.Helper()
	for {
		r.mu.Lock()
		left := len(r.conns)
		r.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("connections are left")
		case <-time.After(time.Millisecond):
		}
	}
}
