package web

import (
	"net/http"

	"fencepost/relay/web/reply"
)

// Readiness says whether the relay should be sent traffic.
type Readiness struct {
	Ready    bool     `json:"ready"`
	Reasons  []string `json:"reasons"`            // why it is not ready
	Degraded []string `json:"degraded,omitempty"` // what is impaired although it is ready
	Position uint64   `json:"position"`           // log position that the fan-out has applied
}

// serveHealth says that the process serves. It looks at nothing else: a restart
// of a database must not make a balancer drop every replica's readers.
func (s *server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	reply.Bytes(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok"))
}

func (s *server) serveReady(w http.ResponseWriter, _ *http.Request) {
	ready := Readiness{Ready: true}
	if s.Ready != nil {
		ready = s.Ready()
	}
	if ready.Reasons == nil {
		ready.Reasons = []string{}
	}
	status := http.StatusOK
	if !ready.Ready {
		status = http.StatusServiceUnavailable
	}
	reply.JSON(w, status, ready)
}
