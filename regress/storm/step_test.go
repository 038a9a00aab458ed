package storm_test

import (
	"context"
	"fmt"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// step does one thing that is drawn at random.
func (r *reader) step(ctx context.Context, s *slot) error {
	if s.unclear {
		return r.end(ctx, s, true)
	}
	switch n := r.random.IntN(24); {
	case n < 7 || s.current == nil && n < 12:
		return r.open(ctx, s)
	case n < 9:
		return r.end(ctx, s, true)
	case n < 10: // a CLOSE and a REQ in one burst
		if err := r.end(ctx, s, false); err != nil {
			return err
		}
		return r.open(ctx, s)
	case n < 12 && s.current != nil:
		return r.settle(ctx, s)
	case n < 16:
		return r.sendBarrier(ctx)
	case n < 18:
		return r.count(ctx)
	case n < 21 && r.secret != "":
		return r.move(ctx)
	case r.secret != "":
		return r.post(ctx)
	default:
		return nil
	}
}

func (r *reader) open(ctx context.Context, s *slot) error {
	f := r.filter()
	s.opens(f, r.town.ledger.now())
	return r.send(ctx, wire.AppendReq(nil, s.id, []*wire.Filter{f}))
}

// filter draws what to subscribe to.
func (r *reader) filter() *wire.Filter {
	const limit = 20
	f := nostr.Filter{Limit: limit}
	switch r.random.IntN(9) {
	case 0, 1:
		f.Kinds, f.Tags = []int{9}, nostr.TagMap{"h": {r.group()}}
	case 2:
		f.Tags = nostr.TagMap{"h": {r.group()}}
	case 3:
		f.Tags = nostr.TagMap{"h": {r.group(), r.group()}}
	case 4:
		f.Kinds, f.Tags = []int{39002, 39005}, nostr.TagMap{"d": {r.group()}}
	case 5:
		f.IDs = r.town.ledger.some(r.random, 5)
	case 6:
		f.Kinds = []int{1, 9}
	case 7:
		f.Kinds = []int{7}
	}
	return wire.NewFilter(f)
}

func (r *reader) group() string { return r.town.groups[r.random.IntN(len(r.town.groups))] }

// end sends CLOSE, and waits for what is still on its way when asked to.
func (r *reader) end(ctx context.Context, s *slot, wait bool) error {
	if s.current == nil {
		return nil
	}
	s.closes()
	s.unclear = false
	if err := r.send(ctx, wire.AppendClose(nil, s.id)); err != nil || !wait {
		return err
	}
	if err := r.sendBarrier(ctx); err != nil {
		return err
	}
	s.barred = true
	return nil
}

// settle waits for the answer to the last REQ.
func (r *reader) settle(ctx context.Context, s *slot) error {
	g := s.current
	return r.answered(r.wait(ctx, patience, func() bool { return g.eosed || g.over || s.unclear }))
}

// count asks for the number of events of a group, or of one event by its id, and
// waits for the answer.
func (r *reader) count(ctx context.Context) error {
	f := nostr.Filter{Kinds: []int{9}, Tags: nostr.TagMap{"h": {r.group()}}}
	if ids := r.town.ledger.some(r.random, 1); ids != nil && r.random.IntN(2) == 0 {
		f = nostr.Filter{IDs: ids}
	}
	filter := wire.NewFilter(f)
	r.counting = &note{kind: gotCount, filter: filter, sent: r.town.ledger.now()}
	if err := r.send(ctx, wire.AppendCountReq(nil, "count", []*wire.Filter{filter})); err != nil {
		return err
	}
	return r.answered(r.wait(ctx, patience, func() bool { return r.counting == nil }))
}

// move joins a group or leaves it, whichever is drawn; one of them is refused.
func (r *reader) move(ctx context.Context) error {
	group := r.group()
	tags := nostr.Tags{{"h", group}}
	kind := 9022
	if r.random.IntN(3) > 0 {
		kind, tags = 9021, append(tags, nostr.Tag{"code", r.town.ledger.code(group)})
	}
	e := r.town.event(r.secret, kind, r.unique(), tags...)
	r.town.ledger.asks(e.ID)
	r.due[e.ID] = true
	return r.publish(ctx, e)
}

// post writes into a group, or is refused.
func (r *reader) post(ctx context.Context) error {
	e := r.town.event(r.secret, 9, r.unique(), nostr.Tag{"h", r.group()})
	r.due[e.ID] = false
	return r.publish(ctx, e)
}

// publish sends an event and, half of the time, waits for its OK.
func (r *reader) publish(ctx context.Context, e *wire.Event) error {
	if err := r.send(ctx, wire.AppendEventMessage(nil, e)); err != nil || r.random.IntN(2) == 0 {
		return err
	}
	return r.answered(r.wait(ctx, patience, func() bool { _, due := r.due[e.ID]; return !due }))
}

func (r *reader) unique() string {
	r.actions++
	return fmt.Sprintf("%s %d", r.name, r.actions)
}
