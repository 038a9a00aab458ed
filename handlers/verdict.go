package handlers

import (
	"context"
	"errors"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// answerEvent sends OK (NIP-01). E1: OK true is for what is durable.
func (s *Session) answerEvent(sub *submission) {
	if errors.Is(sub.err, context.Canceled) { // the client left before the commit was begun
		s.metrics.EventOutcome("abandoned")
		sub.answer.Drop()
		return
	}
	ok, r := verdict(sub.err)
	if sub.err == nil {
		r = sub.said
	}
	if r.Prefix == wire.Failed && !errors.Is(sub.err, store.ErrMoved) {
		s.log.Error("event not saved", "conn", s.conn.ID(), "event", sub.event.ID, "err", sub.err)
	}
	s.metrics.EventOutcome(outcome(sub.err, r))
	sub.answer.Send(wire.AppendOK(nil, sub.event.ID, ok, r))
}

// outcome returns the metric label of an answer.
func outcome(err error, r wire.Reason) string {
	switch {
	case err == nil:
		return "stored"
	case r.Prefix == "":
		return "accepted" // without a write
	default:
		return string(r.Prefix)
	}
}

func verdict(err error) (ok bool, r wire.Reason) {
	var yes Accepted
	switch {
	case err == nil:
		return true, wire.Reason{}
	case errors.As(err, &yes):
		return true, yes.Accepted()
	case errors.Is(err, store.ErrDuplicate):
		return true, wire.Because(wire.Duplicate, "already have this event")
	case errors.Is(err, store.ErrSuperseded):
		return false, wire.Because(wire.Duplicate, "a newer version of this event is stored")
	case errors.Is(err, store.ErrDeleted):
		return false, wire.Because(wire.Blocked, "this event was deleted by its author")
	case errors.Is(err, store.ErrBanned):
		return false, wire.Because(wire.Blocked, "this event was removed by a moderator")
	case errors.Is(err, store.ErrVanished): // NIP-62: it must not come back
		return false, wire.Because(wire.Blocked, "this event is covered by a request to vanish")
	case errors.Is(err, store.ErrExpired):
		return false, wire.Because(wire.Invalid, "this event has expired")
	case errors.Is(err, store.ErrMoved):
		return false, errMoving
	default:
		return false, reason(err, "could not save the event")
	}
}
