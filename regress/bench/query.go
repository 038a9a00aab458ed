package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"fencepost/relay/wire"
)

// asker sends one REQ after another on its connection, each with the CLOSE of the
// one before, and counts the answers.
type asker struct {
	// Set at construction, never changed.
	stage     *stage
	link      *link
	questions []question
	script    script // REQ 0, CLOSE 0, REQ 1, CLOSE 1, ..., REQ 0

	// Owned by the asking goroutine.
	answered int
	latency  Histogram // from REQ to EOSE
}

func (s *stage) asker(l *link, questions []question) *asker {
	a := &asker{stage: s, link: l, questions: questions}
	for i := range len(questions) + 1 {
		q := i % len(questions)
		f := wire.NewFilter(questions[q].filter)
		a.script.add(wire.AppendReq(nil, strconv.Itoa(q), []*wire.Filter{f}))
		a.script.add(wire.AppendClose(nil, strconv.Itoa(q)))
	}
	return a
}

// ask goes on until the time is up, and ends with a whole answer.
func (a *asker) ask(until time.Time) error {
	frames := a.script.slice(0, 1)
	for q := 0; ; q = (q + 1) % len(a.questions) {
		sent := time.Now()
		if err := a.link.write(frames); err != nil {
			return err
		}
		if err := a.await(q); err != nil {
			return err
		}
		now := time.Now()
		a.latency.Add(now.Sub(sent))
		a.answered++
		if !now.Before(until) {
			return nil
		}
		frames = a.script.slice(2*q+1, 2*q+3)
	}
}

// await reads the answer to question q, up to its EOSE.
func (a *asker) await(q int) error {
	name, events := strconv.Itoa(q), 0
	for {
		m, err := a.stage.receive(a.link)
		if err != nil {
			return err
		}
		if string(m.name) != name {
			if m.verb == verbClosed { // some answer a CLOSE
				continue
			}
			return fmt.Errorf("the relay sent something for the subscription %q, which is not open", m.name)
		}
		switch m.verb {
		case verbEvent:
			events++
		case verbEOSE:
			if want := a.questions[q].want; events != want {
				return fmt.Errorf("the relay answered %s with %d events, %d are stored",
					wire.AppendFilter(nil, wire.NewFilter(a.questions[q].filter)), events, want)
			}
			a.stage.progress.Add(1)
			return nil
		case verbClosed:
			return ended(m)
		}
	}
}

// asking returns the row about one kind of question.
func asking(kind func(*library, *rand.Rand) question) func(*run, *stage, int) ([]Figure, error) {
	return func(r *run, s *stage, round int) ([]Figure, error) {
		sizes := s.options.sizes
		links, err := s.dialMany(sizes.askers)
		if err != nil {
			return nil, err
		}
		var askers []*asker
		for n, l := range links {
			random := rand.New(rand.NewPCG(s.options.Seed, uint64(n)))
			var questions []question
			for range sizes.questions {
				questions = append(questions, kind(r.library, random))
			}
			askers = append(askers, s.asker(l, questions))
		}
		m, err := s.begin()
		if err != nil {
			return nil, err
		}
		until := m.began.Add(sizes.asking)
		if err := s.all("bench asker", len(askers), func(i int) error { return askers[i].ask(until) }); err != nil {
			return nil, err
		}
		u, err := m.end()
		answered, latency := 0, Histogram{}
		for _, a := range askers {
			answered += a.answered
			latency.Merge(&a.latency)
		}
		return append(u.rates("REQ", answered), quantiles("EOSE", &latency)...), err
	}
}

// all runs f for each number below n in a goroutine of its own and waits for all
// of them, or for the end of the stage.
func (s *stage) all(name string, n int, f func(i int) error) error {
	ready := make(chan struct{}, n)
	for i := range n {
		s.spawn(name, func() error {
			if err := f(i); err != nil {
				return err
			}
			ready <- struct{}{}
			return nil
		})
	}
	for range n {
		if !await(s, ready) {
			return context.Cause(s.ctx)
		}
	}
	return nil
}
