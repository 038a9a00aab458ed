package storm_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/client"
	"fencepost/relay/wire"
)

// moderate removes movers from a group and puts them back, turns the group private
// and public, restricted and unrestricted, and hands out invite codes.
func (w *town) moderate(ctx context.Context, i int, until time.Time) error {
	random := rand.New(rand.NewPCG(w.seed, uint64(100+i)))
	group, secret := w.groups[i], w.admins[i]
	return w.with(ctx, i, secret, func(conn *client.Client) error {
		for n := 1; time.Now().Before(until); n++ {
			kind, tags := 9001, nostr.Tags{{"h", group}}
			mover := nostr.Tag{"p", public(w.moving[random.IntN(w.size.movers)].secret)}
			code := ""
			switch random.IntN(12) {
			case 0, 1, 2, 3:
				tags = append(tags, mover)
			case 4, 5, 6, 7:
				kind, tags = 9000, append(tags, mover)
			case 8:
				kind, tags = 9002, append(tags, nostr.Tag{"private"})
			case 9:
				kind, tags = 9002, append(tags, nostr.Tag{"public"})
			case 10:
				flag := []string{"restricted", "unrestricted"}[random.IntN(2)]
				kind, tags = 9002, append(tags, nostr.Tag{flag})
			case 11:
				code = fmt.Sprintf("%s-%d", group, n)
				kind, tags = 9009, append(tags, nostr.Tag{"code", code})
			}
			if err := w.ask(ctx, conn, w.event(secret, kind, fmt.Sprint(n), tags...)); err != nil {
				return err
			}
			if code != "" {
				w.ledger.putCode(group, code)
			}
			if err := pause(ctx, time.Duration(random.Int64N(int64(15*time.Millisecond)))); err != nil {
				return err
			}
		}
		return nil
	})
}

// ask publishes a request and notes whether it was granted. A refusal is no error.
func (w *town) ask(ctx context.Context, conn *client.Client, e *wire.Event) error {
	w.ledger.asks(e.ID)
	err := conn.Publish(ctx, e)
	var refusal *client.Refusal
	switch {
	case errors.As(err, &refusal):
		return nil
	case err != nil:
		return err
	}
	w.ledger.grants(e.ID)
	return nil
}

// publish writes into the groups and outside.
func (w *town) publish(ctx context.Context, i int, until time.Time) error {
	random := rand.New(rand.NewPCG(w.seed, uint64(200+i)))
	return w.with(ctx, i+1, w.writers[i], func(conn *client.Client) error {
		for n := 0; time.Now().Before(until); n++ {
			kind, group := []int{1, withdrawn}[random.IntN(2)], ""
			if random.IntN(3) > 0 {
				kind, group = 9, w.groups[random.IntN(len(w.groups))]
			}
			if _, err := w.say(ctx, conn, w.writers[i], kind, group, fmt.Sprintf("publisher %d, event %d", i, n)); err != nil {
				return err
			}
			if err := pause(ctx, w.size.pace); err != nil {
				return err
			}
		}
		return nil
	})
}

// say publishes one event in a group, or outside for "". A refusal is counted.
func (w *town) say(ctx context.Context, conn *client.Client, secret string, kind int, group, text string) (*wire.Event, error) {
	e := w.event(secret, kind, text)
	if group != "" {
		e = w.event(secret, kind, text, nostr.Tag{"h", group})
	}
	err := conn.Publish(ctx, e)
	var refusal *client.Refusal
	if errors.As(err, &refusal) {
		w.ledger.refuses(refusal.Text)
		return e, nil
	}
	if err == nil && group != "" {
		w.ledger.accepts(e)
	}
	return e, err
}

// lastWords publishes an event in each group and outside. Residents wait for them.
func (w *town) lastWords(ctx context.Context) error {
	return w.with(ctx, 1, w.writers[0], func(conn *client.Client) error {
		for _, group := range append([]string{""}, w.groups...) {
			kind := 9
			if group == "" {
				kind = 1
			}
			e, err := w.say(ctx, conn, w.writers[0], kind, group, "the last word in "+group)
			if err != nil {
				return err
			}
			w.last = append(w.last, e.ID)
		}
		return nil
	})
}

