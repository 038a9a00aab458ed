package race

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

const (
	// maxUnanswered REQs of one id are sent without waiting.
	maxUnanswered = 3
	// lingering is the longest pause between two steps.
	lingering = 15 * time.Millisecond
	// silence is how long the storm listens after its last barrier.
	silence = 300 * time.Millisecond
)

// storm opens, replaces and closes until the deadline, listens until active
// ends, and judges what is left.
func (w *worker) storm(ctx, active context.Context, until time.Time) error {
	for time.Now().Before(until) {
		s := w.subscriptions[w.random.IntN(len(w.subscriptions))]
		if err := w.step(ctx, s); err != nil {
			return err
		}
		pause := time.Duration(w.random.Int64N(int64(lingering)))
		if err := w.wait(ctx, pause, nil); !errors.Is(err, errOver) {
			return err
		}
	}
	// The publishers have stopped when active ends.
	if err := w.wait(active, 2*w.options.Patience, nil); !errors.Is(err, errOver) && active.Err() == nil {
		return err
	}
	for _, s := range w.subscriptions {
		if err := w.settle(ctx, s); err != nil {
			return err
		}
		if err := w.close(ctx, s); err != nil {
			return err
		}
	}
	if err := w.wait(ctx, silence, nil); !errors.Is(err, errOver) {
		return err
	}
	return nil
}

// step does one thing that is drawn at random.
func (w *worker) step(ctx context.Context, s *subscription) error {
	if s.current() == nil {
		return w.open(ctx, s)
	}
	switch n := w.random.IntN(10); {
	case n < 2: // close what is fully received
		return then(ctx, s, w.settle, w.close)
	case n < 4: // close in full flight
		return w.close(ctx, s)
	case n < 5: // close and open in one burst
		return then(ctx, s, w.sendClose, w.open)
	case n < 6: // replace what is fully received
		return then(ctx, s, w.settle, w.open)
	case n < 8: // replace in full flight
		return w.open(ctx, s)
	case n < 9: // replace twice in one burst
		return then(ctx, s, w.open, w.open)
	default:
		return w.answer(ctx, s)
	}
}

func then(ctx context.Context, s *subscription, steps ...func(context.Context, *subscription) error) error {
	for _, step := range steps {
		if err := step(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// open sends a REQ and half of the time waits for its answer.
func (w *worker) open(ctx context.Context, s *subscription) error {
	if len(s.generations) >= maxUnanswered {
		if err := w.close(ctx, s); err != nil {
			return err
		}
	}
	topic := w.topic(s)
	f := nostr.Filter{Kinds: []int{w.options.Kind}, Tags: nostr.TagMap{"t": {topic}}, Limit: storedLimit}
	if w.random.IntN(2) == 0 {
		since := nostr.Timestamp(time.Now().Unix() - int64(w.random.IntN(3)))
		f.Since = &since
	}
	g := newGeneration(topic, wire.NewFilter(f))
	s.opened(g)
	if err := w.send(ctx, wire.AppendReq(w.buffer[:0], s.id, []*wire.Filter{g.filter})); err != nil {
		return err
	}
	if w.random.IntN(2) == 0 {
		return nil
	}
	return w.answer(ctx, s)
}

// topic draws one that the id did not ask for lately.
func (w *worker) topic(s *subscription) string {
	for {
		topic := w.topics[w.random.IntN(len(w.topics))]
		if !slices.Contains(s.recent, topic) {
			return topic
		}
	}
}

// answer waits for the EOSE of the current generation.
func (w *worker) answer(ctx context.Context, s *subscription) error {
	g := s.current()
	if g == nil {
		return nil
	}
	err := w.wait(ctx, w.options.Patience, func() bool { return s.current() != g || g.answered() })
	if errors.Is(err, errOver) {
		w.report.count(&w.report.Unanswered, "unanswered: a REQ of %s", s.name)
		return w.close(ctx, s)
	}
	return err
}

// settle waits until every event that was answered by now has come.
func (w *worker) settle(ctx context.Context, s *subscription) error {
	if err := w.answer(ctx, s); err != nil {
		return err
	}
	g, cut := s.current(), time.Now()
	if g == nil {
		return nil
	}
	expected := g.expected(w.ledger, cut)
	lacking := g.lacking(expected)
	err := w.wait(ctx, w.options.Patience, func() bool {
		lacking = g.lacking(lacking)
		return len(lacking) == 0 || s.current() != g || g.unsure
	})
	if err != nil && !errors.Is(err, errOver) {
		return err
	}
	if s.current() == g && !g.unsure {
		s.missing(g, expected, cut)
	}
	return nil
}

func (w *worker) sendClose(ctx context.Context, s *subscription) error {
	s.closed = true
	return w.send(ctx, wire.AppendClose(w.buffer[:0], s.id))
}

// close sends CLOSE and a barrier, after whose answer nothing may come.
func (w *worker) close(ctx context.Context, s *subscription) error {
	if s.current() == nil {
		return nil
	}
	w.report.Closes++
	if err := w.sendClose(ctx, s); err != nil {
		return err
	}
	answered, err := w.sendBarrier(ctx)
	if answered {
		s.barrier()
	}
	return err
}
