package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// Refusal is the error of an event that the relay answered with OK false.
type Refusal struct {
	Text string // as sent, with its prefix
}

func (r *Refusal) Error() string { return "refused: " + r.Text }

// Publish sends an event and blocks until its OK. The error is a *Refusal when
// that is false. When ctx ends first nobody knows what became of the event.
func (c *Client) Publish(ctx context.Context, e *wire.Event) error {
	return c.submit(ctx, e.ID, wire.AppendEventMessage(nil, e))
}

// Authenticate answers the last challenge with the key (64 hex digits) and
// blocks until its OK (NIP-42). The error is a *Refusal when that is false.
func (c *Client) Authenticate(ctx context.Context, key string) error {
	challenge := c.Challenge()
	if challenge == "" {
		return errors.New("authenticate: the relay sent no challenge")
	}
	e, err := AuthEvent(c.url, challenge, key)
	if err != nil {
		return err
	}
	return c.submit(ctx, e.ID, wire.AppendAuthMessage(nil, e))
}

// Challenge returns the last challenge received (NIP-42), "" when there was none.
func (c *Client) Challenge() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.challenge
}

// AuthEvent makes the event that answers a challenge of the relay at url, now,
// for the key (64 hex digits).
func AuthEvent(url, challenge, key string) (*wire.Event, error) {
	e := nostr.Event{
		Kind:      nostr.KindClientAuthentication,
		CreatedAt: nostr.Now(),
		Tags:      nostr.Tags{{"relay", url}, {"challenge", challenge}},
	}
	if err := e.Sign(key); err != nil {
		return nil, fmt.Errorf("sign the answer to a challenge: %w", err)
	}
	return wire.NewEvent(e), nil
}

func (c *Client) submit(ctx context.Context, id string, message []byte) error {
	answer, err := c.expect(id)
	if err != nil {
		return err
	}
	defer c.drop(id, answer)
	if err := c.Send(ctx, message); err != nil {
		return err
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return c.ended()
		case !m.OK:
			return &Refusal{Text: m.Text}
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for OK: %w", ctx.Err())
	}
}

// expect registers for the OK of an event. The channel is closed when the
// connection ends first.
func (c *Client) expect(id string) (chan wire.RelayMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	answer := make(chan wire.RelayMessage, 1)
	c.waiting[id] = append(c.waiting[id], answer)
	return answer, nil
}

func (c *Client) drop(id string, answer chan wire.RelayMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropLocked(id, answer)
}

func (c *Client) dropLocked(id string, answer chan wire.RelayMessage) {
	left := slices.DeleteFunc(c.waiting[id], func(w chan wire.RelayMessage) bool { return w == answer })
	if c.waiting[id] = left; len(left) == 0 {
		delete(c.waiting, id)
	}
}
