package race

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"fencepost/lifecycle"
	"fencepost/relay/client"
)

// ErrNothing is the error of a storm in which the relay took no event, so that
// nothing could be judged.
var ErrNothing = errors.New("the relay answered no event with OK")

// Run lets a storm loose on the relay at o.URL and reports what it counted. It
// blocks for o.Duration and up to a few times o.Patience more. What the relay
// did wrong is in the report; an error means that the storm could not be held,
// and the report then has what was counted so far.
func Run(ctx context.Context, o Options) (Report, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return Report{}, err
	}
	run := make([]byte, 6)
	if _, err := rand.Read(run); err != nil {
		return Report{}, fmt.Errorf("name the run: %w", err)
	}
	s := &storm{options: o, run: "storm-" + hex.EncodeToString(run), ledger: newLedger()}
	for i := range o.Topics {
		s.topics = append(s.topics, fmt.Sprintf("%s-%d", s.run, i))
	}
	began := time.Now()
	err := s.hold(ctx)
	report := s.report()
	report.Elapsed = time.Since(began)
	switch {
	case ctx.Err() != nil:
		return report, ctx.Err()
	case err != nil:
		return report, err
	case report.Acknowledged == 0:
		return report, ErrNothing
	}
	return report, nil
}

// storm is one run.
type storm struct {
	// Set at construction, never changed.
	options Options
	run     string
	ledger  *ledger
	topics  []string

	conns      []*client.Client
	workers    []*worker
	publishers []*publisher
}

func (s *storm) hold(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.hangUp(context.WithoutCancel(ctx))) }()
	if err := s.connect(ctx); err != nil {
		return err
	}
	until := time.Now().Add(s.options.Duration)
	active, calm := context.WithCancel(ctx)
	defer calm()
	publishing, watching := lifecycle.NewGroup(ctx), lifecycle.NewGroup(ctx)
	for _, p := range s.publishers {
		watching.Go("storm answers", p.answer)
		publishing.Go("storm publisher", func(ctx context.Context) {
			p.report.cut(ctx, fmt.Sprintf("publisher %d", p.number), p.storm(ctx, until))
		})
	}
	working := lifecycle.NewGroup(ctx)
	for i, w := range s.workers {
		working.Go("storm connection", func(ctx context.Context) {
			w.report.cut(ctx, fmt.Sprintf("connection %d", i), w.storm(ctx, active, until))
		})
	}
	// All of them end soon after ctx; their reports are read only then.
	end := context.WithoutCancel(ctx)
	err = publishing.Wait(end)
	calm()
	err = errors.Join(err, working.Wait(end))
	watching.Cancel()
	err = errors.Join(err, watching.Wait(end))
	return errors.Join(err, failure(publishing), failure(working), failure(watching))
}

// failure returns the panic of a group's goroutine, if there was one.
func failure(g *lifecycle.Group) error {
	select {
	case err := <-g.Failed():
		return err
	default:
		return nil
	}
}

func (s *storm) connect(ctx context.Context) error {
	for i := range s.options.Connections {
		conn, err := s.dial(ctx)
		if err != nil {
			return err
		}
		s.workers = append(s.workers, newWorker(i, s.options, conn, s.ledger, s.topics))
	}
	for i := range s.options.Publishers {
		conn, err := s.dial(ctx)
		if err != nil {
			return err
		}
		s.publishers = append(s.publishers, newPublisher(i, s.options, conn, s.ledger, s.topics))
	}
	return nil
}

func (s *storm) dial(ctx context.Context) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Patience)
	defer cancel()
	conn, err := client.Dial(ctx, s.options.URL, client.Options{})
	if err == nil {
		s.conns = append(s.conns, conn)
	}
	return conn, err
}

// hangUp closes all connections at once, since each may have to wait for its peer.
func (s *storm) hangUp(ctx context.Context) error {
	closing, errs := lifecycle.NewGroup(ctx), make([]error, len(s.conns))
	for i, conn := range s.conns {
		closing.Go("storm close", func(context.Context) { errs[i] = conn.Close() })
	}
	return errors.Join(append(errs, closing.Wait(ctx))...)
}

// report adds up what was counted. All goroutines have ended.
func (s *storm) report() Report {
	total := Report{Run: s.run}
	for _, w := range s.workers {
		total.add(w.report)
	}
	for _, p := range s.publishers {
		total.add(p.report)
	}
	return total
}

// cut notes a connection that ended before the storm did.
func (r *Report) cut(ctx context.Context, name string, err error) {
	if err != nil && ctx.Err() == nil {
		r.count(&r.Cut, "cut: %s: %v", name, err)
	}
}
