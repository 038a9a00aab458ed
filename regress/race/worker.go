package race

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/client"
	"fencepost/relay/wire"
)

// worker drives and judges one connection, in one goroutine.
type worker struct {
	// Set at construction, never changed.
	options Options
	conn    *client.Client
	ledger  *ledger
	topics  []string
	key     string // answers challenges

	random        *rand.Rand
	report        Report
	subscriptions []*subscription
	barrier       string // id of the barrier waited for
	barriers      int    // barriers sent
	barred        bool   // the one waited for was answered
	buffer        []byte // reused for what is sent
}

func newWorker(n int, o Options, conn *client.Client, l *ledger, topics []string) *worker {
	w := &worker{
		options: o, conn: conn, ledger: l, topics: topics,
		key:    nostr.GeneratePrivateKey(),
		random: rand.New(rand.NewPCG(o.Seed, uint64(n))),
	}
	for i := range o.Subscriptions {
		id := fmt.Sprintf("s%d", i)
		w.subscriptions = append(w.subscriptions, &subscription{
			id: id, name: fmt.Sprintf("connection %d, %s,", n, id), ledger: l, report: &w.report,
		})
	}
	return w
}

// errOver ends a wait whose time is up.
var errOver = errors.New("time is up")

// wait receives and judges messages until done (nil: never) or the deadline,
// which gives errOver, or ctx ends. Any other error means that the connection is lost.
func (w *worker) wait(ctx context.Context, limit time.Duration, done func() bool) error {
	deadline, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for done == nil || !done() {
		m, err := w.conn.Next(deadline)
		var bad *wire.Error
		switch {
		case err == nil:
			if err := w.handle(ctx, m); err != nil {
				return err
			}
		case errors.As(err, &bad):
			w.report.count(&w.report.Malformed, "malformed: %v", bad)
		case deadline.Err() != nil && ctx.Err() == nil:
			return errOver
		default:
			return err
		}
	}
	return nil
}

func (w *worker) handle(ctx context.Context, m wire.RelayMessage) error {
	switch m.Verb {
	case "AUTH":
		e, err := client.AuthEvent(w.options.URL, m.Text, w.key)
		if err != nil {
			return err
		}
		return w.conn.Send(ctx, wire.AppendAuthMessage(w.buffer[:0], e))
	case "EVENT", "EOSE", "CLOSED":
	default:
		return nil // OK of the answer to a challenge, NOTICE
	}
	if m.Verb == "EVENT" {
		w.report.Frames++
	}
	if s := w.find(m.Sub); s != nil {
		w.judge(s, m)
		return nil
	}
	switch {
	case m.Sub == w.barrier && m.Verb != "EVENT":
		w.barred = true
	case m.Verb == "EVENT":
		w.report.count(&w.report.Stale, "stale: received an event for %q, which no filter matches", m.Sub)
	}
	return nil
}

func (w *worker) judge(s *subscription, m wire.RelayMessage) {
	switch m.Verb {
	case "EVENT":
		s.event(m.Event)
	case "EOSE":
		s.eose(time.Now())
	case "CLOSED":
		ended := w.report.Ended
		if s.ended(); w.report.Ended > ended && ended < maxExamples {
			w.report.Examples = append(w.report.Examples, fmt.Sprintf("ended: %s CLOSED %q", s.name, m.Text))
		}
	}
}

func (w *worker) find(id string) *subscription {
	for _, s := range w.subscriptions {
		if s.id == id {
			return s
		}
	}
	return nil
}

// send writes one message; a relay that does not read for long ends the connection.
func (w *worker) send(ctx context.Context, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, w.options.Patience)
	defer cancel()
	w.buffer = message
	return w.conn.Send(ctx, message)
}

// sendBarrier sends a REQ that nothing matches and waits for its answer.
func (w *worker) sendBarrier(ctx context.Context) (answered bool, err error) {
	w.barriers++
	w.barrier, w.barred = fmt.Sprintf("barrier%d", w.barriers), false
	var unknown [32]byte
	for i := range unknown {
		unknown[i] = byte(w.random.UintN(256))
	}
	f := wire.NewFilter(nostr.Filter{IDs: []string{hex.EncodeToString(unknown[:])}, Limit: 1})
	if err := w.send(ctx, wire.AppendReq(w.buffer[:0], w.barrier, []*wire.Filter{f})); err != nil {
		return false, err
	}
	err = w.wait(ctx, w.options.Patience, func() bool { return w.barred })
	if errors.Is(err, errOver) {
		w.report.count(&w.report.Unanswered, "unanswered: a barrier")
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, w.send(ctx, wire.AppendClose(w.buffer[:0], w.barrier))
}
