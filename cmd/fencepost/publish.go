package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// publishCommand signs one event and publishes it, or only prints it.
type publishCommand struct {
	keyFlag
	URL     string   `arg:"" help:"The relay: ws:// or wss://."`
	Content string   `arg:"" help:"The event's content."`
	Kind    int      `default:"1" help:"Its kind."`
	Tag     []string `sep:"none" help:"One tag, its elements separated by commas; may be repeated. The key of a p tag may be an npub." placeholder:"NAME,VALUE,..."`
	Print   bool     `help:"Print the signed event and do not publish it: the relay is not asked."`
}

// publishTimeout is how long the relay may take to answer.
const publishTimeout = 30 * time.Second

// Run publishes and prints the event. It authenticates (NIP-42) if the relay asks
// for that. A refusal is an error.
func (c *publishCommand) Run(ctx context.Context, p *process) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	ev, key, err := c.sign(p)
	if err != nil {
		return err
	}
	if c.Print {
		return printEvent(p, ev)
	}
	conn, err := connect(ctx, c.URL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	l := &login{conn: conn, key: key}
	if err := l.try(ctx, func() error { return conn.Publish(ctx, ev) }); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return printEvent(p, ev)
}

// printEvent prints one event on a line.
func printEvent(p *process, ev *wire.Event) error {
	_, err := fmt.Fprintf(p.stdout, "%s\n", ev.Raw())
	return err
}

// sign makes the event with the user's key, or with a new one.
func (c *publishCommand) sign(p *process) (ev *wire.Event, key string, err error) {
	if key, err = c.secret(p, false); err != nil {
		return nil, "", err
	}
	if key == "" {
		key = nostr.GeneratePrivateKey()
	}
	draft := nostr.Event{Kind: c.Kind, Content: c.Content, CreatedAt: nostr.Now()}
	for _, tag := range c.Tag {
		elements := strings.Split(tag, ",")
		if len(elements) > 1 && (elements[0] == "p" || elements[0] == "P") {
			elements[1] = publicKey(elements[1])
		}
		draft.Tags = append(draft.Tags, elements)
	}
	if err := draft.Sign(key); err != nil {
		return nil, "", fmt.Errorf("sign: %w", err)
	}
	return wire.NewEvent(draft), key, nil
}
