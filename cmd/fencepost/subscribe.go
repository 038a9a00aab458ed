package main

import (
	"context"
	"errors"
	"fmt"

	"fencepost/relay/wire"
)

// subscribeCommand prints what a subscription receives, one event a line, until
// it is interrupted.
type subscribeCommand struct {
	URL    string `arg:"" help:"The relay: ws:// or wss://."`
	Filter string `arg:"" optional:"" default:"{}" help:"A NIP-01 filter as JSON."`
	Stored bool   `help:"Stop after the stored events."`
}

// Run subscribes. A CLOSED of the relay, or the loss of the connection, is an
// error; an interrupt is not.
func (c *subscribeCommand) Run(ctx context.Context, p *process) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	filter, err := wire.DecodeFilter([]byte(c.Filter))
	if err != nil {
		return fmt.Errorf("filter: %w", err)
	}
	conn, err := connect(ctx, c.URL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	const sub = "subscribe"
	if err := conn.Send(ctx, wire.AppendReq(nil, sub, []*wire.Filter{filter})); err != nil {
		return err
	}
	for {
		m, err := conn.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("connection lost: %w", err)
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
		_, err = fmt.Fprintf(p.stdout, "%s\n", m.Event.Raw())
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