// operate takes something from a mover, or a kind from everybody, and gives it
// back, again and again.
func (w *town) operate(ctx context.Context, until time.Time) error {
	random := rand.New(rand.NewPCG(w.seed, 300))
	linger := func() error { return pause(ctx, time.Duration(random.Int64N(int64(100*time.Millisecond)))) }
	for time.Now().Before(until) {
		mover := w.moving[random.IntN(w.size.movers)]
		key := public(mover.secret)
		take, back, of := "banpubkey", "unbanpubkey", any(key)
		switch n := random.IntN(3); {
		case n == 0:
			take, back, of = "disallowkind", "unlistkind", withdrawn
		case w.host.walled:
			take, back = []string{"banpubkey", "unallowpubkey"}[n-1], "allowpubkey"
		}
		for _, method := range []string{take, back} {
			visits := mover.visits.Load()
			if err := w.manage(ctx, method, of); err != nil {
				return err
			}
			if method == "banpubkey" && random.IntN(2) == 0 {
				// Until it has noticed and tried to come back.
				for n := 0; n < 100 && mover.visits.Load() < visits+2; n++ {
					if err := pause(ctx, 10*time.Millisecond); err != nil {
						return err
					}
				}
			}
			if err := linger(); err != nil {
				return err
			}
		}
	}
	return nil
}

// withdrawn is the kind that is taken and not taken in turn.
const withdrawn = 7

// manage does one thing that the operator may.
func (w *town) manage(ctx context.Context, method string, of any) error {
	token := operatorToken(w.operated)
	w.operated++
	w.ledger.asks(token)
	if err := w.host.manage(ctx, method, of); err != nil {
		return err
	}
	w.ledger.grants(token)
	return nil
}

// settleDown opens the subscriptions of a resident: each group, what is outside, and
// everything.
func (r *reader) settleDown(ctx context.Context) error {
	if err := r.connect(ctx); err != nil {
		return err
	}
	filters := []nostr.Filter{{Kinds: []int{1}, Limit: 1}, {Limit: 1}}
	for _, g := range r.town.groups {
		filters = append(filters, nostr.Filter{Kinds: []int{9}, Tags: nostr.TagMap{"h": {g}}, Limit: 1})
	}
	r.slots = nil
	for i, f := range filters {
		s := &slot{id: fmt.Sprintf("s%d", i), record: r.record, problems: &r.problems}
		r.slots = append(r.slots, s)
		filter := wire.NewFilter(f)
		s.opens(filter, r.town.ledger.now())
		if err := r.send(ctx, wire.AppendReq(nil, s.id, []*wire.Filter{filter})); err != nil {
			return err
		}
		if err := r.settle(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// stay listens until nothing is published any more and the last words have come.
func (r *reader) stay(ctx context.Context, quiet <-chan struct{}) error {
	var late time.Time // when to give up
	for {
		select {
		case <-quiet:
			if late.IsZero() {
				late = time.Now().Add(r.town.host.grace)
			}
		default:
		}
		if !late.IsZero() && r.hasHeard(r.town.last) {
			break
		}
		if !late.IsZero() && time.Now().After(late) {
			r.problems.add("missing", "%s has not heard the last words", r.name)
			break
		}
		if err := r.wait(ctx, 20*time.Millisecond, nil); !errors.Is(err, errOver) {
			return r.lost(ctx, err)
		}
	}
	if err := r.sendBarrier(ctx); err != nil {
		return r.lost(ctx, err)
	}
	return r.conn.Close()
}

// hasHeard reports whether every event has come on some subscription besides the
// one for everything. The last ones come last, so only the end is looked at.
func (r *reader) hasHeard(ids []string) bool {
	seen := map[string]int{}
	for _, n := range r.record.notes[max(0, len(r.record.notes)-1000):] {
		if n.kind == gotEvent {
			seen[n.event.ID]++
		}
	}
	for _, id := range ids {
		if seen[id] < 2 {
			return false
		}
	}
	return true
}
