package conformance_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/client"
	"fencepost/relay/wire"
)

// frame is one message of the relay, decoded and as it came.
type frame struct {
	wire.RelayMessage
	raw string
}

// peer is a client. Its methods fail the test when an answer does not come.
type peer struct {
	t       *testing.T
	relay   *relay
	ws      *websocket.Conn
	backlog []frame // received while something else was waited for
	counter int     // makes ids unique
	secret  string  // signs what the peer publishes for itself
	auth    string  // the challenge
}

func (r *relay) dial(t *testing.T) *peer {
	t.Helper()
	p, _, err := r.connect(t, nil)
	require.NoError(t, err)
	return p
}

// connect connects with a handshake of the test's own.
func (r *relay) connect(t *testing.T, o *websocket.DialOptions) (*peer, *http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ws, resp, err := websocket.Dial(ctx, r.url, o)
	if err != nil {
		return nil, resp, err
	}
	ws.SetReadLimit(-1)
	p := &peer{t: t, relay: r, ws: ws, secret: nostr.GeneratePrivateKey()}
	t.Cleanup(func() { _ = ws.CloseNow() }) // the test may have ended it already
	return p, resp, nil
}

// send sends messages in one burst.
func (p *peer) send(messages ...string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	for _, m := range messages {
		require.NoError(p.t, p.ws.Write(ctx, websocket.MessageText, []byte(m)))
	}
}

// read returns the next message from the socket.
func (p *peer) read() (frame, error) {
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	kind, data, err := p.ws.Read(ctx)
	if err != nil {
		return frame{}, err
	}
	require.Equal(p.t, websocket.MessageText, kind)
	require.True(p.t, json.Valid(data), "frame is not JSON: %s", data)
	m, err := wire.DecodeRelay(data)
	require.NoError(p.t, err, "frame: %s", data)
	if m.Verb == "AUTH" {
		p.auth = m.Text
	}
	return frame{m, string(data)}, nil
}

func (p *peer) next() frame {
	p.t.Helper()
	if len(p.backlog) > 0 {
		f := p.backlog[0]
		p.backlog = p.backlog[1:]
		return f
	}
	f, err := p.read()
	require.NoError(p.t, err)
	return f
}

// until returns the frames up to the first one that is wanted, which is last.
// Challenges are left out.
func (p *peer) until(what string, wanted func(frame) bool) (got []frame) {
	p.t.Helper()
	for {
		f := p.nextFor(what, got)
		if f.Verb == "AUTH" {
			continue
		}
		got = append(got, f)
		if wanted(f) {
			return got
		}
	}
}

func (p *peer) nextFor(what string, got []frame) frame {
	p.t.Helper()
	if len(p.backlog) > 0 {
		return p.next()
	}
	f, err := p.read()
	if err != nil {
		require.FailNow(p.t, "no "+what, "%v after %s", err, raws(got))
	}
	return f
}

// answer waits for one frame from the socket and keeps the others for later.
func (p *peer) answer(what string, wanted func(frame) bool) frame {
	p.t.Helper()
	for {
		f, err := p.read()
		require.NoError(p.t, err, "no "+what)
		if wanted(f) {
			return f
		}
		if f.Verb != "AUTH" {
			p.backlog = append(p.backlog, f)
		}
	}
}

// publish sends an event and returns its OK.
func (p *peer) publish(e *wire.Event) frame {
	p.t.Helper()
	p.send(string(wire.AppendEventMessage(nil, e)))
	return p.answer("OK for "+e.ID, func(f frame) bool { return f.Verb == "OK" && f.ID == e.ID })
}

// store publishes events, which the relay must accept.
func (p *peer) store(events ...*wire.Event) {
	p.t.Helper()
	due := make(map[string]bool)
	for _, e := range events {
		p.send(string(wire.AppendEventMessage(nil, e)))
		due[e.ID] = true
	}
	for len(due) > 0 {
		f := p.answer("OK", func(f frame) bool { return f.Verb == "OK" && due[f.ID] })
		require.True(p.t, f.OK, f.raw)
		delete(due, f.ID)
	}
}

// req sends a REQ; filters are JSON.
func (p *peer) req(id string, filters ...string) {
	p.t.Helper()
	p.send(message("REQ", id, filters...))
}

// end sends CLOSE.
func (p *peer) end(id string) { p.t.Helper(); p.send(message("CLOSE", id)) }

func message(verb, id string, rest ...string) string {
	m := "[" + quote(verb) + "," + quote(id)
	for _, r := range rest {
		m += "," + r
	}
	return m + "]"
}

func quote(s string) string { return string(wire.AppendString(nil, s)) }

