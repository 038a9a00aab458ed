package main

import (
	"context"
	"errors"
	"fmt"

	"fencepost/relay/client"
	"fencepost/relay/wire"
)

// subscribeCommand prints what a subscription receives, one event a line, until
// it is interrupted.
type subscribeCommand struct {
	keyFlag
	URL    string `arg:"" help:"The relay: ws:// or wss://."`
	Filter string `arg:"" optional:"" default:"{}" help:"A NIP-01 filter as JSON."`
	Stored bool   `help:"Stop after the stored events."`
	Auth   bool   `help:"Authenticate first (NIP-42); else only when the relay asks for it and there is a key."`
}

const subscribeID = "subscribe"

// Run subscribes. A CLOSED of the relay, or the loss of the connection, is an
// error; an interrupt is not.
func (c *subscribeCommand) Run(ctx context.Context, p *process) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	filter, err := wire.DecodeFilter([]byte(c.Filter))
	if err != nil {
		return fmt.Errorf("filter: %w", err)
	}
	key, err := c.secret(p, c.Auth)
	if err != nil {
		return err
	}
	conn, err := connect(ctx, c.URL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if c.Auth {
		if err := authenticate(ctx, conn, key); err != nil {
			return err
		}
		key = "" // is not asked for again
	}
	return c.follow(ctx, p, conn, wire.AppendReq(nil, subscribeID, []*wire.Filter{filter}), key)
}

// follow sends the REQ and prints what comes. When the relay asks for
// authentication and there is a key, that is done and the REQ sent again.
func (c *subscribeCommand) follow(ctx context.Context, p *process, conn *client.Client, req []byte, key string) error {
	if err := conn.Send(ctx, req); err != nil {
		return err
	}
	for {
		m, err := conn.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if key != "" && m.Verb == "CLOSED" && asksForAuth(m.Text) {
			if err := authenticate(ctx, conn, key); err != nil {
				return err
			}
			return c.follow(ctx, p, conn, req, "")
		}
		if done, err := c.print(p, m); done || err != nil {
			return err
		}
	}
}

// print writes one message: events to standard output, the rest beside it.
func (c *subscribeCommand) print(p *process, m wire.RelayMessage) (done bool, err error) {
	switch m.Verb {
	case "EVENT":
		err = printEvent(p, m.Event)
	case "EOSE":
		fmt.Fprintln(p.stderr, "-- end of stored events")
		done = c.Stored
	case "CLOSED":
		err = fmt.Errorf("subscription closed: %s", m.Text)
	case "NOTICE":
		fmt.Fprintln(p.stderr, "-- notice:", m.Text)
	}
	return done, err
}
