package mirror_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/mirror"
	"fencepost/relay/wire"
)

// patient is how long these tests have a mirror wait for an answer.
const patient = 100 * time.Millisecond

// hostile is an upstream that does what serve does with each message.
func hostile(t *testing.T, serve func(say func([]byte), m any)) *upstream {
	u := &upstream{T: t, patience: patient, ends: make(chan error, 100)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		say := func(frame []byte) { _ = c.Write(context.Background(), websocket.MessageText, frame) }
		say(wire.AppendAuth(nil, "challenge"))
		for {
			_, data, err := c.Read(context.Background())
			if err != nil {
				u.ends <- err
				return
			}
			if m, err := wire.Decode(data); err == nil {
				serve(say, m)
			}
		}
	}))
	t.Cleanup(server.Close)
	u.url = "ws" + strings.TrimPrefix(server.URL, "http")
	return u
}

func told(say func([]byte), sub string, events ...*wire.Event) {
	for _, ev := range events {
		say(append(wire.AppendEventPrefix(nil, sub), append(ev.Raw(), ']')...))
	}
}

func eose(say func([]byte), sub string) { say(wire.AppendEOSE(nil, sub, wire.HintUnknown)) }

// An upstream may give whatever it likes for a page: the past comes to an end.
func TestAPageOfAnUpstreamEndsWhateverItSends(t *testing.T) {
	t.Parallel()
	const at = 1_700_000_000
	var made atomic.Int64
	old, large := event(t, at, "old"), event(t, at, strings.Repeat("x", 1<<20))
	for name, page := range map[string]func(say func([]byte), sub string, until int64){
		"the newest, whatever was asked": func(say func([]byte), sub string, _ int64) {
			told(say, sub, old, event(t, at+1, "newer"))
			eose(say, sub)
		},
		"always something new of one second": func(say func([]byte), sub string, until int64) {
			for range 200 {
				told(say, sub, wire.NewEvent(nostr.Event{
					ID: fmt.Sprintf("%064x", made.Add(1)), PubKey: old.PubKey, Sig: old.Sig,
					Kind: 1, CreatedAt: nostr.Timestamp(until),
				}))
			}
			eose(say, sub)
		},
		"events without an end": func(say func([]byte), sub string, _ int64) {
			for range 1000 {
				told(say, sub, old)
			}
		},
		"large events without an end": func(say func([]byte), sub string, _ int64) {
			for range 32 {
				told(say, sub, large)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHere(t)
			u := hostile(t, func(say func([]byte), m any) {
				req, ok := m.(*wire.ReqMessage)
				switch {
				case !ok:
				case req.Filters[0].Until == nil: // live
					eose(say, req.ID)
				default:
					page(say, req.ID, int64(*req.Filters[0].Until))
				}
			})
			u.patience = 0 // as long as ever
			spec := mirror.Spec{Direction: mirror.Down, Start: mirror.All}
			if strings.HasPrefix(name, "always") {
				spec.Start, spec.Since = mirror.Since, h.now().Unix()-1
			}
			p := h.start(u, spec, nil)
			h.eventually(func() bool {
				s := p.Status()
				return s.Connected && !s.Behind && s.Stored+s.Refused > 0
			}, "the past is fetched")
		})
	}
}

// An upstream that leaves a question open is left, and says nothing that lasts.
func TestAnUpstreamThatDoesNotAnswerIsLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start mirror.Start
		serve func(say func([]byte), m any)
	}{
		"an AUTH that it demands": {mirror.Now, func(say func([]byte), m any) {
			if req, ok := m.(*wire.ReqMessage); ok {
				say(wire.AppendClosed(nil, req.ID, wire.Because(wire.AuthRequired, "who are you")))
			}
		}},
		"a page": {mirror.All, func(say func([]byte), m any) {
			if req, ok := m.(*wire.ReqMessage); ok && req.Filters[0].Until == nil {
				eose(say, req.ID)
			}
		}},
		"what it has by NIP-77": {mirror.Reconcile, func(say func([]byte), m any) {
			switch m := m.(type) {
			case *wire.ReqMessage:
				if len(m.Filters[0].IDs) == 0 {
					eose(say, m.ID)
				}
			case *wire.NegOpenMessage:
				// Version 1, up to infinity, a list of one id.
				say(wire.AppendNegMsg(nil, m.ID, append([]byte{0x61, 0, 0, 2, 1}, make([]byte, 32)...)))
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newHere(t).start(hostile(t, c.serve), mirror.Spec{Direction: mirror.Both, Start: c.start}, nil)
			require.Eventually(t, func() bool { return p.Status().Reason != "" }, soon, tick)
			require.Equal(t, "timeout", p.Status().Reason)
		})
	}
}

