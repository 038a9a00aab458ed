package client

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/negentropy"
	"fencepost/relay/wire"
)

const (
	// reconcileFrame is the longest message of a negotiation, in bytes before they become
	// hexadecimal: relays bound what they read.
	reconcileFrame = 32 << 10
	// reconcileRounds bounds a negotiation with a relay that never comes to an end.
	reconcileRounds = 10_000
	// reconcilePatience is how long a relay may take for an answer; one that does not know
	// the message may say nothing at all.
	reconcilePatience = 30 * time.Second
	// fetchIDs is how many ids one REQ asks for.
	fetchIDs = 100
)

// ErrNoReconciling is returned for a relay that does not answer NEG-OPEN.
var ErrNoReconciling = errors.New("the relay does not reconcile (NIP-77)")

// Stamp is what a reconciliation has to know of an event.
type Stamp struct {
	At nostr.Timestamp
	ID string // hex
}

// Reconcile finds out by NIP-77 how the events that the caller has of a filter differ
// from what the relay shows of it: have is what only the caller has, need what only the
// relay has. ErrNoReconciling when the relay does not do that, a *Refusal when it does not
// want to. Meanwhile nobody else calls Next.
func (c *Client) Reconcile(ctx context.Context, f *wire.Filter, own []Stamp) (have, need []string, err error) {
	items, err := itemsOf(own)
	if err != nil {
		return nil, nil, err
	}
	side := negentropy.NewClient(negentropy.NewSet(items), reconcileFrame)
	const sub = "reconcile"
	message := wire.AppendNegOpen(nil, sub, f, side.Start())
	for range reconcileRounds {
		answer, err := c.negotiate(ctx, sub, message)
		if err != nil {
			return nil, nil, err
		}
		next, err := side.Next(answer)
		if err != nil {
			return nil, nil, fmt.Errorf("reconcile: %w", err)
		}
		if next == nil {
			return texts(side.Have), texts(side.Need), c.Send(ctx, wire.AppendNegClose(nil, sub))
		}
		message = wire.AppendNegMsg(nil, sub, next)
	}
	return nil, nil, errors.New("reconcile: the relay comes to no end")
}

// negotiate sends one message of a negotiation and waits for its answer.
func (c *Client) negotiate(ctx context.Context, sub string, message []byte) ([]byte, error) {
	if err := c.Send(ctx, message); err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, reconcilePatience)
	defer cancel()
	for {
		m, err := c.Next(bounded)
		switch {
		case err != nil && ctx.Err() == nil && bounded.Err() != nil:
			return nil, ErrNoReconciling
		case err != nil:
			return nil, err
		case m.Verb == "NOTICE", m.Verb == "CLOSED" && m.Sub == sub: // as answers to what is not known
			return nil, fmt.Errorf("%w: it says %q", ErrNoReconciling, m.Text)
		case m.Verb == "NEG-ERR" && m.Sub == sub:
			return nil, &Refusal{Text: m.Text}
		case m.Verb == "NEG-MSG" && m.Sub == sub:
			return m.Message, nil
		}
	}
}

func itemsOf(own []Stamp) ([]negentropy.Item, error) {
	items := make([]negentropy.Item, len(own))
	for i, s := range own {
		id, err := hex.DecodeString(s.ID)
		if err != nil || len(id) != 32 {
			return nil, fmt.Errorf("reconcile: %q is no id", s.ID)
		}
		items[i] = negentropy.Item{At: uint64(s.At), ID: [32]byte(id)}
	}
	return items, nil
}

func texts(ids [][32]byte) []string {
	out := make([]string, len(ids))
	for i := range ids {
		out[i] = hex.EncodeToString(ids[i][:])
	}
	return out
}

// FetchAll calls add with every event that the relay shows of a filter, which has no
// until and no limit, by REQs of a page each. Neither id nor signature is checked. An
// error of add ends it. Meanwhile nobody else calls Next.
func (c *Client) FetchAll(ctx context.Context, f *wire.Filter, add func(*wire.Event) error) error {
	s := &syncing{Client: c, Sync: Sync{Filter: f, Keeper: taking(add)}}
	return s.fetch(ctx)
}

// FetchIDs is FetchAll for the events of these ids. What the relay does not show is left
// out.
func (c *Client) FetchIDs(ctx context.Context, ids []string, add func(*wire.Event) error) error {
	s := &syncing{Client: c}
	for len(ids) > 0 {
		n := min(len(ids), fetchIDs)
		s.Filter = wire.NewFilter(nostr.Filter{IDs: ids[:n]})
		page, _, err := s.page(ctx, nil)
		if err != nil {
			return err
		}
		for _, ev := range page {
			if err := add(ev); err != nil {
				return err
			}
		}
		ids = ids[n:]
	}
	return nil
}

// taking is a Keeper that only takes.
type taking func(*wire.Event) error

func (t taking) Add(ev *wire.Event) error     { return t(ev) }
func (taking) Remove(string) error            { return nil }
func (taking) Retain(func(string) bool) error { return nil }
func (taking) Reached(string) error           { return nil }
