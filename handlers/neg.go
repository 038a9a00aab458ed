package handlers

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/negentropy"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// What a negotiation is refused or ended with (NIP-77).
var (
	errNoNegotiations = wire.Because(wire.Blocked, "this relay does not reconcile")
	errNoSearch       = wire.Because(wire.Unsupported, "there is no search in a negotiation")
	errTooBig         = wire.Because(wire.Blocked, "this query is too big")
	errManyOpen       = wire.Because(wire.Blocked, "too many negotiations are open on this connection")
	errManyHeld       = wire.Because(wire.RateLimited, "the relay reconciles as much as it can, try later")
	errManyWaiting    = wire.Because(wire.RateLimited, "too many queries, or filter values in them, wait on this connection")
	errNoneOpen       = wire.Because(wire.Closed, "no negotiation of this name is open")
	errIdle           = wire.Because(wire.Closed, "you took too long to answer")
	errTalkMoved      = wire.Because(wire.Closed, "what you may see has changed, open it again")
	errTooSoon        = wire.Because(wire.Invalid, "a message came before the answer to the one before")
	errNoMessage      = wire.Because(wire.Invalid, "this is no negentropy message")
)

// negotiation is one NEG-OPEN and what follows it, until either side ends it.
type negotiation struct {
	// Set at construction, never changed.
	id   string
	talk *lifecycle.Talk

	// held is how many records are counted for it; of the one goroutine that collects
	// them and then waits for the end.
	held int

	events atomic.Pointer[negentropy.Set] // nil until they are collected, and after the end
	used   atomic.Int64                   // when the client last spoke, Unix nanoseconds
}

// negOpen begins a negotiation, in a query of its own. The older one of the same id ends,
// also when this one is refused; subscriptions have ids of their own.
func (s *Session) negOpen(ctx context.Context, m *wire.NegOpenMessage) {
	s.negClose(m.ID)
	l := s.limits.Load()
	answer, err := s.negAnswer(ctx, m.ID)
	if err != nil {
		return // the connection is ending
	}
	filters := []*wire.Filter{m.Filter}
	weight := wire.Weight(filters)
	keys := s.conn.Keys()
	err = s.checkFilters(filters)
	late := s.mayBeLate(err)
	if late {
		err = nil
	}
	switch {
	case l.NegRecords == 0 || s.negFrame() < negentropy.MinFrame:
		err = errNoNegotiations
	case err != nil:
	case m.Filter.Search != "":
		err = errNoSearch
	case l.NegSessions > 0 && s.openNegotiations() >= l.NegSessions:
		err = errManyOpen
	case !s.conn.Charge(weight): // as for a COUNT
		err = errManyWaiting
	}
	if err != nil {
		answer.Send(wire.AppendNegErr(nil, m.ID, reason(err, "could not read the filter")))
		return
	}
	n := &negotiation{id: m.ID, talk: s.conn.Talk()}
	s.negotiations[m.ID] = n
	started := s.conn.Query(ctx, "negotiate", func(ctx context.Context) {
		defer s.conn.Discharge(weight)
		if late {
			if err := s.judgeLate(ctx, keys, filters); err != nil {
				s.negFailed(ctx, n, answer, err)
				return
			}
		}
		s.negotiate(ctx, n, m, answer)
	})
	if !started {
		s.conn.Discharge(weight)
		answer.Drop()
	}
}

// negMsg answers the next message of a negotiation. It runs in the reader: it costs about
// as much as reading the message did.
func (s *Session) negMsg(ctx context.Context, m *wire.NegMsgMessage) {
	answer, err := s.negAnswer(ctx, m.ID)
	if err != nil {
		return // the connection is ending
	}
	n := s.negotiations[m.ID]
	if n == nil || n.isOver() {
		delete(s.negotiations, m.ID)
		answer.Send(wire.AppendNegErr(nil, m.ID, errNoneOpen))
		return
	}
	events := n.events.Load()
	if events == nil {
		n.talk.Fail(answer, wire.AppendNegErr(nil, m.ID, errTooSoon))
		return
	}
	n.used.Store(s.now().UnixNano())
	out, err := s.negReply(events, m.Message)
	if err != nil {
		n.talk.Fail(answer, wire.AppendNegErr(nil, m.ID, reason(err, "could not answer")))
		return
	}
	n.talk.Answer(answer, wire.AppendNegMsg(nil, m.ID, out), wire.AppendNegErr(nil, m.ID, errTalkMoved))
}

// negClose ends the negotiation of an id, without an answer (NIP-77).
func (s *Session) negClose(id string) {
	if n := s.negotiations[id]; n != nil {
		n.talk.End()
		delete(s.negotiations, id)
	}
}

// negRefuse answers what could not be read, which ends the negotiation of its id.
func (s *Session) negRefuse(ctx context.Context, id string, r wire.Reason) {
	s.negClose(id)
	s.answer(ctx, wire.AppendNegErr(nil, id, r))
}

