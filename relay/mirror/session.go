package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/lifecycle"
	"fencepost/relay/client"
	"fencepost/relay/wire"
)

const (
	dialTimeout = 15 * time.Second
	askTimeout  = time.Minute // for one page, or the answer to a probe or an event
	probeEvery  = time.Minute // an upstream that is gone without a word is noticed then
	subBuffer   = 64          // messages of one subscription that wait
)

// errSilent ends a session whose upstream does not answer an AUTH.
var errSilent = errors.New("the upstream does not say whether it knows us")

// session is one connection to the upstream.
type session struct {
	*holding
	client *client.Client
	group  *lifecycle.Group
	taking chan struct{} // one for each event that is being judged here; never closed
	giving chan struct{} // one for each that the upstream judges; the same
	auth   func() error  // authenticates once, for all who ask

	compared chan struct{} // closed when both sides are compared, or cannot be

	mu sync.Mutex // guards the fields below; never held across I/O
	// +checklocks:mu
	subs map[string]*sub
	// +checklocks:mu
	made int // subscriptions so far
	// +checklocks:mu
	err error // why the session ends, the first reason
}

// sub is a subscription.
type sub struct {
	messages chan wire.RelayMessage // never closed
	over     chan struct{}          // closed when nobody reads messages any more
}

// connect runs one session and returns why it ended.
func (h *holding) connect(ctx context.Context) error {
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err := client.Dial(dialing, h.spec.URL, client.Options{Buffer: 4 * subBuffer})
	if err != nil {
		return err
	}
	s := &session{
		holding: h, client: c, group: lifecycle.NewGroup(ctx), subs: make(map[string]*sub),
		// Apart: the upstream answers only while what it sends is taken.
		taking: make(chan struct{}, parallel), giving: make(chan struct{}, parallel),
		compared: make(chan struct{}),
	}
	s.auth = sync.OnceValue(s.authenticate)
	h.counts.connected.Store(true)
	defer h.counts.connected.Store(false)
	s.group.Go("mirror reader", s.read)
	s.start("mirror probe", s.probe)
	if h.spec.down() {
		s.start("mirror down", s.down)
	}
	if h.spec.up() {
		s.start("mirror up", s.up)
	}
	<-s.group.Context().Done()
	s.fail(ctx.Err())
	err = leave(ctx, c)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return errors.Join(s.cause(), err, s.group.Wait(ending))
}

// start runs one part of the session, whose error ends it.
func (s *session) start(name string, run func(ctx context.Context) error) {
	s.group.Go(name, func(ctx context.Context) { s.fail(run(ctx)) })
}

// fail ends the session because of err, unless that is nil.
func (s *session) fail(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	s.mu.Unlock()
	s.group.Cancel()
}

func (s *session) cause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// read hands the messages of the upstream to the subscriptions that they belong to.
func (s *session) read(ctx context.Context) {
	for {
		m, err := s.client.Next(ctx)
		var unreadable *wire.Error
		if errors.As(err, &unreadable) {
			s.counts.refused.Add(1)
			continue
		}
		if err != nil {
			s.fail(err)
			return
		}
		s.mu.Lock()
		to := s.subs[m.Sub]
		s.mu.Unlock()
		if to == nil {
			continue
		}
		select {
		case to.messages <- m:
		case <-to.over:
		case <-ctx.Done():
			return
		}
	}
}

// subscribe opens a subscription under a new id.
func (s *session) subscribe(ctx context.Context, f nostr.Filter) (id string, messages <-chan wire.RelayMessage, err error) {
	made := &sub{messages: make(chan wire.RelayMessage, subBuffer), over: make(chan struct{})}
	s.mu.Lock()
	s.made++
	id = fmt.Sprintf("mirror-%d", s.made)
	s.subs[id] = made
	s.mu.Unlock()
	return id, made.messages, s.client.Send(ctx, wire.AppendReq(nil, id, []*wire.Filter{wire.NewFilter(f)}))
}

// unsubscribe closes a subscription.
func (s *session) unsubscribe(ctx context.Context, id string) error {
	s.forget(id)
	return s.client.Send(ctx, wire.AppendClose(nil, id))
}

// forget ends a subscription here. What still comes of it is passed over.
func (s *session) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.subs[id].over)
	delete(s.subs, id)
}

// next returns the next message of a subscription.
func next(ctx context.Context, messages <-chan wire.RelayMessage) (wire.RelayMessage, error) {
	select {
	case m := <-messages:
		return m, nil
	case <-ctx.Done():
		return wire.RelayMessage{}, ctx.Err()
	}
}

// stored asks once, and once more when the upstream wants to know who asks. It returns
// what is stored, newest first; all says that nothing older is left.
func (s *session) stored(ctx context.Context, f nostr.Filter) (page []*wire.Event, all bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Patience)
	defer cancel()
	page, all, err = s.storedOnce(ctx, f)
	if s.wantsAuth(err) {
		if err := s.auth(); err != nil {
			return nil, false, err
		}
		return s.storedOnce(ctx, f)
	}
	return page, all, err
}

func (s *session) storedOnce(ctx context.Context, f nostr.Filter) (page []*wire.Event, all bool, err error) {
	id, messages, err := s.subscribe(ctx, f)
	if err != nil {
		return nil, false, err
	}
	for size := 0; ; {
		m, err := next(ctx, messages)
		switch {
		case err != nil:
			return nil, false, err
		case m.Verb == "EVENT":
			size += len(m.Event.Raw())
			if page = append(page, m.Event); len(page) >= mostOfPage || size >= mostBytes {
				return page, false, s.unsubscribe(ctx, id)
			}
		case m.Verb == "CLOSED":
			s.forget(id)
			return nil, false, &client.Refusal{Text: m.Text}
		case m.Verb == "EOSE":
			return page, slices.Contains(m.Hints, "finish"), s.unsubscribe(ctx, id)
		}
	}
}

// authenticate says to the upstream who asks.
func (s *session) authenticate() error {
	ctx, cancel := context.WithTimeout(s.group.Context(), s.opt.Patience)
	defer cancel()
	err := s.client.Authenticate(ctx, s.opt.Secret)
	if errors.Is(err, context.DeadlineExceeded) {
		return errSilent
	}
	return err
}

// leave ends a connection, and asks for no last word when the mirror ends.
func leave(ctx context.Context, c *client.Client) error {
	if ctx.Err() != nil {
		return c.Abort()
	}
	return c.Close()
}

// wantsAuth reports whether err says that the upstream wants to know who asks.
func (s *session) wantsAuth(err error) bool {
	var refusal *client.Refusal
	return errors.As(err, &refusal) && strings.HasPrefix(refusal.Text, string(wire.AuthRequired)+":")
}

// probe asks now and then.
func (s *session) probe(ctx context.Context) error {
	for {
		if lifecycle.Rest(ctx, probeEvery); ctx.Err() != nil {
			return nil
		}
		if err := s.ask(ctx); err != nil {
			return fmt.Errorf("probe: %w", err)
		}
	}
}

// ask asks for nothing, to hear an answer.
func (s *session) ask(ctx context.Context) error {
	_, _, err := s.stored(ctx, nostr.Filter{IDs: []string{strings.Repeat("0", 64)}, Limit: 1})
	return err
}

// reasonOf says in a word why a connection failed or ended.
func reasonOf(err error) string {
	var refusal *client.Refusal
	switch {
	case errors.Is(err, errLost):
		return "lost"
	case errors.Is(err, errStore):
		return "store"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, errSilent):
		return "timeout"
	case errors.As(err, &refusal):
		return "refused"
	default:
		return "connection"
	}
}
