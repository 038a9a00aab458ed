package main

import (
	"context"
	"time"
)

// callTimeout is how long a relay may take to answer a signed call.
const callTimeout = 30 * time.Second

// signer is what the commands of one signed call share.
type signer struct{ keyFlag }

// send signs with the user's key what the command says and sends it: r.url is as the
// user wrote it. A signal ends the wait. An answer of any status is none of its errors.
func (s *signer) send(ctx context.Context, p *process, r signedRequest) (signedAnswer, error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	key, err := s.secret(p, true)
	if err != nil {
		return signedAnswer{}, err
	}
	if r.url, err = httpURL(r.url); err != nil {
		return signedAnswer{}, err
	}
	return r.send(ctx, key)
}
