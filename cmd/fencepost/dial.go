package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
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
	err = onceListening(ctx, notListening, func(ctx context.Context) error {
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

// onceListening calls try again while again says so of its error: a relay that was just
// killed or is being started refuses connections or drops them for a moment. When time is
// up it is that error which counts, not that of a try which was cut short.
func onceListening(ctx context.Context, again func(error) bool, try func(context.Context) error) error {
	tick := time.NewTicker(connectTimeout / 50)
	defer tick.Stop()
	until := time.NewTimer(connectTimeout)
	defer until.Stop()
	var last error
	for {
		err := try(ctx)
		if last != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && err != nil {
			return last
		}
		if !again(err) {
			return err
		}
		last = err
		select {
		case <-tick.C:
		case <-until.C:
			return last
		case <-ctx.Done():
			return last
		}
	}
}

// refused says that nothing was sent.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// notListening is for tries that may be made twice: it is also true of an error that a
// relay causes which ends while it is asked.
func notListening(err error) bool {
	return refused(err) || slices.ContainsFunc([]error{syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF},
		func(e error) bool { return errors.Is(err, e) })
}
