package nip98

import (
	"context"
	"errors"
	"net/http"
	"time"

	"fencepost/relay/wire"
)

// Window is how far created_at of a token may be from now, in either direction.
const Window = time.Minute

// Ledger remembers tokens that were used.
type Ledger interface {
	// Seen remembers the token of this event id until a time, and reports whether
	// it is the first to do so. Of several callers exactly one is the first, and
	// nobody is any more when the time has come. It may block.
	Seen(ctx context.Context, id string, until time.Time) (first bool, err error)
}

// Options make a Verifier. All but Since must be set.
type Options struct {
	Now    func() time.Time
	Ledger Ledger
	// Since is when the ledger began to remember: a token that was made before may
	// have been used, and is refused. Zero for one that never forgot.
	Since time.Time
	// Bases returns the URLs (http, https, ws or wss) under which clients reach
	// what serves r; scheme and host count, path and query are those of r. One that
	// takes the host from r lets a token be used here that was made for another site.
	Bases func(r *http.Request) []string
}

// Verifier tells who sent a request.
type Verifier struct{ o Options }

// New returns a verifier.
func New(o Options) *Verifier { return &Verifier{o: o} }

// Verify returns the public key that signed r with this body, all of it; nil or
// empty when r has none. may, unless it is nil, says whether that key is let in at
// all; a token that it refuses is not used up. An error is a *Refusal: 401 without
// a valid token, 403 with the error of may as its text (a wire.Reason as it is), 503
// when the ledger fails.
func (v *Verifier) Verify(r *http.Request, body []byte, may func(pubkey string) error) (pubkey string, err error) {
	e, err := decode(r.Header)
	if err != nil {
		return "", err
	}
	if err := v.check(e, r, body); err != nil {
		return "", err
	}
	if err := e.Verify(); err != nil {
		return "", invalid("the token's id or signature is wrong")
	}
	if may != nil {
		if err := may(e.PubKey); err != nil {
			reason := wire.Because(wire.Restricted, err.Error())
			errors.As(err, &reason) // with a prefix of its own
			return "", &Refusal{Status: http.StatusForbidden, Reason: reason}
		}
	}
	return e.PubKey, v.use(r.Context(), e)
}

// check checks what NIP-98 demands but signature and single use.
func (v *Verifier) check(e *wire.Event, r *http.Request, body []byte) error {
	if e.Kind != Kind {
		return invalid("the token's kind is not 27235")
	}
	if distance := v.o.Now().Unix() - int64(e.CreatedAt); distance > seconds || distance < -seconds {
		return invalid("the token's created_at is more than 60 seconds from now")
	}
	if time.Unix(int64(e.CreatedAt), 0).Before(v.o.Since) {
		return invalid("the token was made before this relay started; make a new one")
	}
	if u, _ := e.Tag("u"); !names(u, r, v.o.Bases(r)) {
		return invalid("the token's u tag is not the URL of this request")
	}
	if m, _ := e.Tag("method"); m != r.Method {
		return invalid("the token's method tag is not the method of this request")
	}
	payload, ok := e.Tag("payload")
	switch {
	case !ok && len(body) > 0:
		return invalid("the token has no payload tag")
	case ok && payload != hash(body):
		return invalid("the token's payload tag is not the SHA-256 of the body")
	}
	return nil
}

const seconds = int64(Window / time.Second)

// use uses the token up. It is remembered to the end of the last second in which
// check would pass it.
func (v *Verifier) use(ctx context.Context, e *wire.Event) error {
	first, err := v.o.Ledger.Seen(ctx, e.ID, time.Unix(int64(e.CreatedAt)+seconds+1, 0))
	switch {
	case err != nil:
		return &Refusal{Status: http.StatusServiceUnavailable, Reason: wire.Because(wire.Failed, "tokens cannot be checked now")}
	case !first:
		return invalid("the token was used before; equal requests of one second need a tag that tells them apart, such as a nonce")
	}
	return nil
}
