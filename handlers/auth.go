package handlers

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// maxKeys bounds the keys that authenticate on one connection.
const maxKeys = 64

// auth answers AUTH (NIP-42). It runs to its end in the reader: the next message
// is judged with the key (G9). Every AUTH gets an OK.
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
	if !s.holds(ev.PubKey) {
		keys := append(slices.Clone(s.Keys()), ev.PubKey)
		s.keys.Store(&keys)
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
	if len(s.Keys()) >= maxKeys && !s.holds(ev.PubKey) {
		return wire.Because(wire.RateLimited, "too many keys on this connection")
	}
	return nil
}

func (s *Session) isRelayURL(claimed string, urls []string) bool {
	got, ok := normalURL(claimed)
	if !ok {
		return false
	}
	if len(urls) == 0 {
		urls = []string{s.conn.Peer().URL}
	}
	return slices.ContainsFunc(urls, func(u string) bool {
		want, ok := normalURL(u)
		return ok && got == want
	})
}

// normalURL brings a relay URL into the form in which two are compared: lower
// case scheme and host, no default port, no trailing slash; the path counts.
func normalURL(raw string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Host == "" || u.RawQuery != "" {
		return "", false
	}
	if strings.Contains(u.Hostname(), ":") && !strings.HasPrefix(u.Host, "[") { // two ports, of which the last could be a default
		return "", false
	}
	scheme := strings.ToLower(u.Scheme)
	switch scheme {
	case "http":
		scheme = "ws"
	case "https":
		scheme = "wss"
	}
	host, port := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), u.Port()
	if scheme == "ws" && port == "80" || scheme == "wss" && port == "443" {
		port = ""
	}
	if port != "" {
		port = ":" + port
	}
	return scheme + "://" + host + port + strings.TrimRight(u.EscapedPath(), "/"), scheme == "ws" || scheme == "wss"
}
