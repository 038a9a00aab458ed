package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/client"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// syncBatch is how many events are stored at once.
const syncBatch = 200

// syncCommand makes the own store and another relay alike, once. By NIP-77 both sides
// find out what they lack; from a relay that has not that, everything is fetched by REQ.
// An event that one side refuses is counted and the rest goes on; it fails when it cannot
// read, store or send, and when the relay did not give what it has.
type syncCommand struct {
	settings
	keyFlag
	URL       string `arg:"" help:"The other relay: ws:// or wss://."`
	Filter    string `help:"What is made alike: a NIP-01 filter as JSON, without until, limit and search." default:"{}" placeholder:"JSON"`
	Direction string `help:"down: take what is missing here; up: send what is missing there; both." enum:"down,up,both" default:"down"`
	Auth      bool   `help:"Authenticate first (NIP-42); else only when the relay asks for it and there is a key."`
}

// Run reconciles. With the embedded store no relay may be running on the data folder.
func (c *syncCommand) Run(ctx context.Context, p *process) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	filter, err := c.filter()
	if err != nil {
		return err
	}
	key, err := c.secret(p, c.Auth)
	if err != nil {
		return err
	}
	if err := isRelay(c.URL); err != nil {
		return err
	}
	cfg, err := c.load(p)
	if err != nil {
		return err
	}
	s, err := openStore(ctx, cfg, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	conn, err := connect(ctx, c.URL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if c.Auth {
		if err := authenticate(ctx, conn, key); err != nil {
			return err
		}
		key = "" // is not asked for again
	}
	x := &syncer{store: s, conn: conn, login: login{conn: conn, key: key}, filter: filter, down: c.Direction != "up", up: c.Direction != "down", progress: newProgress(p.stderr, isTerminal(p.stderr), time.Now)}
	err = x.run(ctx)
	x.progress.clear()
	if x.compared {
		fmt.Fprintln(p.stdout, x.summary())
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

func (c *syncCommand) filter() (*wire.Filter, error) {
	f, err := wire.DecodeFilter([]byte(c.Filter))
	if err == nil && (f.Until != nil || f.Limit != 0 || f.LimitZero || f.Search != "") {
		err = errors.New("until, limit and search cannot be made alike")
	}
	if err != nil {
		return nil, fmt.Errorf("filter %s: %w", c.Filter, err)
	}
	return f, nil
}

// syncer is one sync.
type syncer struct {
	store    store.Store
	conn     *client.Client
	login    login
	filter   *wire.Filter
	down, up bool
	progress *progress

	need, taken, refused int // events that only the relay had
	have, sent, unwanted int // events that only this side had
	compared, paged      bool
}

func (x *syncer) summary() string {
	how := "by NIP-77"
	if x.paged {
		how = "by REQ"
	}
	return fmt.Sprintf("compared %s; missing here %d: stored %d, refused %d; missing there %d: sent %d, refused %d",
		how, x.need, x.taken, x.refused, x.have, x.sent, x.unwanted)
}

func (x *syncer) run(ctx context.Context) error {
	own, err := x.stamps(ctx)
	if err != nil {
		return err
	}
	x.progress.say(fmt.Sprintf("comparing %d events", len(own)))
	var have, need []string
	err = x.login.try(ctx, func() (err error) {
		have, need, err = x.conn.Reconcile(ctx, x.filter, own)
		return err
	})
	var refusal *client.Refusal
	switch {
	case errors.Is(err, client.ErrNoReconciling), errors.As(err, &refusal):
		if have, err = x.page(ctx, own); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		x.compared, x.need = true, len(need)
		if err := x.fetch(ctx, need); err != nil {
			return err
		}
	}
	x.have = len(have)
	return x.send(ctx, oldestFirst(own, have))
}

// oldestFirst returns have, which are ids of own, in the order in which they came to be:
// versions and deletions follow what they are about.
func oldestFirst(own []client.Stamp, have []string) []string {
	wanted := make(map[string]bool, len(have))
	for _, id := range have {
		wanted[id] = true
	}
	out := make([]string, 0, len(have))
	for _, s := range slices.Backward(own) {
		if wanted[s.ID] {
			out = append(out, s.ID)
		}
	}
	return out
}

// stamps returns what the own store has of the filter.
func (x *syncer) stamps(ctx context.Context) (own []client.Stamp, err error) {
	err = x.each(ctx, x.filter, func(e *wire.Event) error {
		own = append(own, client.Stamp{At: e.CreatedAt, ID: e.ID})
		return nil
	})
	return own, err
}

// each calls do with the stored events of a filter, newest first.
func (x *syncer) each(ctx context.Context, f *wire.Filter, do func(*wire.Event) error) (err error) {
	snapshot, err := x.store.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	return store.Each(ctx, snapshot, []*wire.Filter{f}, store.QueryOptions{}, do)
}

// fetch takes the events of these ids.
func (x *syncer) fetch(ctx context.Context, need []string) error {
	if !x.down || len(need) == 0 {
		return nil
	}
	t := &taker{syncer: x}
	if err := x.login.try(ctx, func() error { return x.conn.FetchIDs(ctx, need, t.add(ctx)) }); err != nil {
		return err
	}
	if err := t.flush(ctx); err != nil {
		return err
	}
	if left := x.need - x.taken - x.refused; left > 0 {
		return fmt.Errorf("the relay did not give %d events that it has", left)
	}
	return nil
}

// page fetches everything, stores what is missing here, and returns what is missing there.
func (x *syncer) page(ctx context.Context, own []client.Stamp) (have []string, err error) {
	x.paged = true
	here := make(map[string]bool, len(own))
	for _, s := range own {
		here[s.ID] = true
	}
	there := make(map[string]bool)
	t := &taker{syncer: x}
	take := t.add(ctx)
	add := func(e *wire.Event) error {
		again := there[e.ID]
		x.compared, there[e.ID] = true, true
		if again || here[e.ID] {
			return nil
		}
		x.need++
		if !x.down {
			return nil
		}
		return take(e)
	}
	err = x.login.try(ctx, func() error { return x.conn.FetchAll(ctx, x.filter, add) })
	x.compared = x.compared || err == nil
	if err == nil {
		err = t.flush(ctx)
	}
	for _, s := range own {
		if !there[s.ID] {
			have = append(have, s.ID)
		}
	}
	return have, err
}

// send publishes the events of these ids, which are in their order.
func (x *syncer) send(ctx context.Context, have []string) error {
	if !x.up {
		return nil
	}
	var refusal *client.Refusal
	for len(have) > 0 {
		n := min(len(have), syncBatch)
		var batch []*wire.Event
		err := x.each(ctx, wire.NewFilter(nostr.Filter{IDs: have[:n]}), func(e *wire.Event) error {
			batch = append([]*wire.Event{e}, batch...)
			return nil
		})
		if err != nil {
			return err
		}
		for _, e := range batch {
			err := x.login.try(ctx, func() error { return x.conn.Publish(ctx, e) })
			switch {
			case errors.As(err, &refusal):
				x.unwanted++
			case err != nil:
				return err
			default:
				x.sent++
			}
			x.progress.say(fmt.Sprintf("sent %d of %d", x.sent+x.unwanted, x.have))
		}
		have = have[n:]
	}
	return nil
}

// taker stores what comes from the other relay as from a stranger, in batches.
type taker struct {
	*syncer
	batch []store.Write
}

func (t *taker) add(ctx context.Context) func(*wire.Event) error {
	return func(e *wire.Event) error {
		if e.Class() == wire.Ephemeral || !t.filter.Matches(e) || e.Verify() != nil || e.Validate() != nil {
			t.refused++
			return nil
		}
		t.batch = append(t.batch, store.Write{Event: e})
		if len(t.batch) < syncBatch {
			return nil
		}
		return t.flush(ctx)
	}
}

func (t *taker) flush(ctx context.Context) error {
	for _, outcome := range t.store.Append(ctx, t.batch) {
		switch err := outcome.Err; {
		case err == nil, errors.Is(err, store.ErrDuplicate):
			t.taken++
		case errors.Is(err, store.ErrSuperseded), errors.Is(err, store.ErrDeleted), errors.Is(err, store.ErrExpired),
			errors.Is(err, store.ErrBanned), errors.Is(err, store.ErrVanished):
			t.refused++
		default:
			return err
		}
	}
	t.batch = t.batch[:0]
	t.progress.say(fmt.Sprintf("stored %d of %d", t.taken+t.refused, t.need))
	return nil
}
