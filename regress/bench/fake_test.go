package bench_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"fencepost/relay/wire"
)

// fake is a relay that keeps everything in memory and does what it is told to do
// wrong.
type fake struct {
	url    string
	faults faults

	mu         sync.Mutex // guards the fields below
	stored     []*wire.Event
	conns      map[*peer]bool
	counts     counts
	delivering sync.Mutex // held while frames go out, so that order is kept
}

// faults are spoilt once each, when their number comes; 0 is never.
type faults struct {
	refuse    int    // the n-th EVENT gets OK false
	mute      int    // the n-th EVENT gets no OK
	otherID   int    // the n-th EVENT gets an OK for another event
	forget    int    // the n-th EVENT gets OK true and goes nowhere
	lose      int    // the n-th live frame is not sent
	twice     int    // the n-th live frame is sent twice
	elsewhere int    // the n-th live frame goes to a subscription that nobody has
	withhold  int    // the n-th REQ gets one stored event less
	endless   int    // the n-th REQ gets no EOSE
	end       string // every REQ gets CLOSED with this text
	hangUp    int    // the n-th EVENT ends the connection
	notice    string // sent after each EVENT
}

type counts struct{ events, frames, reqs int }

type peer struct {
	conn *websocket.Conn
	subs map[string][]*wire.Filter // guarded by the relay's mu
}

func newFake(t *testing.T, f faults) *fake {
	r := &fake{faults: f, conns: make(map[*peer]bool)}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = "ws" + strings.TrimPrefix(server.URL, "http")
	return r
}

func (r *fake) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	conn, err := websocket.Accept(w, req, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(1 << 20)
	p := &peer{conn: conn, subs: make(map[string][]*wire.Filter)}
	r.mu.Lock()
	r.conns[p] = true
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.conns, p)
		r.mu.Unlock()
	}()
	for {
		_, data, err := conn.Read(req.Context())
		if err != nil {
			return
		}
		m, err := wire.Decode(data)
		if err != nil || !r.handle(req.Context(), p, m) {
			return
		}
	}
}

func (r *fake) handle(ctx context.Context, p *peer, m wire.Message) bool {
	switch m := m.(type) {
	case *wire.EventMessage:
		return r.event(ctx, p, m.Event)
	case *wire.ReqMessage:
		return r.req(ctx, p, m)
	case *wire.CloseMessage:
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(p.subs, m.ID)
	}
	return true
}

func (p *peer) send(ctx context.Context, message []byte) {
	_ = p.conn.Write(ctx, websocket.MessageText, message) // the reading side notices
}

func (r *fake) event(ctx context.Context, p *peer, ev *wire.Event) bool {
	r.delivering.Lock()
	defer r.delivering.Unlock()
	r.mu.Lock()
	r.counts.events++
	n, f := r.counts.events, r.faults
	again := slices.ContainsFunc(r.stored, func(e *wire.Event) bool { return e.ID == ev.ID })
	if !again {
		r.stored = append(r.stored, ev)
	}
	r.mu.Unlock()
	if f.notice != "" {
		p.send(ctx, wire.AppendNotice(nil, wire.Because(wire.Failed, f.notice)))
	}
	switch {
	case n == f.hangUp:
		return false
	case n == f.refuse:
		p.send(ctx, wire.AppendOK(nil, ev.ID, false, wire.Because(wire.Blocked, "not you")))
		return true
	case n == f.otherID:
		p.send(ctx, wire.AppendOK(nil, strings.Repeat("0", 64), true, wire.Reason{}))
		return true
	case again:
		p.send(ctx, wire.AppendOK(nil, ev.ID, true, wire.Because(wire.Duplicate, "already stored")))
		return true
	case n != f.mute:
		p.send(ctx, wire.AppendOK(nil, ev.ID, true, wire.Reason{}))
	}
	if n != f.forget {
		r.deliver(ctx, ev)
	}
	return true
}

func (r *fake) deliver(ctx context.Context, ev *wire.Event) {
	type frame struct {
		to    *peer
		bytes []byte
	}
	var frames []frame
	r.mu.Lock()
	for p := range r.conns {
		for id, filters := range p.subs {
			if !wire.MatchesAny(filters, ev) {
				continue
			}
			r.counts.frames++
			switch r.counts.frames {
			case r.faults.lose:
				continue
			case r.faults.elsewhere:
				id = "nobody's"
			case r.faults.twice:
				frames = append(frames, frame{p, wire.AppendEvent(nil, id, ev)})
			}
			frames = append(frames, frame{p, wire.AppendEvent(nil, id, ev)})
		}
	}
	r.mu.Unlock()
	for _, f := range frames {
		f.to.send(ctx, f.bytes)
	}
}

func (r *fake) req(ctx context.Context, p *peer, m *wire.ReqMessage) bool {
	r.delivering.Lock()
	defer r.delivering.Unlock()
	r.mu.Lock()
	r.counts.reqs++
	n, f := r.counts.reqs, r.faults
	p.subs[m.ID] = m.Filters
	var answer []*wire.Event
	limit := m.Filters[0].Limit // one filter a REQ is all that the generator sends
	for _, ev := range slices.Backward(r.stored) {
		if len(answer) < limit && wire.MatchesAny(m.Filters, ev) {
			answer = append(answer, ev)
		}
	}
	r.mu.Unlock()
	if f.end != "" {
		p.send(ctx, wire.AppendClosed(nil, m.ID, wire.Because(wire.Restricted, f.end)))
		return true
	}
	if n == f.withhold && len(answer) > 0 {
		answer = answer[1:]
	}
	for _, ev := range answer {
		p.send(ctx, wire.AppendEvent(nil, m.ID, ev))
	}
	if n != f.endless {
		p.send(ctx, wire.AppendEOSE(nil, m.ID, wire.HintUnknown))
	}
	return true
}

func (r *fake) counted() counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}
