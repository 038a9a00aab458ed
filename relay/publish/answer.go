package publish

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"fencepost/lifecycle/fence"
	"fencepost/relay/web/nip98"
	"fencepost/relay/wire"
)

// The codes beside those of package fence.
const (
	codeInvalid         = "INVALID_ARGUMENT"
	codeUnauthenticated = "UNAUTHENTICATED"
	codeDenied          = "PERMISSION_DENIED"
	codeNotFound        = "NOT_FOUND"
	codeMethod          = "METHOD_NOT_ALLOWED"
	codeRefused         = "REFUSED"
	codeUnavailable     = "UNAVAILABLE"
	codeInternal        = "INTERNAL"
)

// refusal is the body of every answer that is no success.
type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Epoch   uint64 `json:"epoch,omitempty"`
}

// claimed answers a change of a fence.
type claimed struct {
	Stream string `json:"stream"`
	Epoch  uint64 `json:"epoch"`
	Active bool   `json:"active"`
	Lease  int64  `json:"lease_seconds"`
}

// admitted answers a frame.
type admitted struct {
	Stream    string `json:"stream"`
	Duplicate bool   `json:"duplicate"`
	Position  uint64 `json:"position,omitempty"`
	Epoch     uint64 `json:"epoch,omitempty"`
	Number    uint64 `json:"number,omitempty"`
	Message   string `json:"message,omitempty"`
}

// shown answers a look at a fence.
type shown struct {
	Stream  string `json:"stream"`
	Epoch   uint64 `json:"epoch"`
	Active  bool   `json:"active"`
	Expired bool   `json:"expired"`
	Lease   int64  `json:"lease_seconds"`
	Left    int64  `json:"lease_left_ms"`
	Next    uint64 `json:"next_number"`
	Pending int    `json:"pending"`
}

func show(name string, v fence.View) shown {
	left := max(v.Until.Sub(v.Now), 0)
	return shown{
		Stream: name, Epoch: v.Epoch, Active: v.Active, Expired: v.Expired(v.Now), Lease: int64(v.Lease / time.Second),
		Left: left.Milliseconds(), Next: v.Next, Pending: v.Pending,
	}
}

// statuses are those of the refusals by a fence.
var statuses = map[fence.Code]int{
	fence.Aborted:            http.StatusConflict,
	fence.FailedPrecondition: http.StatusPreconditionFailed,
	fence.ResourceExhausted:  http.StatusTooManyRequests,
}

// fail answers err, which an engine returned.
func (h *handler) fail(w http.ResponseWriter, s fence.Stream, err error) {
	var refused *fence.Error
	if errors.As(err, &refused) {
		send(w, statuses[refused.Code], refusal{string(refused.Code), refused.Text, refused.Epoch})
		return
	}
	h.Logger.Error("publisher's call failed", "stream", s.Name, "err", err)
	send(w, http.StatusInternalServerError, refusal{Code: codeInternal, Message: "the call failed; whether it took effect is not known"})
}

// unauthorized answers what nip98 refused.
func unauthorized(w http.ResponseWriter, err error) {
	out := &nip98.Refusal{Status: http.StatusInternalServerError, Reason: wire.Because(wire.Failed, "could not authenticate")}
	errors.As(err, &out)
	code := codeInternal
	switch out.Status {
	case http.StatusUnauthorized:
		code = codeUnauthenticated
		w.Header().Set("WWW-Authenticate", "Nostr")
	case http.StatusForbidden:
		code = codeDenied
	case http.StatusServiceUnavailable:
		code = codeUnavailable
	}
	send(w, out.Status, refusal{Code: code, Message: out.Reason.String()})
}

func invalid(w http.ResponseWriter, status int, text string) {
	send(w, status, refusal{Code: codeInvalid, Message: text})
}

// send writes a whole answer. An error of the write means that the client is gone.
func send(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // a bug: only types of this package come here
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // see above
}
