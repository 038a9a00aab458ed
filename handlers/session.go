package handlers

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

// Session is the protocol side of one connection.
type Session struct {
	// Set at construction, never changed.
	*Handlers
	conn      *lifecycle.Conn
	challenge string // NIP-42
	lane      *lifecycle.Lane[*submission]

	// Owned by the reader: id -> the negotiation, which may be over.
	negotiations map[string]*negotiation
}

// Open begins the protocol on c: it sends the NIP-42 challenge.
func (h *Handlers) Open(c *lifecycle.Conn) *Session {
	s := &Session{Handlers: h, conn: c, challenge: rand.Text(), negotiations: make(map[string]*negotiation)}
	s.lane = lifecycle.NewLane(c.Group(), h.pool, c.Limits(), s.commit)
	c.Notify(wire.AppendAuth(nil, s.challenge))
	return s
}

// Handle takes one message. It is called by the reader, message after message.
func (s *Session) Handle(ctx context.Context, msg []byte) {
	m, err := wire.Decode(msg)
	if err != nil {
		s.undecodable(ctx, err)
		return
	}
	switch m := m.(type) {
	case *wire.EventMessage:
		s.metrics.Message("EVENT")
		s.event(ctx, m.Event)
	case *wire.ReqMessage:
		s.metrics.Message("REQ")
		s.req(ctx, m)
	case *wire.ChangesMessage:
		s.metrics.Message("CHANGES")
		s.changes(ctx, m)
	case *wire.CloseMessage:
		s.metrics.Message("CLOSE")
		s.close(m)
	case *wire.NegOpenMessage:
		s.metrics.Message("NEG-OPEN")
		s.negOpen(ctx, m)
	case *wire.NegMsgMessage:
		s.metrics.Message("NEG-MSG")
		s.negMsg(ctx, m)
	case *wire.NegCloseMessage:
		s.metrics.Message("NEG-CLOSE")
		s.negClose(m.ID)
	case *wire.CountMessage:
		s.metrics.Message("COUNT")
		s.count(ctx, m)
	case *wire.AuthMessage:
		s.metrics.Message("AUTH")
		s.auth(ctx, m.Event)
	}
}

// End takes the generations that the connection's end retired out of the index.
func (s *Session) End(ended []*lifecycle.Handle) {
	for _, h := range ended {
		s.index.Remove(h)
	}
}

// undecodable answers a message that is not NIP-01: under the name of what it
// concerns, as far as that could be read.
func (s *Session) undecodable(ctx context.Context, err error) {
	s.metrics.Message("invalid")
	var bad *wire.Error
	if !errors.As(err, &bad) {
		bad = &wire.Error{Reason: wire.Because(wire.Failed, "could not read the message")}
	}
	switch {
	case bad.EventID != "":
		s.answer(ctx, wire.AppendOK(nil, bad.EventID, false, bad.Reason))
	case bad.HasSub && strings.HasPrefix(bad.Verb, "NEG-"):
		s.negRefuse(ctx, bad.Sub, bad.Reason)
	case bad.HasSub && bad.Verb == "CHANGES" && wire.ValidSub(bad.Sub):
		s.refuseFeed(ctx, bad.Sub, bad.Reason)
	case bad.HasSub && bad.Verb != "COUNT" && wire.ValidSub(bad.Sub): // the client believes it ended
		s.refuse(ctx, bad.Sub, bad.Reason)
	case bad.HasSub:
		s.answer(ctx, wire.AppendClosed(nil, bad.Sub, bad.Reason))
	default:
		s.answer(ctx, wire.AppendNotice(nil, bad.Reason))
	}
}

// answer sends one frame that the client is owed, waiting for room.
func (s *Session) answer(ctx context.Context, frame []byte) {
	a, err := s.conn.ReserveAnswer(ctx)
	if err != nil {
		return // the connection is ending
	}
	a.Send(frame)
}

// refuse answers a REQ with CLOSED and ends the older generation of its id (G5).
func (s *Session) refuse(ctx context.Context, id string, r wire.Reason) {
	old, err := s.conn.Refuse(ctx, id, r)
	if err != nil {
		return // the connection is ending
	}
	s.metrics.SubscriptionEnded(string(r.Prefix))
	s.unindex(old)
}

func (s *Session) unindex(h *lifecycle.Handle) {
	if h != nil {
		s.index.Remove(h)
	}
}

// reason returns what the client may read of err: the refusal itself, or the
// fallback when err is internal.
func reason(err error, fallback string) wire.Reason {
	var r wire.Reason
	if errors.As(err, &r) {
		return r
	}
	return wire.Because(wire.Failed, fallback)
}
