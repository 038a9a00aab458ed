package mirror

import (
	"context"
	"errors"
	"fmt"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/client"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// errStore ends a session that cannot save what it gets.
var errStore = errors.New("events cannot be saved here")

// down takes in what the upstream has, and what it gets.
func (s *session) down(ctx context.Context) error {
	now, first := s.opt.Now().Unix(), s.at.get().Top == 0
	gap := max(0, s.at.get().Top-int64(Overlap.Seconds()))
	since := now - int64(Overlap.Seconds())
	if first {
		s.at.set(func(c *Cursor) { c.beginDown(&s.spec, now) })
		if s.spec.Start == Now {
			since = now
		}
	}
	ready := make(chan struct{})
	s.start("mirror live", func(ctx context.Context) error { return s.live(ctx, since, ready) })
	select {
	case <-ready:
	case <-ctx.Done():
		return nil
	}
	s.counts.behind.Store(true)
	alike := false
	if s.spec.Start == Reconcile {
		var err error
		if alike, err = s.reconcile(ctx); err != nil {
			return err
		}
	}
	if alike {
		s.at.set(func(c *Cursor) { c.Top, c.Done, c.Until, c.Owed = now, 0, 0, 0 })
	}
	close(s.compared)
	if !alike && !first {
		if err := s.pages(ctx, s.stored, gap, now, work{s.taking, s.take}, nil); err != nil {
			return err
		}
		s.at.set(func(c *Cursor) { c.Top = now })
	}
	if err := s.past(ctx); err != nil {
		return err
	}
	s.counts.behind.Store(false)
	for ctx.Err() == nil { // what comes now comes live
		s.at.set(func(c *Cursor) { c.Top = s.opt.Now().Unix() })
		lifecycle.Rest(ctx, renewEvery/2)
	}
	return nil
}

// beginDown sets where a mirror begins that never ran.
func (c *Cursor) beginDown(spec *Spec, now int64) {
	c.Top = now
	if spec.Start != Now {
		c.Done, c.Until = spec.Since, now
	}
}

// past fetches what is left of what the mirror began with.
func (s *session) past(ctx context.Context) error {
	c := s.at.get()
	if c.Until == 0 {
		return nil
	}
	err := s.pages(ctx, s.stored, c.Done, c.Until, work{s.taking, s.take}, func(until int64) error {
		s.opt.Pause.At(pause.MirrorPage)
		s.at.set(func(c *Cursor) { c.Until = max(1, until) })
		return s.save(ctx)
	})
	if err != nil {
		return err
	}
	s.at.set(func(c *Cursor) { c.Done, c.Until = 0, 0 })
	return s.save(ctx)
}

// live takes in what the upstream gets. ready is closed when everything from before is
// told.
func (s *session) live(ctx context.Context, since int64, ready chan<- struct{}) error {
	f := s.spec.Filter.Filter
	at := nostr.Timestamp(since)
	f.Since = &at
	told, known := false, false // everything stored; who we are
	id, messages, err := s.subscribe(ctx, f)
	for err == nil {
		var m wire.RelayMessage
		if m, err = next(ctx, messages); err != nil {
			return nil // the session ends
		}
		switch m.Verb {
		case "EVENT":
			s.begin(ctx, s.taking, func(ctx context.Context) { s.take(ctx, m.Event) })
		case "EOSE":
			if !told {
				told = true
				close(ready)
			}
		case "CLOSED":
			s.forget(id) // or what still comes of it holds up the answer to an AUTH
			refusal := &client.Refusal{Text: m.Text}
			if known || !s.wantsAuth(refusal) {
				return refusal
			}
			if err := s.auth(); err != nil {
				return err
			}
			known = true
			id, messages, err = s.subscribe(ctx, f)
		}
	}
	return err
}

// take judges one event, and keeps it.
func (s *session) take(ctx context.Context, ev *wire.Event) {
	switch {
	case !s.spec.Filter.Matches(ev):
		s.counts.refused.Add(1) // nobody asked for it
		return
	case s.known.has(ev.ID):
		s.counts.known.Add(1)
		return
	}
	s.known.add(ev.ID) // before it is in the log, from where it would go up again
	s.opt.Pause.At(pause.MirrorEvent)
	out, reason := s.opt.Events.Publish(ctx, []string{s.opt.Self}, ev, &store.Fence{Stream: s.stream, Token: s.token})
	switch {
	case out.Err == nil && reason == wire.Reason{} || out.Err == nil && out.Position > 0:
		s.counts.stored.Add(1)
	case errors.Is(out.Err, store.ErrDuplicate):
		s.counts.known.Add(1)
	case s.lost(out.Err):
		s.known.remove(ev.ID)
		s.fail(errLost)
	case reason.Prefix == wire.Failed:
		s.known.remove(ev.ID)
		s.fail(fmt.Errorf("%w: %w", errStore, out.Err))
	default:
		s.known.remove(ev.ID) // it may be a forgery of one that comes yet
		s.counts.refused.Add(1)
	}
}
