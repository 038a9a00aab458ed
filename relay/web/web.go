package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/textproto"
	"strings"

	"fencepost/relay/config"
	"fencepost/relay/web/nip98"
	"fencepost/relay/web/reply"
	"fencepost/relay/wire"
)

// Options make the handler. Config and Socket must be set, Verifier and Logger with
// Manager or Roster, Strangers with Roster.
type Options struct {
	Config   func() config.Config                 // the present configuration; must not block
	Socket   http.Handler                         // takes WebSocket upgrades at the endpoint
	Metrics  http.Handler                         // nil: there is no /metrics
	Ready    func() Readiness                     // nil: always ready
	Gate     func(next http.Handler) http.Handler // stands before all but management; nil: there is none
	Manager  Manager                              // nil: there is no management API
	API      http.Handler                         // of everything below /api/; nil: there is nothing
	Roster   Roster                               // nil: nobody is told who is connected
	Verifier *nip98.Verifier                      // tells whether the operator sent a request
	// Strangers tells who sent one that anybody may send. Its ledger is not Verifier's,
	// unless that cannot be full: a stranger who fills it would lock the operator out.
	Strangers *nip98.Verifier
	Logger    *slog.Logger
	Log       func(ctx context.Context) (wire.Log, error) // for changes feeds; nil: the document says nothing of it
	Search    bool                                        // the store searches (NIP-50)
	Self      string                                      // the relay's own public key, hex, or ""
	Version   string                                      // of the program, or ""
}

// New returns the handler of the whole HTTP server.
func New(o Options) http.Handler {
	s := &server{Options: o, page: newPage()}
	if o.Gate == nil {
		return s
	}
	gated := o.Gate(s)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.isCall(r) { // or an operator whom a block has hit could not take it back
			s.ServeHTTP(w, r)
			return
		}
		gated.ServeHTTP(w, r)
	})
}

type server struct {
	Options
	page *page
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch r.URL.Path {
	case "/healthz":
		s.plain(w, r, s.serveHealth)
		return
	case "/readyz":
		s.plain(w, r, s.serveReady)
		return
	case "/metrics":
		if s.Metrics != nil {
			s.plain(w, r, s.Metrics.ServeHTTP)
			return
		}
	}
	if s.Roster != nil {
		switch r.URL.Path {
		case "/api/presence":
			s.servePresence(w, r)
			return
		case "/api/sessions":
			s.serveSessions(w, r)
			return
		}
	}
	if s.API != nil && strings.HasPrefix(r.URL.Path, "/api/") {
		s.API.ServeHTTP(w, r)
		return
	}
	if c := s.Config(); isEndpoint(r, c) {
		s.serveEndpoint(w, r, c)
		return
	}
	reply.Refuse(w, http.StatusNotFound, "not found")
}

func isEndpoint(r *http.Request, c config.Config) bool {
	path := c.Relay.Path()
	return r.URL.Path == path || r.URL.Path == path+"/" && path != "/"
}

// plain serves what can only be read.
func (s *server) plain(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		reply.Method(w, "GET, HEAD")
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	next(w, r)
}

// endpointMethods returns what the endpoint is asked with.
func (s *server) endpointMethods() string {
	if s.Manager == nil {
		return "GET, HEAD, OPTIONS"
	}
	return "GET, HEAD, OPTIONS, POST"
}

// serveEndpoint is the one path of the socket, the document, the page and the
// management API.
func (s *server) serveEndpoint(w http.ResponseWriter, r *http.Request, c config.Config) {
	if r.Method == http.MethodGet && isUpgrade(r.Header) {
		s.Socket.ServeHTTP(w, r)
		return
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Headers", "*, Authorization") // which the wildcard does not stand for
	h.Set("Access-Control-Allow-Methods", s.endpointMethods())
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		h.Set("Vary", "Accept")
		h.Set("Cache-Control", "no-cache")
		if wantsDocument(r.Header.Values("Accept")) {
			s.serveDocument(w, r, c)
			return
		}
		s.servePage(w, r, c)
	case http.MethodOptions:
		h.Set("Allow", s.endpointMethods())
		h.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
	case http.MethodPost:
		if s.Manager != nil {
			s.serveManagement(w, r, c)
			return
		}
		reply.Method(w, s.endpointMethods())
	default:
		reply.Method(w, s.endpointMethods())
	}
}

// isUpgrade reports whether a request asks for WebSocket (RFC 6455 section
// 4.2.1); whether it does so properly is for the socket's handler to say.
func isUpgrade(h http.Header) bool {
	return hasToken(h.Values("Connection"), "upgrade") && hasToken(h.Values("Upgrade"), "websocket")
}

func hasToken(values []string, token string) bool {
	for _, v := range values {
		for item := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(textproto.TrimString(item), token) {
				return true
			}
		}
	}
	return false
}