// An event to which an upstream says nothing is given up, and the next one goes up.
func TestAnEventThatIsNotAnsweredHoldsUpNothing(t *testing.T) {
	t.Parallel()
	h, taken := newHere(t), make(chan string, 100)
	u := hostile(t, func(say func([]byte), m any) {
		switch m := m.(type) {
		case *wire.ReqMessage:
			eose(say, m.ID)
		case *wire.EventMessage:
			if m.Event.Content != "dull" {
				say([]byte(`["OK","` + m.Event.ID + `",true,""]`))
			}
			taken <- m.Event.Content
		}
	})
	u.patience = 5 * patient // which a machine that stands still exceeds more seldom than maxTries times
	p := h.start(u, mirror.Spec{Direction: mirror.Up, Start: mirror.All}, nil)
	h.eventually(func() bool { return p.Status().Connected && h.fence(p.Mirror).Active }, "connected")
	h.publish("first")
	h.eventually(func() bool { return p.Status().Published == 1 }, "the first goes up")
	h.publish("dull")
	last := <-taken
	for last == "first" { // it may have been offered again
		last = <-taken
	}
	require.Equal(t, "dull", last)
	h.publish("next")
	h.eventually(func() bool { return p.Status().Published == 2 }, "the next goes up")
	require.Equal(t, uint64(1), p.Status().Rejected)
}

func (h *here) publish(content string) {
	h.Helper()
	_, reason := h.Publish(context.Background(), nil, event(h, h.now().Unix(), content), nil)
	require.Empty(h, reason)
}

// An upstream that has stopped to listen does not keep the stream from a successor: it is
// not told that the mirror leaves, or the mirror would wait for its answer.
func TestAnUpstreamThatIsDeafDelaysNoSuccessor(t *testing.T) {
	t.Parallel()
	h, over := newHere(t), make(chan struct{})
	u := hostile(t, func(func([]byte), any) { <-over })
	listen := sync.OnceFunc(func() { close(over) })
	t.Cleanup(listen)
	p := h.start(u, mirror.Spec{Direction: mirror.Both, Start: mirror.Now}, nil)
	h.eventually(func() bool { return p.Status().Connected }, "connected")
	p.stop()
	require.False(t, h.fence(p.Mirror).Active)
	listen()
	require.EqualValues(t, -1, websocket.CloseStatus(<-u.ends), "a last word was said")
}

// What an upstream sends of a subscription that it has closed itself is nobody's, and
// holds up nothing. It demands an AUTH for every other question.
func TestWhatComesAfterACLOSEDIsPassedOver(t *testing.T) {
	t.Parallel()
	h := newHere(t)
	wanted, late := event(t, 1_700_000_000, "wanted"), event(t, 1_700_000_001, "late")
	u := hostile(t, func(say func([]byte), m any) {
		switch m := m.(type) {
		case *wire.AuthMessage:
			say([]byte(`["OK","` + m.Event.ID + `",true,""]`))
		case *wire.ReqMessage:
			var number int
			_, err := fmt.Sscanf(m.ID, "mirror-%d", &number)
			switch {
			case err != nil:
			case number%2 == 1:
				say(wire.AppendClosed(nil, m.ID, wire.Because(wire.AuthRequired, "who are you")))
				for range 500 {
					told(say, m.ID, late)
				}
			default:
				if m.Filters[0].Until != nil {
					told(say, m.ID, wanted)
				}
				eose(say, m.ID)
			}
		}
	})
	u.patience = 0 // as long as ever
	p := h.start(u, mirror.Spec{Direction: mirror.Down, Start: mirror.All}, nil)
	h.eventually(func() bool { s := p.Status(); return s.Connected && !s.Behind && s.Stored == 1 }, "the past is fetched")
	require.Equal(t, []string{wanted.ID}, h.ids())
	require.Zero(t, p.Status().Failures)
}

// A forged event does not stand in the way of the one whose id it bears.
func TestAForgedEventDoesNotHideTheRealOne(t *testing.T) {
	t.Parallel()
	h, u := newHere(t), newUpstream(t, 100)
	p := h.start(u, mirror.Spec{Direction: mirror.Down, Start: mirror.Now}, nil)
	h.eventually(func() bool { return p.Status().Connected && len(u.asked()) > 0 }, "connected")
	ev := event(t, h.now().Unix(), "real")
	forged := ev.Event
	forged.Content = "forged"
	u.add(wire.NewEvent(forged))
	h.eventually(func() bool { return p.Status().Refused == 1 }, "the forged one is refused")
	u.add(ev)
	h.eventually(func() bool { return p.Status().Stored+p.Status().Known == 1 }, "the real one comes")
	require.Equal(t, []string{ev.ID}, h.ids())
}