func (n *negotiation) isOver() bool {
	select {
	case <-n.talk.Over():
		return true
	default:
		return false
	}
}

// openNegotiations counts those that are not over and forgets the others.
func (s *Session) openNegotiations() int {
	for id, n := range s.negotiations {
		if n.isOver() {
			delete(s.negotiations, id)
		}
	}
	return len(s.negotiations)
}

// negFrame is how many bytes an answer may have: of a small queue a part.
func (s *Session) negFrame() int {
	return min(s.limits.Load().NegFrame, s.conn.Limits().QueueBytes/16)
}

// negAnswer reserves room for an answer as long as may be.
func (s *Session) negAnswer(ctx context.Context, id string) (lifecycle.Answer, error) {
	return s.conn.ReserveLong(ctx, min(wire.NegMsgLen(id, s.negFrame()), s.conn.Limits().QueueBytes/2))
}

// negReply answers msg. What it rests on is looked at when it is taken, see RestOn.
func (s *Session) negReply(set *negentropy.Set, msg []byte) ([]byte, error) {
	out, err := set.Reply(msg, s.negFrame())
	if errors.Is(err, negentropy.ErrMessage) {
		err = errNoMessage
	}
	return out, err
}

// negotiate collects the events of n, answers its first message, and then waits for its
// end in a goroutine of its own.
func (s *Session) negotiate(ctx context.Context, n *negotiation, m *wire.NegOpenMessage, answer lifecycle.Answer) {
	events, err := s.collect(ctx, n, m.Filter)
	var out []byte
	if err == nil {
		out, err = s.negReply(events, m.Message)
	}
	s.pause.At(pause.NegCollected)
	if err != nil {
		s.releaseHeld(n)
		s.negFailed(ctx, n, answer, err)
		return
	}
	n.used.Store(s.now().UnixNano())
	n.events.Store(events) // before the answer, after which the next message comes
	n.talk.Answer(answer, wire.AppendNegMsg(nil, n.id, out), wire.AppendNegErr(nil, n.id, errTalkMoved))
	if !s.conn.Group().Go("negotiation", func(ctx context.Context) { s.attend(ctx, n) }) {
		s.releaseHeld(n)
	}
}

// negFailed ends n because of err, unless the client has ended it.
func (s *Session) negFailed(ctx context.Context, n *negotiation, answer lifecycle.Answer, err error) {
	var refused wire.Reason
	switch {
	case ctx.Err() != nil:
		answer.Drop()
		return
	case !errors.As(err, &refused):
		refused = wire.Because(wire.Failed, "could not read the stored events")
		s.log.Error("negotiation failed", "conn", s.conn.ID(), "sub", n.id, "err", err)
	}
	n.talk.Fail(answer, wire.AppendNegErr(nil, n.id, refused))
}

// attend waits until n is over or the client has said nothing for too long, and gives
// back what n holds.
func (s *Session) attend(ctx context.Context, n *negotiation) {
	defer s.releaseHeld(n)
	defer n.events.Store(nil)
	for {
		idle := s.limits.Load().NegIdle
		left := time.Unix(0, n.used.Load()).Add(idle).Sub(s.now())
		if idle > 0 && left <= 0 {
			n.talk.Expire(wire.AppendNegErr(nil, n.id, errIdle))
			return
		}
		timer := time.NewTimer(max(left, time.Second))
		select {
		case <-timer.C:
		case <-n.talk.Over():
		case <-ctx.Done():
		}
		timer.Stop()
		if n.isOver() || ctx.Err() != nil {
			return
		}
	}
}

// Held returns how many events the open negotiations of all connections are about.
func (h *Handlers) Held() int { return int(h.held.Load()) }

// hold counts records for n, and refuses more than the relay holds for all clients.
func (s *Session) hold(n *negotiation, records int) error {
	most := s.limits.Load().NegHeld
	if total := s.held.Add(int64(records)); most > 0 && total > int64(most) {
		s.held.Add(-int64(records))
		return errManyHeld
	}
	n.held += records
	return nil
}

func (s *Session) releaseHeld(n *negotiation) {
	s.held.Add(-int64(n.held))
	n.held = 0
}

// collect reads what the reader may see of a snapshot; see countStored.
func (s *Session) collect(ctx context.Context, n *negotiation, f *wire.Filter) (events *negentropy.Set, err error) {
	begin := s.now()
	snap, err := s.store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	if err := s.caughtUp(ctx); err != nil {
		return nil, err
	}
	work := budget{left: s.limits.Load().QueryTimeout}
	for range maxRounds {
		err = work.spend(ctx, func(ctx context.Context) (err error) {
			events, err = s.collectVisible(ctx, snap, n, f)
			return err
		})
		if !errors.Is(err, store.ErrMoved) { // race: revocation against what is collected
			s.metrics.Query(s.now().Sub(begin), n.held)
			return events, err
		}
		s.releaseHeld(n)
	}
	return nil, errMoving
}
