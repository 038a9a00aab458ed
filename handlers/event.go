package handlers

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip13"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// submission is an EVENT on its way through the lane.
type submission struct {
	event  *wire.Event
	answer lifecycle.Answer
	err    error // of the signature check; written by the pool, read by commit
}

// event takes an EVENT: what can be decided at once is answered at once, the
// rest goes through the lane, which keeps the order of reading (G9).
func (s *Session) event(ctx context.Context, ev *wire.Event) {
	answer, err := s.conn.ReserveAnswer(ctx)
	if err != nil {
		return // the connection is ending
	}
	if err := s.judge(ev); err != nil {
		s.answerEvent(answer, ev, err)
		return
	}
	sub := &submission{event: ev, answer: answer}
	err = s.lane.Push(ctx, sub, len(ev.Raw()), func() { sub.err = ev.Verify() })
	if err != nil {
		answer.Drop() // the connection is ending
	}
}

// judge applies the limits and the policy. It looks at what the client claims;
// id and signature are checked later.
func (s *Session) judge(ev *wire.Event) error {
	if ev.Kind == nostr.KindClientAuthentication {
		return wire.Because(wire.Invalid, "kind 22242 is for AUTH and is not published")
	}
	if err := s.checkSize(ev); err != nil {
		return err
	}
	if err := s.checkTime(ev); err != nil {
		return err
	}
	if err := ev.Validate(); err != nil {
		return err
	}
	if most := s.limits.Load().MinPoW; most > 0 {
		if got := nip13.Difficulty(ev.ID); got < most {
			return wire.Because(wire.PoW, fmt.Sprintf("difficulty %d is less than %d", got, most))
		}
	}
	return s.access.MayWrite(s.Keys(), ev)
}

func (s *Session) checkSize(ev *wire.Event) error {
	l := s.limits.Load()
	if l.Tags > 0 && len(ev.Tags) > l.Tags {
		return wire.Because(wire.Invalid, fmt.Sprintf("more than %d tags", l.Tags))
	}
	if longer(ev.Content, l.Content) {
		return wire.Because(wire.Invalid, fmt.Sprintf("content is longer than %d characters", l.Content))
	}
	for _, tag := range ev.Tags {
		for _, v := range tag {
			if longer(v, l.TagValue) {
				return wire.Because(wire.Invalid, fmt.Sprintf("a tag value is longer than %d characters", l.TagValue))
			}
		}
	}
	return nil
}

// longer reports whether s has more than most characters; a most of 0 is no bound.
func longer(s string, most int) bool {
	return most > 0 && len(s) > most && utf8.RuneCountInString(s) > most
}

func (s *Session) checkTime(ev *wire.Event) error {
	l, now := s.limits.Load(), s.now()
	at := int64(ev.CreatedAt)
	if l.CreatedPast > 0 && at < now.Add(-l.CreatedPast).Unix() {
		return wire.Because(wire.Invalid, "created_at is too far in the past")
	}
	if l.CreatedFuture > 0 && at > now.Add(l.CreatedFuture).Unix() {
		return wire.Because(wire.Invalid, "created_at is too far in the future")
	}
	return nil
}

// commit is the lane's serial stage: one Append for what is ready together.
func (s *Session) commit(ctx context.Context, batch []*submission) {
	s.pause.At(pause.EventVerified)
	writes := make([]store.Write, 0, len(batch))
	for _, sub := range batch {
		if sub.err == nil {
			writes = append(writes, store.Write{Event: sub.event})
		}
	}
	var outcomes []store.Outcome
	if len(writes) > 0 {
		begin := s.now()
		outcomes = s.store.Append(ctx, writes)
		s.metrics.Commit(len(writes), s.now().Sub(begin))
	}
	s.pause.At(pause.EventCommitted)
	for _, sub := range batch {
		if sub.err == nil {
			sub.err, outcomes = outcomes[0].Err, outcomes[1:]
		}
		s.answerEvent(sub.answer, sub.event, sub.err)
	}
}

// answerEvent sends OK (NIP-01). E1: OK true is for what is durable.
func (s *Session) answerEvent(answer lifecycle.Answer, ev *wire.Event, err error) {
	if errors.Is(err, context.Canceled) { // the client left before the commit was begun
		s.metrics.EventOutcome("abandoned")
		answer.Drop()
		return
	}
	ok, r := verdict(err)
	if r.Prefix == wire.Failed {
		s.log.Error("event not saved", "conn", s.conn.ID(), "event", ev.ID, "err", err)
	}
	outcome := string(r.Prefix)
	if outcome == "" {
		outcome = "stored"
	}
	s.metrics.EventOutcome(outcome)
	answer.Send(wire.AppendOK(nil, ev.ID, ok, r))
}

func verdict(err error) (ok bool, r wire.Reason) {
	switch {
	case err == nil:
		return true, wire.Reason{}
	case errors.Is(err, store.ErrDuplicate):
		return true, wire.Because(wire.Duplicate, "already have this event")
	case errors.Is(err, store.ErrSuperseded):
		return false, wire.Because(wire.Duplicate, "a newer version of this event is stored")
	case errors.Is(err, store.ErrDeleted):
		return false, wire.Because(wire.Blocked, "this event was deleted by its author")
	case errors.Is(err, store.ErrExpired):
		return false, wire.Because(wire.Invalid, "this event has expired")
	default:
		return false, reason(err, "could not save the event")
	}
}

// within reports whether at, in Unix seconds, is at most window away from now.
func within(at int64, now time.Time, window time.Duration) bool {
	return at >= now.Add(-window).Unix() && at <= now.Add(window).Unix()
}
