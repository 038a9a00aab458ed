package handlers

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip13"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

// submission is an EVENT on its way through the lane.
type submission struct {
	event  *wire.Event
	answer lifecycle.Answer
	keys   []string // that had authenticated when it was read

	// Owned by the reader, then by the pool, which checks the signature, then by commit.
	err    error
	rounds int         // how often it has been planned
	said   wire.Reason // beside OK true
}

// event takes an EVENT: what can be decided at once is answered at once, the
// rest goes through the lane, which keeps the order of reading (G9).
func (s *Session) event(ctx context.Context, ev *wire.Event) {
	answer, err := s.conn.ReserveAnswer(ctx)
	if err != nil {
		return // the connection is ending
	}
	sub := &submission{event: ev, answer: answer, keys: s.conn.Keys()}
	if sub.err = s.judge(sub.keys, ev); sub.err != nil {
		s.answerEvent(sub)
		return
	}
	err = s.lane.Push(ctx, sub, len(ev.Raw()), func() { sub.err = ev.Verify() })
	if err != nil {
		answer.Drop() // the connection is ending
	}
}

// judge applies the limits and refuses what is hopeless. It looks at what the
// client claims; id and signature are checked later, and the decision to write is
// taken then.
func (h *Handlers) judge(keys []string, ev *wire.Event) error {
	if ev.Kind == nostr.KindClientAuthentication {
		return wire.Because(wire.Invalid, "kind 22242 is for AUTH and is not published")
	}
	if err := h.checkSize(ev); err != nil {
		return err
	}
	if err := h.checkTime(ev); err != nil {
		return err
	}
	if err := ev.Validate(); err != nil {
		return err
	}
	if most := h.limits.Load().MinPoW; most > 0 {
		if got := nip13.Difficulty(ev.ID); got < most {
			return wire.Because(wire.PoW, fmt.Sprintf("difficulty %d is less than %d", got, most))
		}
	}
	return h.writing.MaySubmit(keys, ev)
}

func (h *Handlers) checkSize(ev *wire.Event) error {
	l := h.limits.Load()
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

func (h *Handlers) checkTime(ev *wire.Event) error {
	l, now := h.limits.Load(), h.now()
	at := int64(ev.CreatedAt)
	if l.CreatedPast > 0 && at < now.Add(-l.CreatedPast).Unix() {
		return wire.Because(wire.Invalid, "created_at is too far in the past")
	}
	if l.CreatedFuture > 0 && at > now.Add(l.CreatedFuture).Unix() {
		return wire.Because(wire.Invalid, "created_at is too far in the future")
	}
	return nil
}

// within reports whether at, in Unix seconds, is at most window away from now.
func within(at int64, now time.Time, window time.Duration) bool {
	return at >= now.Add(-window).Unix() && at <= now.Add(window).Unix()
}
