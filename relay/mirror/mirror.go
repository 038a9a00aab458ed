package mirror

import (
	"context"
	crand "crypto/rand"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"fencepost/lifecycle"
	"fencepost/lifecycle/fence"
	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Store keeps fences, and has the events and the log that go up.
type Store interface {
	Append(ctx context.Context, writes []store.Write) []store.Outcome
	Fence(ctx context.Context, s fence.Stream) (fence.State, time.Time, error)
	Snapshot(ctx context.Context) (store.Snapshot, error)
	Log
}

// Log is the log of this relay; see store.Store.
type Log interface {
	Log(ctx context.Context) (store.LogInfo, error)
	ReadLog(ctx context.Context, after store.Position, max int) ([]store.Entry, error)
}

// Submitter judges and commits events; see handlers.Handlers.Publish.
type Submitter interface {
	Publish(ctx context.Context, keys []string, ev *wire.Event, f *store.Fence) (store.Outcome, wire.Reason)
}

// Progress tells how far the relay has followed its log.
type Progress interface {
	Await(ctx context.Context, at store.Position) error
}

// Options make a Mirror. Everything but Patience and Pause must be set.
type Options struct {
	Spec     Spec
	Self     string // the relay's public key, hex: the stream is its
	Secret   string // its secret key, for an upstream that demands AUTH
	Store    Store
	Events   Submitter
	Progress Progress
	Public   func(ev *wire.Event) bool // whether everybody may read ev here; may block
	Now      func() time.Time
	Logger   *slog.Logger
	Patience time.Duration // for an answer of the upstream; 0 is a minute
	Pause    *pause.Hook
}

// Mirror is one mirror, in this process.
type Mirror struct {
	// Set at construction, never changed.
	opt    Options
	spec   Spec
	stream fence.Stream
	log    *slog.Logger
	known  *known

	suspects suspects
	counts   counts
}

// New returns a mirror that does nothing until Run.
func New(o Options) *Mirror {
	if o.Patience <= 0 {
		o.Patience = askTimeout
	}
	name := o.Spec.streamName()
	return &Mirror{
		opt: o, spec: o.Spec, stream: fence.Stream{Owner: o.Self, Name: name}, known: newKnown(),
		log: o.Logger.With("mirror", o.Spec.URL),
	}
}

// Run mirrors whenever this process owns the stream, until ctx ends. Then it gives the
// stream up, so that another process need not wait for the lease.
func (m *Mirror) Run(ctx context.Context) {
	for ctx.Err() == nil {
		token, err := m.claim(ctx)
		switch {
		case err == nil:
			m.own(ctx, token)
		case !store.Refused(err) && ctx.Err() == nil:
			m.log.Warn("mirror cannot be claimed", "err", err)
		}
		lifecycle.Rest(ctx, m.untilFree(ctx)+rand.N(renewEvery/20))
	}
}

// untilFree returns how long to wait before the next claim: until the owner's lease is
// over, if it does not renew it, and never longer than between two renewals.
func (m *Mirror) untilFree(ctx context.Context) time.Duration {
	state, now, err := m.opt.Store.Fence(ctx, m.stream)
	if err != nil {
		return renewEvery
	}
	return min(max(state.Until.Sub(now), 0), renewEvery)
}

// claim makes this process the owner. The error is a *fence.Error while another one is.
func (m *Mirror) claim(ctx context.Context) (fence.Token, error) {
	token := fence.TokenOf(crand.Text())
	change := &fence.Change{New: token, Active: true, Lease: Lease}
	return token, m.write(ctx, &store.Fence{Stream: m.stream, Change: change})
}

func (m *Mirror) write(ctx context.Context, f *store.Fence) error {
	return m.opt.Store.Append(ctx, []store.Write{{Fence: f}})[0].Err
}

// own works as the owner until another process is, or ctx ends.
func (m *Mirror) own(ctx context.Context, token fence.Token) {
	h, err := m.hold(ctx, token)
	if err != nil {
		if ctx.Err() == nil {
			m.log.Warn("mirror cannot be continued", "err", err)
		}
		return
	}
	m.counts.owned.Store(true)
	defer m.counts.owned.Store(false)
	m.log.Info("mirror is owned here")
	h.group.Go("mirror renewal", h.renew)
	h.group.Go("mirror work", h.work)
	<-h.group.Context().Done()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := h.group.Wait(last); err != nil {
		m.log.Error("mirror does not end", "err", err)
		return
	}
	select {
	case err := <-h.group.Failed():
		m.log.Error("mirror ended by a panic", "err", err)
	default:
	}
	h.release(last)
}

// holding is the time for which this process owns the stream.
type holding struct {
	*Mirror
	token fence.Token
	group *lifecycle.Group
	at    *progress
}

func (m *Mirror) hold(ctx context.Context, token fence.Token) (*holding, error) {
	state, _, err := m.opt.Store.Fence(ctx, m.stream)
	if err != nil {
		return nil, err
	}
	cursor, err := decodeCursor(state.Cursor)
	if err != nil {
		return nil, err
	}
	return &holding{Mirror: m, token: token, group: lifecycle.NewGroup(ctx), at: &progress{cursor: cursor}}, nil
}

// renew keeps the lease and the cursor until the stream has another owner.
func (h *holding) renew(ctx context.Context) {
	for ctx.Err() == nil {
		h.opt.Pause.At(pause.MirrorRenewal)
		if err := h.save(ctx); err != nil && ctx.Err() == nil {
			h.log.Warn("mirror's lease cannot be renewed", "err", err)
		}
		lifecycle.Rest(ctx, renewEvery)
	}
}

// save writes the cursor, which renews the lease. It ends the holding when the stream
// has another owner.
func (h *holding) save(ctx context.Context) error {
	err := h.write(ctx, &store.Fence{Stream: h.stream, Token: h.token, Cursor: h.at.get().encode()})
	h.lost(err)
	return err
}

// lost ends the holding when err says that the stream has another owner.
func (h *holding) lost(err error) bool {
	if !store.Refused(err) {
		return false
	}
	h.log.Info("mirror is owned elsewhere", "err", err)
	h.group.Cancel()
	return true
}

// release gives the stream up, with the last cursor. Whoever lost it gives up nothing.
func (h *holding) release(ctx context.Context) {
	err := h.save(ctx)
	if err == nil {
		err = h.write(ctx, &store.Fence{Stream: h.stream, Change: &fence.Change{Expected: h.token, New: h.token, Lease: Lease}})
	}
	if err != nil && !store.Refused(err) {
		h.log.Warn("mirror is not given up", "err", err)
	}
}

// work connects to the upstream again and again.
func (h *holding) work(ctx context.Context) {
	backoff := firstRetry
	for ctx.Err() == nil {
		began := h.opt.Now()
		err := h.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		h.counts.fail(err)
		h.log.Warn("mirror's connection ended", "err", err)
		if h.opt.Now().Sub(began) > settled {
			backoff = firstRetry
		}
		lifecycle.Rest(ctx, backoff/2+rand.N(backoff))
		backoff = min(2*backoff, lastRetry)
	}
}

// errLost ends a session whose stream has another owner.
var errLost = errors.New("the stream has another owner")
