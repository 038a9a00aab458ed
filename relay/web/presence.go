package web

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/store"
	"fencepost/relay/web/nip98"
	"fencepost/relay/web/reply"
	"fencepost/relay/wire"
)

// maxPresence is for how many keys one request may ask.
const maxPresence = 100

// Roster says who is connected, as far as the session index knows, which is a cache.
// Errors are internal: the index cannot be read.
type Roster interface {
	// Presence returns what viewer may know about keys, in their order.
	Presence(ctx context.Context, viewer string, keys []string) ([]Presence, error)
	// Sessions returns sessions after a place in their order, and all nodes.
	Sessions(ctx context.Context, after store.SessionRef) ([]Session, []Node, error)
}

// Presence is what is known about a key. State is online, idle, stale, offline or
// unknown; a key about which the asker may know nothing is withheld.
type Presence struct {
	Key    string     `json:"pubkey"`
	State  string     `json:"state"`
	AsOf   *time.Time `json:"as_of,omitempty"`
	Age    *float64   `json:"age_seconds,omitempty"`
	Active *time.Time `json:"last_active,omitempty"`
}

// Session is a session as its node reported it.
type Session struct {
	store.SessionRef
	State  string          `json:"state"`
	AsOf   time.Time       `json:"as_of"`
	Age    float64         `json:"age_seconds"`
	Active time.Time       `json:"last_active"`
	Doc    json.RawMessage `json:"document,omitempty"`
}

// Node is a process as it reported itself.
type Node struct {
	store.Node
	State       string    `json:"state"` // reporting, stale or gone
	Connections int       `json:"connections"`
	AsOf        time.Time `json:"as_of"`
	Age         float64   `json:"age_seconds"`
}

// servePresence answers GET /api/presence?pubkeys=KEY,KEY for whoever signs (NIP-98).
func (s *server) servePresence(w http.ResponseWriter, r *http.Request) {
	viewer, ok := signer(w, r, s.Strangers, nil)
	if !ok {
		return
	}
	keys := strings.Split(r.URL.Query().Get("pubkeys"), ",")
	if len(keys) > maxPresence {
		reply.Because(w, http.StatusBadRequest, wire.Invalid, "pubkeys has at most 100 keys")
		return
	}
	for _, k := range keys {
		if !nostr.IsValid32ByteHex(k) {
			reply.Because(w, http.StatusBadRequest, wire.Invalid, "pubkeys is a list of keys, 64 characters of lower-case hex each, with commas between them")
			return
		}
	}
	all, err := s.Roster.Presence(r.Context(), viewer, keys)
	if err != nil {
		s.unreadable(w, err)
		return
	}
	reply.JSON(w, http.StatusOK, map[string]any{"now": time.Now().UTC(), "presence": all})
}

// serveSessions answers GET /api/sessions?after=CURSOR for the operator.
func (s *server) serveSessions(w http.ResponseWriter, r *http.Request) {
	if _, ok := signer(w, r, s.Verifier, isOperator(s.Config())); !ok {
		return
	}
	after, err := decodeCursor(r.URL.Query().Get("after"))
	if err != nil {
		reply.Because(w, http.StatusBadRequest, wire.Invalid, "after is the next of an earlier answer")
		return
	}
	all, nodes, err := s.Roster.Sessions(r.Context(), after)
	if err != nil {
		s.unreadable(w, err)
		return
	}
	out := struct {
		Now      time.Time `json:"now"`
		Nodes    []Node    `json:"nodes"`
		Sessions []Session `json:"sessions"`
		Next     string    `json:"next,omitempty"`
	}{time.Now().UTC(), nodes, all, ""}
	if len(all) > 0 {
		out.Next = encodeCursor(all[len(all)-1].SessionRef)
	}
	reply.JSON(w, http.StatusOK, out)
}

// signer returns who signed a GET, and answers it if nobody did that may.
func signer(w http.ResponseWriter, r *http.Request, v *nip98.Verifier, may func(string) error) (key string, ok bool) {
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet {
		reply.Method(w, http.MethodGet)
		return "", false
	}
	key, err := v.Verify(r, nil, may)
	if err != nil {
		reply.Unverified(w, err)
		return "", false
	}
	return key, true
}

// unreadable answers that the index is away: nobody is said to be offline then.
func (s *server) unreadable(w http.ResponseWriter, err error) {
	s.Logger.Error("session index cannot be read", "err", err)
	reply.Because(w, http.StatusServiceUnavailable, wire.Failed, "it is not known now who is connected")
}

func encodeCursor(at store.SessionRef) string {
	raw, err := json.Marshal(at)
	if err != nil {
		panic(err) // a bug: strings and numbers only
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

func decodeCursor(s string) (at store.SessionRef, err error) {
	if s == "" {
		return at, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return at, err
	}
	if err := json.Unmarshal(raw, &at); err != nil {
		return at, err
	}
	return at, at.Validate()
}
