package mirror

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/lifecycle"
	"fencepost/relay/client"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// up publishes what this relay has, and what it gets.
func (s *session) up(ctx context.Context) error {
	info, err := s.opt.Store.Log(ctx)
	if err != nil {
		return err
	}
	c := s.at.set(func(c *Cursor) { c.beginUp(&s.spec, info, s.opt.Now().Unix()) })
	if s.spec.Start == Reconcile {
		if c, err = s.comparedUp(ctx); err != nil {
			return err
		}
	}
	if c.Owed > 0 {
		if err := s.pages(ctx, s.mine, c.Owed-1, s.opt.Now().Unix(), work{s.giving, s.offer}, nil); err != nil {
			return err
		}
		s.at.set(func(c *Cursor) { c.Owed = 0 })
		if err := s.save(ctx); err != nil {
			return err
		}
	}
	return s.follow(ctx)
}

// comparedUp returns the cursor once both sides are compared. Down does it, if there is
// that direction as well.
func (s *session) comparedUp(ctx context.Context) (Cursor, error) {
	if s.spec.down() {
		select {
		case <-s.compared:
		case <-ctx.Done():
		}
		return s.at.get(), ctx.Err()
	}
	done, err := s.reconcile(ctx)
	if err != nil || !done {
		return s.at.get(), err
	}
	return s.at.set(func(c *Cursor) { c.Owed = 0 }), nil
}

// beginUp sets where the log is followed from. A position that the log no longer has
// means that everything stored since it was good is to be offered.
func (c *Cursor) beginUp(spec *Spec, info store.LogInfo, now int64) {
	first := c.Epoch == ""
	if !first && c.Epoch == info.Epoch && c.Sent+1 >= info.Floor && c.Sent <= info.Head {
		return
	}
	switch {
	case c.Owed > 0: // more than what was stored since
	case !first:
		c.Owed = max(1, c.SentAt-int64(Overlap.Seconds())+1)
	case spec.Start != Now:
		c.Owed = spec.Since + 1
	}
	c.Epoch, c.Sent, c.SentAt = info.Epoch, info.Head, now
}

// mine is what is stored here.
func (s *session) mine(ctx context.Context, f nostr.Filter) (page []*wire.Event, all bool, err error) {
	err = s.eachHere(ctx, wire.NewFilter(f), func(ev *wire.Event) { page = append(page, ev) })
	return page, len(page) < f.Limit, err
}

// follow publishes what the log gets.
func (s *session) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		sent := s.at.get().Sent
		entries, err := s.opt.Store.ReadLog(ctx, sent, readBatch)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			_ = s.opt.Progress.Await(ctx, sent+1) // it fails when ctx ends
			continue
		}
		var events []*wire.Event
		for i := range entries {
			switch e := &entries[i]; {
			case e.Broken != nil && e.CouldMatch([]*wire.Filter{s.spec.Filter}):
				s.counts.rejected.Add(1)
				s.log.Error("mirror cannot read an event that it should pass on", "position", e.Position, "err", e.Broken.Err)
			case e.Matches([]*wire.Filter{s.spec.Filter}, s.opt.Now().Unix()):
				events = append(events, e.Event)
			}
		}
		if err := s.spread(ctx, events, work{s.giving, s.offer}); err != nil {
			return err
		}
		last := entries[len(entries)-1].Position
		s.at.set(func(c *Cursor) { c.Sent, c.SentAt = last, s.opt.Now().Unix() })
		s.counts.sent.Store(uint64(last))
	}
	return nil
}

// offer publishes one event on the upstream, if that may have it.
func (s *session) offer(ctx context.Context, ev *wire.Event) {
	if s.known.has(ev.ID) || ev.Protected() || !s.opt.Public(ev) {
		return
	}
	breaks, suspect, leave := s.suspects.enter(ev.ID)
	defer leave()
	if ctx.Err() != nil || suspect && s.ask(ctx) != nil {
		return
	}
	s.known.add(ev.ID) // it may come back before the answer does
	if breaks >= maxBreaks {
		s.counts.rejected.Add(1)
		s.suspects.clear(ev.ID)
		s.log.Warn("mirror's upstream ends the connection on an event, which is left out", "event", ev.ID)
		return
	}
	s.send(ctx, ev, suspect)
}

// send publishes one event and deals with what the upstream says to it. alone says that
// no other is on its way.
func (s *session) send(ctx context.Context, ev *wire.Event, alone bool) {
	backoff, known := firstRetry, false
	for try := 1; ; try++ {
		err := s.submit(ctx, ev)
		if s.wantsAuth(err) && !known {
			if err = s.auth(); err == nil {
				known = true
				continue
			}
		}
		switch verdict := judge(err); {
		case verdict == broken:
			s.known.remove(ev.ID)
			if s.holding.group.Context().Err() == nil { // else it ended for another reason
				s.suspects.broke(ev.ID, alone)
			}
			s.fail(err)
			return
		case verdict == silent && try < maxTries:
			continue
		case verdict == later && try < maxTries || verdict == slower:
			lifecycle.Rest(ctx, backoff/2+rand.N(backoff))
			backoff = min(2*backoff, lastRetry)
			continue
		case verdict == taken:
			s.counts.published.Add(1)
		default:
			s.counts.rejected.Add(1)
		}
		s.suspects.clear(ev.ID)
		return
	}
}

// submit publishes ev and waits for what the upstream says to it.
func (s *session) submit(ctx context.Context, ev *wire.Event) error {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Patience)
	defer cancel()
	return s.client.Publish(ctx, ev)
}

// verdict is what an upstream says to an event.
type verdict int

const (
	taken   verdict = iota // it has it
	refused                // it will never take it
	later                  // it failed
	silent                 // nothing was said
	slower                 // it gets too much
	broken                 // the connection does not work
)

func judge(err error) verdict {
	var refusal *client.Refusal
	switch {
	case err == nil:
		return taken
	case errors.Is(err, context.DeadlineExceeded):
		return silent // a connection that does not work fails the probe
	case !errors.As(err, &refusal):
		return broken
	}
	prefix, _, _ := strings.Cut(refusal.Text, ":")
	switch wire.Prefix(prefix) {
	case wire.Duplicate:
		return taken
	case wire.Failed:
		return later
	case wire.RateLimited:
		return slower
	default:
		return refused
	}
}
