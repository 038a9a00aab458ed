package storm_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/client"
	"fencepost/relay/wire"
)

// reader drives one client, and one connection after another when its key is
// banned now and then. It judges what can be judged at once and notes the rest.
type reader struct {
	// Set at construction, never changed.
	town   *town
	name   string
	secret string // "" for one that never authenticates
	url    string
	random *rand.Rand

	visits atomic.Int64 // connections that have ended, or on which AUTH was answered

	records  []*record
	problems problems
	actions  int // makes what is published unique

	// Of the present connection.
	conn     *client.Client
	record   *record
	slots    []*slot
	due      map[string]bool // id of an event that has no OK yet -> whether it changes permissions
	barrier  string
	barred   bool
	barriers int
	counting *note // the COUNT that has no answer yet
}

const slotsOfReader = 3

// errOver ends a wait whose time is up.
var errOver = errors.New("time is up")

// run storms until the time is up, on as many connections as it takes.
func (r *reader) run(ctx context.Context, until time.Time) error {
	for first := true; first || time.Now().Before(until); first = false {
		err := r.visit(ctx, until)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// visit is one connection. An error says that it was lost.
func (r *reader) visit(ctx context.Context, until time.Time) error {
	if err := r.connect(ctx); err != nil {
		return r.lost(ctx, err)
	}
	for time.Now().Before(until) {
		if err := r.step(ctx, r.slots[r.random.IntN(len(r.slots))]); err != nil {
			return r.lost(ctx, err)
		}
		linger := time.Duration(r.random.Int64N(int64(10 * time.Millisecond)))
		if err := r.wait(ctx, linger, nil); !errors.Is(err, errOver) {
			return r.lost(ctx, err)
		}
	}
	if err := r.sendBarrier(ctx); err != nil {
		return r.lost(ctx, err)
	}
	return r.conn.Close()
}

// lost notes the end of the connection.
func (r *reader) lost(ctx context.Context, err error) error {
	r.visits.Add(1)
	if r.record != nil && ctx.Err() == nil {
		r.record.note(note{kind: gotEnd, at: r.town.ledger.now(), text: fmt.Sprintf("%d %v", websocket.CloseStatus(err), err)})
	}
	if r.conn != nil {
		err = errors.Join(err, r.conn.Close())
	}
	return err
}

func (r *reader) connect(ctx context.Context) (err error) {
	r.record, r.slots, r.due, r.conn, r.counting = nil, nil, map[string]bool{}, nil, nil
	if r.conn, err = client.Dial(ctx, r.url, client.Options{}); err != nil {
		return err
	}
	r.record = &record{name: fmt.Sprintf("%s/%d", r.name, len(r.records)), authSent: never, authed: never}
	r.records = append(r.records, r.record)
	for i := range slotsOfReader {
		r.slots = append(r.slots, &slot{id: fmt.Sprintf("s%d", i), record: r.record, problems: &r.problems})
	}
	if r.secret == "" {
		return nil
	}
	if err := r.answered(r.wait(ctx, patience, func() bool { return r.conn.Challenge() != "" })); err != nil {
		return err
	}
	e, err := client.AuthEvent(r.url, r.conn.Challenge(), r.secret)
	if err != nil {
		return err
	}
	r.record.key, r.record.authSent, r.due[e.ID] = e.PubKey, r.town.ledger.now(), false
	if err := r.send(ctx, wire.AppendAuthMessage(nil, e)); err != nil {
		return err
	}
	return r.answered(r.wait(ctx, patience, func() bool { return r.record.authed != never }))
}

// answered makes an error of a wait for something that must come.
func (r *reader) answered(err error) error {
	if errors.Is(err, errOver) {
		r.problems.add("unanswered", "%s waited in vain", r.record.name)
	}
	return err
}

// wait receives until done (nil: never) or for a while, which gives errOver.
func (r *reader) wait(ctx context.Context, limit time.Duration, done func() bool) error {
	deadline, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for done == nil || !done() {
		m, err := r.conn.Next(deadline)
		switch {
		case err == nil:
			r.handle(m)
		case deadline.Err() != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			return errOver
		default:
			return err
		}
	}
	return nil
}

func (r *reader) handle(m wire.RelayMessage) {
	at := r.town.ledger.now()
	switch m.Verb {
	case "OK":
		r.ok(m, at)
		return
	case "AUTH", "NOTICE":
		return
	}
	for _, s := range r.slots {
		if s.id != m.Sub {
			continue
		}
		switch m.Verb {
		case "EVENT":
			s.event(m.Event, at)
		case "EOSE":
			s.eose()
		case "CLOSED":
			s.ended(m.Text, at)
		}
		return
	}
	switch {
	case m.Sub == r.barrier && m.Verb != "EVENT": // CLOSED where nothing may be asked for
		r.barred = true
	case m.Verb == "CLOSED" && strings.HasPrefix(m.Sub, "barrier"): // of an earlier one, while its CLOSE is on its way
	case r.counting != nil && m.Sub == "count":
		n := *r.counting
		n.at, n.count, n.text, r.counting = at, m.Count, m.Text, nil
		r.record.note(n)
	default:
		r.problems.add("stale", "%s received %s for %q", r.record.name, m.Verb, m.Sub)
	}
}

func (r *reader) ok(m wire.RelayMessage, at uint64) {
	changes, due := r.due[m.ID]
	delete(r.due, m.ID)
	switch {
	case !due:
		r.problems.add("stale", "%s received OK for %s", r.record.name, m.ID)
	case changes && m.OK:
		r.town.ledger.grants(m.ID)
	case r.record.authed == never && m.OK:
		r.record.authed = at
		r.visits.Add(1)
	}
}

func (r *reader) send(ctx context.Context, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return r.conn.Send(ctx, message)
}

// sendBarrier sends a REQ that nothing matches and waits for its answer: whatever
// was said to this client before it was sent has come then.
func (r *reader) sendBarrier(ctx context.Context) error {
	r.barriers++
	r.barrier, r.barred = fmt.Sprintf("barrier%d", r.barriers), false
	sent := r.town.ledger.now()
	var unknown [32]byte
	for i := range unknown {
		unknown[i] = byte(r.random.UintN(256))
	}
	f := wire.NewFilter(nostr.Filter{IDs: []string{hex.EncodeToString(unknown[:])}, Limit: 1})
	if err := r.send(ctx, wire.AppendReq(nil, r.barrier, []*wire.Filter{f})); err != nil {
		return err
	}
	if err := r.answered(r.wait(ctx, patience, func() bool { return r.barred })); err != nil {
		return err
	}
	r.record.floor = sent
	n := note{kind: gotBarrier, at: r.town.ledger.now()}
	for _, s := range r.slots {
		if g := s.current; g != nil && !g.over && !s.unclear && g.sent < sent && r.isJudged(g) {
			n.open = append(n.open, g)
		}
	}
	r.record.note(n)
	return r.send(ctx, wire.AppendClose(nil, r.barrier))
}

// isJudged reports whether the relay has let g in, once a barrier behind it is answered.
// One of some replicas judges a REQ a second time before it refuses it, when it has caught
// up with the others, and that may come after the answer.
func (r *reader) isJudged(g *generation) bool {
	return !r.town.host.lags() || g.eosed && g.sure
}
