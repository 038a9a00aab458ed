package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

	"fencepost/relay/client"
)

// envSecret names the variable that holds the key; a flag would show in ps.
const envSecret = "NOSTR_SECRET_KEY"

// connectTimeout is how long a relay may take to start listening and to answer.
const connectTimeout = 5 * time.Second

// connect dials a relay. One that is just being started refuses connections for
// a moment, so that is tried again.
func connect(ctx context.Context, address string) (*client.Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" {
		return nil, fmt.Errorf("%q is not a ws:// or wss:// URL", address)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	tick := time.NewTicker(connectTimeout / 50)
	defer tick.Stop()
	for {
		c, err := client.Dial(ctx, address, client.Options{})
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return c, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// secretKey returns the key of the environment as hex digits, "" when there is
// none. The error does not tell it.
func (p *process) secretKey() (string, error) {
	for _, v := range p.environ {
		secret, ok := strings.CutPrefix(v, envSecret+"=")
		if !ok {
			continue
		}
		if prefix, key, err := nip19.Decode(secret); err == nil && prefix == "nsec" {
			secret = key.(string)
		}
		if _, err := nostr.GetPublicKey(secret); err != nil || !nostr.IsValid32ByteHex(secret) {
			return "", fmt.Errorf("%s is neither an nsec nor 64 hex digits of a secret key", envSecret)
		}
		return secret, nil
	}
	return "", nil
}