// stored waits for the end of the stored events of a subscription and returns
// them with the frame that ended them, EOSE or CLOSED.
func (p *peer) stored(id string) (events []*wire.Event, end frame) {
	p.t.Helper()
	frames := p.until("EOSE for "+id, func(f frame) bool {
		return f.Sub == id && (f.Verb == "EOSE" || f.Verb == "CLOSED")
	})
	return eventsOf(id, frames), frames[len(frames)-1]
}

// query asks for stored events under an id of its own and closes it.
func (p *peer) query(filters ...string) (events []*wire.Event, end frame) {
	p.t.Helper()
	id := p.fresh("q")
	p.req(id, filters...)
	events, end = p.stored(id)
	if end.Verb == "EOSE" {
		p.end(id)
	}
	return events, end
}

// ids returns what a query returns, as ids.
func (p *peer) ids(filters ...string) []string {
	p.t.Helper()
	events, end := p.query(filters...)
	require.Equal(p.t, "EOSE", end.Verb, end.raw)
	return idsOf(events)
}

// count sends COUNT and returns the answer.
func (p *peer) count(filters ...string) frame {
	p.t.Helper()
	id := p.fresh("c")
	p.send(message("COUNT", id, filters...))
	return p.answer("COUNT", func(f frame) bool { return f.Sub == id })
}

// settle waits until the relay has read everything that was sent, and returns
// what came meanwhile.
func (p *peer) settle() []frame {
	p.t.Helper()
	id := p.fresh("barrier")
	p.req(id, `{"ids":["`+strings.Repeat("0", 64)+`"],"limit":1}`)
	got := p.until("barrier", func(f frame) bool { return f.Sub == id })
	p.end(id)
	return got[:len(got)-1]
}

// passed waits until every event that was answered before has been fanned out,
// and returns what came meanwhile.
func (p *peer) passed() []frame {
	p.t.Helper()
	id, topic := p.fresh("fence"), random()
	p.req(id, `{"#t":["`+topic+`"]}`)
	first := p.until("EOSE", func(f frame) bool { return f.Sub == id })
	p.publish(signed(p.secret, 20001, nostr.Now(), "", nostr.Tag{"t", topic}))
	last := p.until("the last event", func(f frame) bool { return f.Sub == id })
	p.end(id)
	return append(first[:len(first)-1], last[:len(last)-1]...)
}

// authenticate answers the challenge with a key.
func (p *peer) authenticate(secret string) frame {
	p.t.Helper()
	e, err := client.AuthEvent(p.relay.url, p.challenge(), secret)
	require.NoError(p.t, err)
	return p.authenticateWith(e)
}

func (p *peer) authenticateWith(e *wire.Event) frame {
	p.t.Helper()
	p.send(string(wire.AppendAuthMessage(nil, e)))
	return p.answer("OK for AUTH", func(f frame) bool { return f.Verb == "OK" && f.ID == e.ID })
}

// challenge returns the challenge that the relay sends first.
func (p *peer) challenge() string {
	p.t.Helper()
	if p.auth == "" {
		p.answer("AUTH", func(f frame) bool { return f.Verb == "AUTH" })
	}
	return p.auth
}

// fresh returns an id that the peer has not used.
func (p *peer) fresh(what string) string {
	p.counter++
	return what + strconv.Itoa(p.counter)
}

// ended reads until the connection has ended and returns the close code.
func (p *peer) ended() websocket.StatusCode {
	p.t.Helper()
	for {
		if _, err := p.read(); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func eventsOf(id string, frames []frame) (events []*wire.Event) {
	for _, f := range frames {
		if f.Verb == "EVENT" && f.Sub == id {
			events = append(events, f.Event)
		}
	}
	return events
}

func idsOf(events []*wire.Event) []string {
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	return ids
}

func without(frames []frame, drop func(frame) bool) (kept []frame) {
	for _, f := range frames {
		if !drop(f) {
			kept = append(kept, f)
		}
	}
	return kept
}

func raws(frames []frame) string {
	var b strings.Builder
	for i, f := range frames {
		if i == 6 {
			b.WriteString("...")
			break
		}
		b.WriteString(f.raw[:min(len(f.raw), 160)] + "\n")
	}
	return b.String()
}

// signed returns a finished event.
func signed(secret string, kind int, at nostr.Timestamp, content string, tags ...nostr.Tag) *wire.Event {
	e := nostr.Event{Kind: kind, CreatedAt: at, Content: content, Tags: tags}
	if err := e.Sign(secret); err != nil {
		panic(err) // only for a key that is none
	}
	return wire.NewEvent(e)
}

func public(secret string) string {
	key, err := nostr.GetPublicKey(secret)
	if err != nil {
		panic(err) // only for a key that is none
	}
	return key
}

// random returns what no relay has seen.
func random() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
