package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/client"
	"fencepost/relay/wire"
)

// LastWord begins the content of the event that tells subscribers to end.
const LastWord = "the last word"

// Subscriber holds one subscription on one replica until it has heard the last word.
type Subscriber struct {
	Replica *Replica
	Filter  nostr.Filter

	Sessions []*Session // read them once Run has returned
}

// Session is what one connection heard.
type Session struct {
	Replica int
	Filter  *wire.Filter
	Asked   time.Time // when the REQ was sent
	Live    time.Time // when EOSE came; zero if it did not
	Heard   []Heard
	Cut     string // why it ended before the last word; "" if it did not
}

// Heard is one EVENT.
type Heard struct {
	Event *wire.Event
	At    time.Time
	Live  bool // it came after EOSE
}

// Run listens until the last word. The error is ctx's when that does not come.
func (s *Subscriber) Run(ctx context.Context) error {
	for {
		conn, err := s.Replica.Dial(ctx)
		if err == nil {
			session := &Session{Replica: s.Replica.Number, Filter: wire.NewFilter(s.Filter)}
			s.Sessions = append(s.Sessions, session)
			err = session.run(ctx, conn)
			_ = conn.Close() // its peer may be gone
			if err == nil {
				return nil
			}
			session.Cut = err.Error()
		}
		if waited := Wait(ctx, retry); waited != nil {
			return fmt.Errorf("a subscriber on replica %d has not heard the last word: %w: %w", s.Replica.Number, waited, err)
		}
	}
}

// run returns nil once the last word has come.
func (s *Session) run(ctx context.Context, conn *client.Client) error {
	s.Asked = time.Now()
	if err := conn.Send(ctx, wire.AppendReq(nil, "s", []*wire.Filter{s.Filter})); err != nil {
		return err
	}
	for last := false; !last || s.Live.IsZero(); {
		m, err := conn.Next(ctx)
		if err != nil {
			return err
		}
		switch m.Verb {
		case "EVENT":
			s.Heard = append(s.Heard, Heard{Event: m.Event, At: time.Now(), Live: !s.Live.IsZero()})
			last = last || strings.HasPrefix(m.Event.Content, LastWord)
		case "EOSE":
			s.Live = time.Now()
		case "CLOSED":
			return fmt.Errorf("CLOSED: %s", m.Text)
		}
	}
	return nil
}
