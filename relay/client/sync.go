package client

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"fencepost/relay/wire"
)

// maxResyncs is how often one Sync fetches everything anew before it gives up.
const maxResyncs = 3

// Keeper keeps the events that a Sync is about. Neither id nor signature of an event
// is checked before Add. An error ends the Sync.
type Keeper interface {
	// Add takes an event; it may have been there before. A version that it replaces is
	// gone with it (NIP-01).
	Add(ev *wire.Event) error
	// Remove drops the event of that id, if it is there.
	Remove(id string) error
	// Retain drops every event that keep does not name: what is left was fetched anew.
	Retain(keep func(id string) bool) error
	// Reached says that everything up to a token has been given. It is where the next
	// Sync goes on.
	Reached(token string) error
}

// Holder is a Keeper that says what it holds: then a relay that reconciles (NIP-77)
// sends only what is missing when a Sync begins anew.
type Holder interface {
	// Stamps returns all events that are held.
	Stamps() ([]Stamp, error)
}

// Sync is what Client.Sync brings up to date.
type Sync struct {
	Filter *wire.Filter // without since, until, limit and search
	Token  string       // that Reached was given last; "" when there is nothing yet
	Live   bool         // go on until the context or the connection ends
	Keeper Keeper
}

// Sync makes the keeper hold exactly what the relay shows of the filter: it resumes
// behind the token by a changes feed, and where the relay demands to begin anew it
// compares what both have by NIP-77, or fetches everything by REQ where the keeper is no
// Holder or the relay does not reconcile, and resumes from there. Meanwhile nobody else calls Next;
// messages of other subscriptions are passed over. The error is a *Refusal when the
// relay ended the feed for another reason. A version of a replaceable event that the
// filter matched stays when the filter does not match the newer one.
func (c *Client) Sync(ctx context.Context, o Sync) error {
	s := &syncing{Client: c, Sync: o, at: wire.Cursor{Foreign: true}}
	if at, ok := wire.ParseToken(o.Token); ok {
		s.at = at
	}
	for range maxResyncs {
		err := s.resume(ctx)
		var lost *lostError
		if !errors.As(err, &lost) {
			return err
		}
		if err := s.fetch(ctx); err != nil {
			return err
		}
		// The log ended there before anything was fetched: what came later is in the
		// feed, if it is not among what was fetched too.
		s.at = wire.Cursor{Epoch: lost.epoch, Position: lost.head}
	}
	return errors.New("sync: the relay loses its log faster than it can be read")
}

// lostError says that a position cannot be continued, and where the log ends.
type lostError struct {
	text, epoch string
	head        uint64
}

func (l *lostError) Error() string { return l.text }

// syncing is one Sync under way.
type syncing struct {
	*Client
	Sync

	at   wire.Cursor // Foreign when there is none
	subs int         // ids that were used
}

func (s *syncing) newSub() string {
	s.subs++
	return "sync-" + strconv.Itoa(s.subs)
}

// resume reads the feed behind s.at to its end.
func (s *syncing) resume(ctx context.Context) error {
	for more := true; more; {
		m := wire.ChangesMessage{ID: s.newSub(), Filter: s.Filter, Since: s.at, Live: s.Live, Removed: true}
		if err := s.Send(ctx, wire.AppendChangesReq(nil, &m)); err != nil {
			return err
		}
		var err error
		if more, err = s.follow(ctx, m.ID); err != nil {
			return err
		}
	}
	return nil
}

// follow gives the keeper what comes of one feed. More says that the feed was over
// before the end of the log.
func (s *syncing) follow(ctx context.Context, sub string) (more bool, err error) {
	for isLive := false; ; {
		m, err := s.next(ctx, sub)
		if err != nil {
			return false, err
		}
		switch m.Change {
		case "EVENT":
			err = s.Keeper.Add(m.Event)
		case "REMOVED":
			err = s.Keeper.Remove(m.ID)
		case "ERR":
			err = lostOrRefused(m)
		}
		if err == nil && (isLive || m.Change == "EOSE") {
			err = s.reached(m)
		}
		if err != nil {
			return false, err
		}
		if m.Change == "EOSE" {
			if m.More || !s.Live {
				return m.More, nil
			}
			isLive = true
		}
	}
}

// reached moves s.at to the message's position.
func (s *syncing) reached(m wire.RelayMessage) error {
	switch m.Change {
	case "EOSE":
		at, ok := wire.ParseToken(m.Token)
		if !ok {
			return errors.New("sync: the relay gives no token")
		}
		s.at = at
	case "EVENT":
		s.at = wire.CursorAt(s.at.Epoch, m.Position, m.Event.ID)
	case "REMOVED":
		s.at = wire.CursorAt(s.at.Epoch, m.Position, m.ID)
	}
	return s.Keeper.Reached(s.at.Token())
}

func lostOrRefused(m wire.RelayMessage) error {
	if strings.HasPrefix(m.Text, string(wire.Resync)+":") {
		return &lostError{text: m.Text, epoch: m.Epoch, head: m.Head}
	}
	return &Refusal{Text: m.Text}
}

// next returns the next message of a subscription.
func (s *syncing) next(ctx context.Context, sub string) (wire.RelayMessage, error) {
	for {
		m, err := s.Next(ctx)
		if err != nil || m.Sub == sub {
			return m, err
		}
	}
}
