package mirror_test

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
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// upstream is another relay, as slow and obvious as can be. It gives at most most
// events at once, and hints nothing.
type upstream struct {
	*testing.T
	url  string
	most int

	patience time.Duration // of who asks; 0 is as always
	ends     chan error    // why connections ended, of a hostile one

	mu     sync.Mutex
	events []*wire.Event
	untils []int64 // of the filters that were asked, 0 for none
	live   map[*websocket.Conn]map[string][]*wire.Filter
	answer func(ev *wire.Event) string // to an EVENT, "" for OK true
	hates  string                      // a content on which it ends the connection; "" for none
}

func newUpstream(t *testing.T, most int) *upstream {
	u := &upstream{T: t, most: most, live: map[*websocket.Conn]map[string][]*wire.Filter{}}
	server := httptest.NewServer(http.HandlerFunc(u.serve))
	t.Cleanup(server.Close)
	u.url = "ws" + strings.TrimPrefix(server.URL, "http")
	return u
}

func (u *upstream) serve(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = c.CloseNow() }()
	u.mu.Lock()
	u.live[c] = map[string][]*wire.Filter{}
	u.mu.Unlock()
	for {
		_, data, err := c.Read(context.Background())
		if err != nil {
			u.mu.Lock()
			delete(u.live, c)
			u.mu.Unlock()
			return
		}
		m, err := wire.Decode(data)
		if err != nil {
			u.Errorf("%s: %v", data, err)
			return
		}
		u.handle(c, m)
	}
}

func (u *upstream) handle(c *websocket.Conn, m any) {
	switch m := m.(type) {
	case *wire.ReqMessage:
		u.mu.Lock()
		defer u.mu.Unlock()
		for _, ev := range u.storedLocked(m.Filters) {
			u.write(c, append(wire.AppendEventPrefix(nil, m.ID), append(ev.Raw(), ']')...))
		}
		u.live[c][m.ID] = m.Filters
		u.write(c, wire.AppendEOSE(nil, m.ID, wire.HintUnknown))
	case *wire.CloseMessage:
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.live[c], m.ID)
	case *wire.EventMessage:
		if u.hates != "" && m.Event.Content == u.hates {
			_ = c.CloseNow()
			return
		}
		go func() { u.write(c, u.publish(m.Event)) }()
	}
}

func (u *upstream) storedLocked(filters []*wire.Filter) (out []*wire.Event) {
	f := filters[0]
	until := int64(0)
	if f.Until != nil {
		until = int64(*f.Until)
	}
	u.untils = append(u.untils, until)
	for _, ev := range u.events {
		if wire.MatchesAny(filters, ev) {
			out = append(out, ev)
		}
	}
	slices.SortFunc(out, func(a, b *wire.Event) int {
		if store.Newer(a, b) {
			return -1
		}
		return 1
	})
	return out[:min(len(out), u.most)]
}

func (u *upstream) publish(ev *wire.Event) []byte {
	u.mu.Lock()
	refusal, answer := "", u.answer
	u.mu.Unlock()
	if answer != nil {
		refusal = answer(ev)
	}
	if refusal != "" {
		return []byte(`["OK","` + ev.ID + `",false,"` + refusal + `"]`)
	}
	u.add(ev)
	return []byte(`["OK","` + ev.ID + `",true,""]`)
}

// add stores events and tells who listens.
func (u *upstream) add(events ...*wire.Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, ev := range events {
		u.events = append(u.events, ev)
		for c, subs := range u.live {
			for id, filters := range subs {
				if wire.MatchesAny(filters, ev) {
					u.write(c, append(wire.AppendEventPrefix(nil, id), append(ev.Raw(), ']')...))
				}
			}
		}
	}
}

// write ignores a client that is gone.
func (u *upstream) write(c *websocket.Conn, frame []byte) {
	_ = c.Write(context.Background(), websocket.MessageText, frame)
}

// asked returns the untils of what was asked since the last call.
func (u *upstream) asked() []int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := u.untils
	u.untils = nil
	return out
}

func (u *upstream) ids() (ids []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, ev := range u.events {
		ids = append(ids, ev.ID)
	}
	slices.Sort(ids)
	return ids
}

func event(t require.TestingT, at int64, content string) *wire.Event {
	ev := nostr.Event{Kind: 1, CreatedAt: nostr.Timestamp(at), Content: content}
	require.NoError(t, ev.Sign("0000000000000000000000000000000000000000000000000000000000000009"))
	return wire.NewEvent(ev)
}
