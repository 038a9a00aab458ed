package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fencepost/relay/client"
	"fencepost/relay/wire"
)

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

// login authenticates on one connection when the relay asks for it (NIP-42), once.
type login struct {
	conn *client.Client
	key  string // "" when there is none, or no more
}

// try calls do, and once more with the key when it was refused for the lack of one. What
// the relay says against the key is no *client.Refusal of what do does.
func (l *login) try(ctx context.Context, do func() error) error {
	err := do()
	var refusal *client.Refusal
	if l.key == "" || !errors.As(err, &refusal) || !asksForAuth(refusal.Text) {
		return err
	}
	key := l.key
	l.key = ""
	if err := authenticate(ctx, l.conn, key); err != nil {
		return errors.New("authenticate: " + err.Error())
	}
	return do()
}

// asksForAuth reports whether a relay's words ask for authentication.
func asksForAuth(text string) bool { return strings.HasPrefix(text, string(wire.AuthRequired)) }
