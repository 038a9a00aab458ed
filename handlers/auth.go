package handlers

import (
	"context"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/wire"
)

// policyViolation is a close code of RFC 6455 section 7.4.1.
const policyViolation = 1008

// maxKeys bounds the keys that authenticate on one connection.
const maxKeys = 64

// auth answers AUTH (NIP-42). It runs to its end in the reader: the next message
// is judged with the key (G9). Every AUTH gets an OK. The key of somebody who is
// banned ends the connection.
func (s *Session) auth(ctx context.Context, ev *wire.Event) {
	answer, err := s.conn.ReserveAnswer(ctx)
	if err != nil {
		return // the connection is ending
	}
	err = s.checkAuth(ev)
	if err == nil { // in the pool, or AUTH would get more cores than all EVENTs together
		var bad error
		if err = s.pool.Run(ctx, func() { bad = ev.Verify() }); err == nil {
			err = bad
		}
	}
	if err != nil {
		answer.Send(wire.AppendOK(nil, ev.ID, false, reason(err, "could not authenticate")))
		return
	}
	s.conn.AddKey(ev.PubKey)
	s.pause.At(pause.AuthAdded)
	// After AddKey: a ban that is applied later finds the key on this connection.
	if err := s.writing.MayAuthenticate(ev.PubKey); err != nil {
		r := reason(err, "could not authenticate")
		answer.Send(wire.AppendOK(nil, ev.ID, false, r))
		s.conn.Close(lifecycle.Cause{Code: policyViolation, Text: r.String()})
		return
	}
	answer.Send(wire.AppendOK(nil, ev.ID, true, wire.Reason{}))
}

// checkAuth checks what NIP-42 demands but the signature.
func (s *Session) checkAuth(ev *wire.Event) error {
	if ev.Kind != nostr.KindClientAuthentication {
		return wire.Because(wire.Invalid, "an AUTH event has kind 22242")
	}
	if v, _ := ev.Tag("challenge"); v != s.challenge {
		return wire.Because(wire.Invalid, "challenge does not match")
	}
	l := s.limits.Load()
	if !within(int64(ev.CreatedAt), s.now(), l.AuthWindow) {
		return wire.Because(wire.Invalid, "created_at is too far from now")
	}
	if v, _ := ev.Tag("relay"); !s.isRelayURL(v, l.URLs) {
		return wire.Because(wire.Invalid, "relay URL does not match")
	}
	if keys := s.conn.Keys(); len(keys) >= maxKeys && !slices.Contains(keys, ev.PubKey) {
		return wire.Because(wire.RateLimited, "too many keys on this connection")
	}
	return nil
}

func (s *Session) isRelayURL(claimed string, urls []string) bool {
	got, ok := wire.NormalURL(claimed)
	if !ok {
		return false
	}
	if len(urls) == 0 {
		urls = []string{s.conn.Peer().URL}
	}
	return slices.ContainsFunc(urls, func(u string) bool {
		want, ok := wire.NormalURL(u)
		return ok && got == want
	})
}
