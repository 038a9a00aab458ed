package storm_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/handlers"
	"fencepost/lifecycle"
	"fencepost/registry"
	"fencepost/registry/index"
	"fencepost/relay"
	"fencepost/relay/access"
	"fencepost/relay/access/group"
	"fencepost/relay/config"
	"fencepost/relay/conn"
	"fencepost/relay/manage"
	"fencepost/relay/metrics"
	"fencepost/relay/outbox"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// assembled is the parts of a relay, of which some can be exchanged for others
// that make a mistake, before they are put together.
type assembled struct {
	store    store.Store
	policy   *access.Policy
	follower *outbox.Follower
	registry *registry.Registry
	index    *index.Index

	self string

	// What is put together, and can be exchanged.
	reading  handlers.Reading
	writing  handlers.Writing
	fanout   outbox.Access // by the follower
	controls outbox.Controls
	progress func(handlers.Progress) handlers.Progress
}

// assemble runs a relay made of the parts that change leaves.
func assemble(t testing.TB, c config.Config, change func(*assembled)) *host {
	t.Helper()
	a := &assembled{registry: registry.New(), index: index.New()}
	a.permit(t, c)
	change(a)
	life := lifecycle.NewGroup(context.Background())
	conns := a.wire(life)
	server := httptest.NewServer(conns)
	life.Go("follower", a.follower.Run)
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		conns.Refuse()
		life.Cancel()
		require.NoError(t, errors.Join(conns.Wait(context.Background()), life.Wait(context.Background()), a.store.Close()))
		server.Close()
	}
	t.Cleanup(stop)
	return &host{
		urls: []string{"ws" + strings.TrimPrefix(server.URL, "http")}, self: a.self, config: c, grace: patience, manage: a.manage, stop: stop,
	}
}

// permit opens the store and makes what decides.
func (a *assembled) permit(t testing.TB, c config.Config) {
	var err error
	a.store, err = relay.OpenStore(t.Context(), c, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	secret := nostr.GeneratePrivateKey()
	sign := func(ev *nostr.Event) error { return ev.Sign(secret) }
	a.self = public(secret)
	book, err := group.New(group.Options{
		Self: a.self, Sign: sign, Now: time.Now,
		Find:     func(context.Context, string) (*wire.Event, bool, error) { return nil, false, nil }, // nothing is deleted
		Prefixed: func(context.Context, string) ([]*wire.Event, error) { return nil, nil },
		Rules:    group.Rules{Create: group.CreateAnyone},
	})
	require.NoError(t, err)
	a.policy = access.New(access.Options{Self: a.self, Sign: sign, Groups: book, Rules: access.Rules{Operator: public(operator)}})
	var none *metrics.Metrics // counts nothing
	a.controls = access.NewCutter(access.CutterOptions{Policy: a.policy, Connections: a.registry, Index: a.index, Metrics: none})
	a.reading, a.writing, a.fanout = a.policy, a.policy, a.policy
	a.progress = func(p handlers.Progress) handlers.Progress { return p }
}

// wire puts the parts together.
func (a *assembled) wire(life *lifecycle.Group) *conn.Server {
	log := slog.New(slog.DiscardHandler)
	var none *metrics.Metrics // counts nothing
	a.follower = outbox.New(outbox.Options{
		Log: a.store, Index: a.index, Access: a.fanout, Controls: a.controls, Metrics: none, Now: time.Now, Logger: log,
	})
	h := handlers.New(handlers.Options{
		Store: a.store, Index: a.index, Progress: a.progress(a.follower), Writing: a.writing, Reading: a.reading, Metrics: none,
		Pool: lifecycle.NewPool(life, 2), Now: time.Now, Logger: log,
		Limits: handlers.Limits{DefaultLimit: 500, AuthWindow: time.Minute},
	})
	c := config.Default()
	return conn.NewServer(life.Context(), conn.Options{
		Open: func(c *lifecycle.Conn) conn.Session { return h.Open(c) }, Sight: a.reading.Sight, OnEnded: h.Ended,
		Limits: lifecycle.Limits{
			QueueFrames: c.Queue.MaxFrames, QueueBytes: int(c.Queue.MaxBytes), HoldFrames: c.Queue.HoldFrames, HoldBytes: int(c.Queue.HoldBytes),
			Subscriptions: c.Subscriptions.Max, Weight: c.Subscriptions.MaxWeight, Queries: c.Subscriptions.Queries,
			Pending: c.Events.Pending, PendingBytes: int(c.Events.PendingBytes), RoomTimeout: c.Queue.RoomTimeout,
		},
		FlushTimeout: time.Second, Registry: a.registry, Logger: log,
	})
}

// manage manages the relay without HTTP.
func (a *assembled) manage(ctx context.Context, method string, of any) error {
	param, err := json.Marshal(of)
	if err != nil {
		return err
	}
	api := manage.New(manage.Options{
		Access: a.policy, Store: a.store, Progress: a.follower, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	_, err = api.Call(ctx, method, []json.RawMessage{param})
	return err
}
