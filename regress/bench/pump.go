package bench

import (
	"context"
	"errors"

	"fencepost/relay/wire"
)

// traffic is what a row about published events sends and expects.
type traffic struct {
	events      *signed
	publishers  int
	window      int
	connections int                      // that subscribe
	each        int                      // subscriptions of each of them
	filter      func(i int) *wire.Filter // of subscription i of all
	everything  bool                     // each subscription matches each event; else the filters tell
	durations   bool                     // latencies are kept
	again       bool                     // events that the relay has already are welcome
}

// outcome is what a traffic came to.
type outcome struct {
	usage
	events, frames int
	ok, delivered  Histogram
}

// pump publishes the events and counts what arrives, each frame and each OK once.
// The clock runs from the first event sent to the last frame or OK received.
func (s *stage) pump(t traffic) (o outcome, err error) {
	subscribers, err := s.subscribers(t)
	if err != nil {
		return o, err
	}
	per, err := t.expect(subscribers)
	if err != nil {
		return o, err
	}
	f := newFlow(t.events, t.publishers, t.window, func(i int) int { return per[i] })
	o.events = t.events.count()
	for _, n := range per {
		o.frames += n
	}
	links, err := s.dialMany(t.publishers)
	if err != nil {
		return o, err
	}
	var publishers []*publisher
	for n, l := range links {
		p := s.publisher(f, n, l)
		p.durations, p.again = t.durations, t.again
		publishers = append(publishers, p)
	}
	if o.usage, err = s.run(f, publishers, subscribers); err != nil {
		if errors.Is(context.Cause(s.ctx), errSilent) {
			err = errors.Join(f.shortfall(o.frames), err)
		}
		return o, err
	}
	for _, p := range publishers {
		o.ok.Merge(&p.latency)
	}
	for _, sub := range subscribers {
		o.delivered.Merge(&sub.latency)
	}
	return o, nil
}

// subscribers opens the connections that subscribe and their subscriptions.
func (s *stage) subscribers(t traffic) (out []*subscriber, err error) {
	links, err := s.dialMany(t.connections)
	if err != nil {
		return nil, err
	}
	for n, l := range links {
		sub := &subscriber{stage: s, link: l, durations: t.durations}
		for i := range t.each {
			sub.filters = append(sub.filters, t.filter(n*t.each+i))
		}
		if err := sub.subscribe(); err != nil {
			return nil, err
		}
		out = append(out, sub)
	}
	return out, nil
}

// expect notes with each subscriber what has to come and returns how many frames
// each event gives.
func (t *traffic) expect(subscribers []*subscriber) (per []int, err error) {
	per = make([]int, t.events.count())
	for _, sub := range subscribers {
		sub.due = newBits(len(sub.filters) * len(per))
	}
	if t.everything {
		for _, sub := range subscribers {
			for i := range len(sub.filters) * len(per) {
				sub.due.set(i)
				per[i%len(per)]++
			}
		}
		return per, nil
	}
	finder := newFinder(subscribers)
	for i := range per {
		ev, err := t.events.event(i)
		if err != nil {
			return nil, err
		}
		for _, found := range finder.find(ev) {
			found.subscriber.due.set(found.number*len(per) + i)
			per[i]++
		}
	}
	return per, nil
}

// run lets the events go and returns once all of them are done with and nothing
// more was on its way.
func (s *stage) run(f *flow, publishers []*publisher, subscribers []*subscriber) (u usage, err error) {
	settled := make(chan struct{}, len(subscribers))
	for _, sub := range subscribers {
		sub.flow = f
		s.spawn("bench subscriber", func() error {
			if err := sub.read(); err != nil {
				return err
			}
			settled <- struct{}{}
			return nil
		})
	}
	for _, p := range publishers {
		s.spawn("bench answers", p.read)
	}
	m, err := s.begin()
	if err != nil {
		return u, err
	}
	for _, p := range publishers {
		s.spawn("bench publisher", p.write)
	}
	if !await(s, f.done) {
		return u, context.Cause(s.ctx)
	}
	if u, err = m.end(); err != nil {
		return u, err
	}
	for _, sub := range subscribers {
		if err := sub.bar(); err != nil {
			return u, err
		}
	}
	for range subscribers {
		if !await(s, settled) {
			return u, context.Cause(s.ctx)
		}
	}
	return u, nil
}

// await returns whether something came, rather than the end of the stage.
func await[T any](s *stage, what <-chan T) bool {
	select {
	case <-what:
		return true
	case <-s.ctx.Done():
		return false
	}
}
