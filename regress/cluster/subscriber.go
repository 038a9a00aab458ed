package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/client"
	"fencepost/relay/wire"
)

// LastWord begins the content of the event that tells subscribers to end.
const LastWord = "the last word"

// Subscriber holds one subscription on one replica until it has heard the last word.
type Subscriber struct {
	// Set at construction, never changed.
	replica *Replica
	filter  nostr.Filter
	stay    time.Duration
	live    chan struct{} // closed at the first EOSE
	once    sync.Once     // of live

	Sessions []*Session // read them once Run has returned
}

// NewSubscriber returns a subscriber that subscribes anew when it has been live for as
// long as stay, again and again; with 0 only when its connection ends.
func NewSubscriber(r *Replica, filter nostr.Filter, stay time.Duration) *Subscriber {
	return &Subscriber{replica: r, filter: filter, stay: stay, live: make(chan struct{})}
}

// Live returns a channel that is closed when the subscription is live for the first time.
func (s *Subscriber) Live() <-chan struct{} { return s.live }

// Session is what one connection heard.
type Session struct {
	Replica int
	Filter  *wire.Filter
	Moves   bool      // it would have ended in any case
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
		conn, err := s.replica.Dial(ctx)
		if err == nil {
			session := &Session{Replica: s.replica.Number, Filter: wire.NewFilter(s.filter), Moves: s.stay > 0}
			s.Sessions = append(s.Sessions, session)
			err = session.run(ctx, conn, s)
			_ = conn.Close() // its peer may be gone
			if err == nil {
				return nil
			}
			session.Cut = err.Error()
		}
		if waited := Wait(ctx, retry); waited != nil {
			return fmt.Errorf("a subscriber on replica %d has not heard the last word: %w: %w", s.replica.Number, waited, err)
		}
	}
}

// errMoved ends a session whose subscriber goes on elsewhere.
var errMoved = errors.New("stayed long enough")

// run returns nil once the last word has come.
func (s *Session) run(ctx context.Context, conn *client.Client, of *Subscriber) error {
	s.Asked = time.Now()
	if err := conn.Send(ctx, wire.AppendReq(nil, "s", []*wire.Filter{s.Filter})); err != nil {
		return err
	}
	staying := ctx
	for last := false; !last || s.Live.IsZero(); {
		m, err := conn.Next(staying)
		switch {
		case err != nil && staying.Err() != nil && ctx.Err() == nil:
			return errMoved
		case err != nil:
			return err
		}
		switch m.Verb {
		case "EVENT":
			s.Heard = append(s.Heard, Heard{Event: m.Event, At: time.Now(), Live: !s.Live.IsZero()})
			last = last || strings.HasPrefix(m.Event.Content, LastWord)
		case "EOSE":
			s.Live = time.Now()
			of.once.Do(func() { close(of.live) })
			if of.stay > 0 {
				var cancel context.CancelFunc
				staying, cancel = context.WithTimeout(ctx, of.stay)
				defer cancel()
			}
		case "CLOSED":
			return fmt.Errorf("CLOSED: %s", m.Text)
		}
	}
	return nil
}
