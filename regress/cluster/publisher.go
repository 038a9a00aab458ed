package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/client"
	"fencepost/relay/wire"
)

// Publisher publishes on one replica.
type Publisher struct {
	Replica *Replica
	Ledger  *Ledger
	Key     int // number of its key, from 1
	Kind    int
	Topics  []string      // values of `t`, by turns; a Subscriber asks for them
	Pace    time.Duration // between an answer and the next event

	conn *client.Client // nil while there is none
	sent bool           // the last try reached the relay, as far as is known
}

const retry = 50 * time.Millisecond

// Run publishes until ctx ends, and then until the last event is accepted or Patience is
// over.
func (p *Publisher) Run(ctx context.Context) error {
	defer p.disconnect()
	for n := 0; ctx.Err() == nil; n++ {
		e, err := Event(p.Key, p.Kind, fmt.Sprintf("publisher %d, event %d", p.Key, n), nostr.Tag{"t", p.Topics[n%len(p.Topics)]})
		if err != nil {
			return err
		}
		if err := p.Publish(ctx, e); err != nil {
			return err
		}
		_ = Wait(ctx, p.Pace) // the loop asks
	}
	return nil
}

// Publish sends an event until it is accepted. One that is ephemeral is sent once: no
// store knows it again, so who repeats it may be heard twice.
func (p *Publisher) Publish(ctx context.Context, e *wire.Event) error {
	always := context.WithoutCancel(ctx)
	p.Ledger.sends(e, p.Replica.Number)
	var late <-chan time.Time
	for {
		err := p.try(always, e)
		if err == nil {
			p.Ledger.accepts(e)
			return nil
		}
		var refusal *client.Refusal
		if errors.As(err, &refusal) && !strings.HasPrefix(refusal.Text, "error: ") {
			return fmt.Errorf("replica %d: %w", p.Replica.Number, err)
		}
		if nostr.IsEphemeralKind(e.Kind) && p.sent {
			return nil
		}
		if ctx.Err() != nil && late == nil {
			late = time.After(Patience)
		}
		select {
		case <-time.After(retry):
		case <-late:
			return fmt.Errorf("replica %d accepts nothing: %w", p.Replica.Number, err)
		}
	}
}

// try sends an event once.
func (p *Publisher) try(ctx context.Context, e *wire.Event) (err error) {
	p.sent = false
	if p.conn == nil {
		if p.conn, err = p.Replica.Dial(ctx); err != nil {
			p.conn = nil
			return err
		}
	}
	p.sent = true
	err = p.conn.Publish(ctx, e)
	var refusal *client.Refusal
	switch {
	case errors.As(err, &refusal):
		p.Ledger.refuses(refusal.Text)
	case err != nil:
		p.Ledger.cuts()
		p.disconnect()
	}
	return err
}

func (p *Publisher) disconnect() {
	if p.conn != nil {
		_ = p.conn.Close() // its peer may be gone
		p.conn = nil
	}
}

// Secret returns a secret key by number, from 1.
func Secret(n int) string { return fmt.Sprintf("%064x", n) }

// Public returns the public key of Secret(n).
func Public(n int) string {
	key, err := nostr.GetPublicKey(Secret(n))
	if err != nil {
		panic(err) // only for a key that is none
	}
	return key
}

// Event returns a signed event of now by the key of a number.
func Event(key, kind int, content string, tags ...nostr.Tag) (*wire.Event, error) {
	e := nostr.Event{Kind: kind, CreatedAt: nostr.Now(), Content: content, Tags: tags}
	if err := e.Sign(Secret(key)); err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return wire.NewEvent(e), nil
}

// Wait waits for a while, or until ctx ends.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
