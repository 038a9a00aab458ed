package nip98

import (
	"net/http"

	"fencepost/relay/wire"
)

// Refusal says why a request is not served. Reason is safe to be shown.
type Refusal struct {
	Status int // of the HTTP answer: 401, 403 or 503
	Reason wire.Reason
}

func (r *Refusal) Error() string { return r.Reason.String() }

// unauthorized is the refusal of a request without a valid token.
func unauthorized(p wire.Prefix, text string) *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, Reason: wire.Because(p, text)}
}

func invalid(text string) *Refusal { return unauthorized(wire.Invalid, text) }
