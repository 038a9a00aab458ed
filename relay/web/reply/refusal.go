package reply

import (
	"errors"
	"net/http"

	"fencepost/relay/web/nip98"
	"fencepost/relay/wire"
)

// refusal is the body of every answer that is no success.
type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Error   string `json:"error"` // the message again
	Epoch   uint64 `json:"epoch,omitempty"`
}

// codes are those of the statuses that say enough.
var codes = map[int]string{
	http.StatusBadRequest:            "INVALID_ARGUMENT",
	http.StatusUnauthorized:          "UNAUTHENTICATED",
	http.StatusForbidden:             "PERMISSION_DENIED",
	http.StatusNotFound:              "NOT_FOUND",
	http.StatusMethodNotAllowed:      "METHOD_NOT_ALLOWED",
	http.StatusRequestEntityTooLarge: "INVALID_ARGUMENT",
	http.StatusUnsupportedMediaType:  "INVALID_ARGUMENT",
	http.StatusInternalServerError:   "INTERNAL",
	http.StatusServiceUnavailable:    "UNAVAILABLE",
}

// Refuse writes a refusal whose status says enough: one of 400, 401, 403, 404, 405, 413,
// 415, 500 and 503.
func Refuse(w http.ResponseWriter, status int, text string) {
	Fenced(w, status, codes[status], text, 0)
}

// Because writes the refusal of one of those statuses for a reason of NIP-01.
func Because(w http.ResponseWriter, status int, p wire.Prefix, text string) {
	Refuse(w, status, wire.Because(p, text).String())
}

// Fenced writes a refusal with a code of its own, and the present epoch of the fence that
// it is about, 0 for none.
func Fenced(w http.ResponseWriter, status int, code, text string, epoch uint64) {
	JSON(w, status, refusal{code, text, text, epoch})
}

// Method refuses a request for its method; allowed are those that there are.
func Method(w http.ResponseWriter, allowed string) {
	w.Header().Set("Allow", allowed)
	Refuse(w, http.StatusMethodNotAllowed, "method not allowed")
}

// Unverified writes what a verifier refused (NIP-98). Any other error is internal, and is
// not shown.
func Unverified(w http.ResponseWriter, err error) {
	out := &nip98.Refusal{Status: http.StatusInternalServerError, Reason: wire.Because(wire.Failed, "could not authenticate")}
	errors.As(err, &out)
	if out.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Nostr")
	}
	Refuse(w, out.Status, out.Reason.String())
}
