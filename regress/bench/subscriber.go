package bench

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// barrier is the id of the subscription whose end says that nothing is on its way.
const barrier = "barrier"

// subscriber is a connection with subscriptions, which are called "0", "1", ...
type subscriber struct {
	// Set at construction, never changed.
	stage     *stage
	link      *link
	filters   []*wire.Filter
	durations bool // latency is kept

	flow *flow // set once all have subscribed

	// Owned by the reading goroutine.
	due     bitset    // of each subscription and event, whether a frame has to come
	latency Histogram // from sent to delivered
}

// bits is a set of small numbers.
type bitset []uint64

func newBits(n int) bitset      { return make(bitset, (n+63)/64) }
func (b bitset) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) clear(i int)    { b[i/64] &^= 1 << (i % 64) }
func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

// subscribe opens the connection's subscriptions and waits for the EOSE of each.
// Stored events are passed over.
func (s *subscriber) subscribe() error {
	var out script
	for i, f := range s.filters {
		out.add(wire.AppendReq(nil, strconv.Itoa(i), []*wire.Filter{f}))
	}
	if err := s.link.write(out.bytes); err != nil {
		return err
	}
	for open := make(map[int]bool); len(open) < len(s.filters); {
		m, err := s.stage.receive(s.link)
		if err != nil {
			return err
		}
		switch m.verb {
		case verbClosed:
			return ended(m)
		case verbEOSE:
			i, err := s.subscription(m)
			if err != nil {
				return err
			}
			open[i] = true
			s.stage.progress.Add(1)
		}
	}
	return nil
}

// read takes frames until the barrier.
func (s *subscriber) read() error {
	for {
		m, err := s.stage.receive(s.link)
		if err != nil {
			return err
		}
		switch m.verb {
		case verbEvent:
			if err := s.deliver(m); err != nil {
				return err
			}
		case verbEOSE, verbClosed:
			if string(m.name) == barrier {
				return nil
			}
			if m.verb == verbClosed {
				return ended(m)
			}
			return fmt.Errorf("the relay sent a second EOSE for %q", m.name)
		}
	}
}

// bar asks for what no relay has: its answer comes after everything before.
func (s *subscriber) bar() error {
	var out script
	f := wire.NewFilter(nostr.Filter{IDs: []string{stranger(s.stage.options.Seed, -1)}, Limit: 1})
	out.add(wire.AppendReq(nil, barrier, []*wire.Filter{f}))
	return s.link.write(out.bytes)
}

func (s *subscriber) deliver(m message) error {
	id, ok := m.eventID()
	if !ok {
		return errors.New("the relay sent an EVENT without an event id")
	}
	i, ok := s.flow.find(id)
	if !ok {
		return fmt.Errorf("the relay sent event %s, which this run did not publish: is somebody else using it?", id)
	}
	sub, err := s.subscription(m)
	if err != nil {
		return err
	}
	at := sub*s.flow.events.count() + i
	if !s.due.has(at) {
		return fmt.Errorf("the relay sent event %s to subscription %d twice, or although it does not match", id, sub)
	}
	s.due.clear(at)
	if s.durations {
		s.latency.Add(s.flow.since(i))
	}
	s.stage.progress.Add(1)
	s.flow.frames.Add(1)
	s.flow.arrived(i)
	return nil
}

// subscription returns which of the connection's subscriptions a message is for.
func (s *subscriber) subscription(m message) (int, error) {
	n := 0
	for _, c := range m.name {
		if n = 10*n + int(c-'0'); c < '0' || c > '9' || n >= len(s.filters) {
			n = -1
			break
		}
	}
	if n < 0 || len(m.name) == 0 {
		return 0, fmt.Errorf("the relay sent something for the subscription %q, which nobody opened", m.name)
	}
	return n, nil
}

func ended(m message) error {
	_, reason, _ := m.verdict()
	return fmt.Errorf("the relay closed a subscription: %s", reason)
}
