package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/client"
	"fencepost/relay/wire"
)

// publishCommand signs one event and publishes it.
type publishCommand struct {
	URL     string   `arg:"" help:"The relay: ws:// or wss://."`
	Content string   `arg:"" help:"The event's content."`
	Kind    int      `default:"1" help:"Its kind."`
	Tag     []string `sep:"none" help:"One tag, its elements separated by commas; may be repeated." placeholder:"NAME,VALUE,..."`
}

// envSecret names the variable that holds the key; a flag would show in ps.
const envSecret = "NOSTR_SECRET_KEY"

// Run publishes and prints the event. A refusal is an error.
func (c *publishCommand) Run(ctx context.Context, p *process) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	ev := nostr.Event{Kind: c.Kind, Content: c.Content, CreatedAt: nostr.Now()}
	for _, tag := range c.Tag {
		ev.Tags = append(ev.Tags, strings.Split(tag, ","))
	}
	key := nostr.GeneratePrivateKey()
	for _, v := range p.environ {
		if secret, ok := strings.CutPrefix(v, envSecret+"="); ok {
			key = secret
		}
	}
	if err := ev.Sign(key); err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	conn, err := client.Dial(ctx, c.URL, client.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	signed := wire.NewEvent(ev)
	if err := conn.Publish(ctx, signed); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	_, err = fmt.Fprintf(p.stdout, "%s\n", signed.Raw())
	return err
}
