package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"syscall"
	"time"

	"fencepost/relay/client"
)

// connectTimeout is how long a relay may take to start listening and to answer.
const connectTimeout = 5 * time.Second

// connect dials a relay.
func connect(ctx context.Context, address string) (c *client.Client, err error) {
	if err := isRelay(address); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	err = onceListening(ctx, func(ctx context.Context) error {
		c, err = client.Dial(ctx, address, client.Options{})
		return err
	})
	return c, err
}

// isRelay returns an error for what cannot be the URL of a relay.
func isRelay(address string) error {
	if u, err := url.Parse(address); err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" {
		return fmt.Errorf("%q is not a ws:// or wss:// URL", address)
	}
	return nil
}

// onceListening calls try again while connections are refused: a relay that is
// just being started does that for a moment. When time is up it is that error which
// counts, not that of a try which was cut short.
func onceListening(ctx context.Context, try func(context.Context) error) error {
	tick := time.NewTicker(connectTimeout / 50)
	defer tick.Stop()
	until := time.NewTimer(connectTimeout)
	defer until.Stop()
	var refused error
	for {
		err := try(ctx)
		if refused != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && err != nil {
			return refused
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
		refused = err
		select {
		case <-tick.C:
		case <-until.C:
			return refused
		case <-ctx.Done():
			return refused
		}
	}
}

// authenticate answers the challenge that a relay sends at connect (NIP-42). What
// it sends before that is passed over.
func authenticate(ctx context.Context, c *client.Client, key string) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for c.Challenge() == "" {
		if _, err := c.Next(ctx); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				err = errors.New("the relay sends no challenge")
			}
			return fmt.Errorf("authenticate: %w", err)
		}
	}
	return c.Authenticate(ctx, key)
}
