package race

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/client"
	"fencepost/relay/wire"
)

const (
	// volley is how many events of one topic are published without a pause, each
	// after the answer to the one before.
	volley = 8
	// spread is how far back created_at lies at most, in seconds.
	spread = 20
	// lifetime is the expiration of the events (NIP-40), in seconds.
	lifetime = 3600
)

// publisher publishes events one after another, in one goroutine.
type publisher struct {
	// Set at construction, never changed.
	number  int
	options Options
	conn    *client.Client
	ledger  *ledger
	topics  []string
	key     string

	random *rand.Rand
	report Report
	seq    int
}

func newPublisher(n int, o Options, conn *client.Client, l *ledger, topics []string) *publisher {
	return &publisher{
		number: n, options: o, conn: conn, ledger: l, topics: topics,
		key:    nostr.GeneratePrivateKey(),
		random: rand.New(rand.NewPCG(o.Seed, uint64(1<<32+n))),
	}
}

// storm publishes until the deadline at the rate wanted, and at least once: a storm on a
// machine that stood still for that long is short, and not nothing.
func (p *publisher) storm(ctx context.Context, until time.Time) error {
	pause := volley * time.Second / time.Duration(p.options.Rate)
	next := time.NewTimer(0)
	defer next.Stop()
	for first := true; ; first = false {
		select {
		case <-next.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !first && !time.Now().Before(until) {
			return nil
		}
		next.Reset(pause)
		topic := p.topics[p.random.IntN(len(p.topics))]
		for range volley {
			if err := p.publish(ctx, topic); err != nil {
				return err
			}
		}
	}
}

func (p *publisher) publish(ctx context.Context, topic string) error {
	e, err := p.event(topic)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.options.Patience)
	defer cancel()
	p.report.Published++
	p.ledger.add(record{event: e, topic: topic, publisher: p.number, seq: p.seq, sent: time.Now()})
	err = p.conn.Publish(ctx, e)
	var refusal *client.Refusal
	switch {
	case err == nil:
		p.report.Acknowledged++
		p.ledger.ack(e.ID, time.Now())
	case errors.As(err, &refusal):
		p.report.count(&p.report.Refused, "refused: event %s: %s", e.ID, refusal.Text)
	case errors.Is(err, context.DeadlineExceeded):
		p.report.count(&p.report.Unanswered, "unanswered: event %s", e.ID)
	default:
		return err
	}
	return nil
}

func (p *publisher) event(topic string) (*wire.Event, error) {
	now := time.Now().Unix()
	p.seq++
	e := nostr.Event{
		Kind:      p.options.Kind,
		CreatedAt: nostr.Timestamp(now),
		Tags:      nostr.Tags{{"t", topic}, {"expiration", strconv.FormatInt(now+lifetime, 10)}},
		Content:   fmt.Sprintf("storm %s, publisher %d, event %d", topic, p.number, p.seq),
	}
	if p.random.IntN(2) == 0 {
		e.CreatedAt -= nostr.Timestamp(p.random.IntN(spread))
	}
	if err := e.Sign(p.key); err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return wire.NewEvent(e), nil
}

// answer reads what is not the answer to an event, until the connection ends.
func (p *publisher) answer(ctx context.Context) {
	for {
		m, err := p.conn.Next(ctx)
		var bad *wire.Error
		switch {
		case errors.As(err, &bad):
		case err != nil:
			return
		case m.Verb == "AUTH":
			e, err := client.AuthEvent(p.options.URL, m.Text, p.key)
			if err != nil || p.conn.Send(ctx, wire.AppendAuthMessage(nil, e)) != nil {
				return
			}
		}
	}
}
