package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// publisher sends its share of a flow's events.
type publisher struct {
	// Set at construction, never changed.
	stage     *stage
	flow      *flow
	number    int
	link      *link
	script    script
	again     bool          // events that the relay has already are welcome
	pace      time.Duration // between two events, 0 for as fast as the window allows
	until     time.Time     // no event is sent from then on, unless it is zero
	from, to  int           // its events
	durations bool          // latency is kept

	// Owned by the reading goroutine.
	answered []bool
	latency  Histogram // from sent to OK
}

func (s *stage) publisher(f *flow, number int, l *link) *publisher {
	p := &publisher{stage: s, flow: f, number: number, link: l}
	p.from, p.to = f.shareOf(number)
	p.answered = make([]bool, p.to-p.from)
	size := 0
	for _, line := range f.events.lines[p.from:p.to] {
		size += len(line) + 24
	}
	p.script.bytes = make([]byte, 0, size)
	var buffer []byte
	for _, line := range f.events.lines[p.from:p.to] {
		buffer = append(append(append(buffer[:0], `["EVENT",`...), line...), ']')
		p.script.add(buffer)
	}
	return p
}

// write sends the events as the window allows, as many in one write as it allows
// at that moment, and returns once all of them are done with.
func (p *publisher) write() error {
	tokens := p.flow.windows[p.number]
	var pause <-chan time.Time
	if p.pace > 0 {
		ticker := time.NewTicker(p.pace)
		defer ticker.Stop()
		pause = ticker.C
	}
	for next := p.from; next < p.to; {
		if !await(p.stage, tokens) || pause != nil && !await(p.stage, pause) {
			return context.Cause(p.stage.ctx)
		}
		now := time.Now()
		if !p.until.IsZero() && !now.Before(p.until) {
			tokens <- struct{}{} // not used
			break
		}
		n := 1 + p.more(tokens, p.to-next-1)
		for i := next; i < next+n; i++ {
			p.flow.sent[i].Store(int64(now.Sub(p.flow.began)))
		}
		if err := p.link.write(p.script.slice(next-p.from, next-p.from+n)); err != nil {
			return err
		}
		next += n
	}
	for range cap(tokens) {
		if !await(p.stage, tokens) {
			return context.Cause(p.stage.ctx)
		}
	}
	return nil
}

// more takes up to most places that are free, none when there is a pace to keep.
func (p *publisher) more(tokens <-chan struct{}, most int) (n int) {
	for p.pace == 0 && n < most {
		select {
		case <-tokens:
			n++
		default:
			return n
		}
	}
	return n
}

// read takes the answers until each event has one.
func (p *publisher) read() error {
	for range p.answered {
		m, err := p.stage.receive(p.link)
		if err != nil {
			return err
		}
		if m.verb != verbOK {
			return fmt.Errorf("the relay sent what a publisher did not ask for, for %q", m.name)
		}
		if err := p.answer(m); err != nil {
			return err
		}
	}
	return nil
}

func (p *publisher) answer(m message) error {
	if len(m.name) != idSize {
		return fmt.Errorf("the relay sent an OK for %q", m.name)
	}
	i, ok := p.flow.find(m.name)
	if !ok || i < p.from || i >= p.to || p.answered[i-p.from] {
		return fmt.Errorf("the relay sent an OK for %s, which nobody waits for", m.name)
	}
	accepted, reason, ok := m.verdict()
	again := bytes.HasPrefix(reason, []byte("duplicate:"))
	switch {
	case again && !p.again:
		return errAgain
	case !again && (!ok || !accepted):
		return fmt.Errorf("the relay refused an event: %s", reason)
	}
	if p.durations {
		p.latency.Add(p.flow.since(i))
	}
	p.answered[i-p.from] = true
	p.stage.progress.Add(1)
	p.flow.oks.Add(1)
	p.flow.arrived(i)
	return nil
}

var errAgain = errors.New("the relay has these events already: start it with no data, or choose another seed")
