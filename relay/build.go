package relay

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"fencepost/handlers"
	"fencepost/lifecycle"
	"fencepost/lifecycle/fence/dapr"
	"fencepost/lifecycle/fence/kv"
	"fencepost/registry"
	"fencepost/registry/index"
	"fencepost/registry/session"
	"fencepost/relay/access"
	"fencepost/relay/access/group"
	"fencepost/relay/config"
	"fencepost/relay/conn"
	"fencepost/relay/manage"
	"fencepost/relay/metrics"
	"fencepost/relay/outbox"
	"fencepost/relay/publish"
	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/postgres"
	"fencepost/relay/store/transfer"
	"fencepost/relay/web"
	"fencepost/relay/web/nip98"
	"fencepost/relay/wire"
)

// What the parts ask of each other.
var (
	_ store.Store        = (*embedded.Store)(nil)
	_ store.Store        = (*postgres.Store)(nil)
	_ keySafe            = (*postgres.Store)(nil)
	_ listening          = (*postgres.Store)(nil)
	_ counting           = (*postgres.Store)(nil)
	_ counting           = (*embedded.Store)(nil)
	_ progress           = (*outbox.Follower)(nil)
	_ transfer.Target    = (*embedded.Store)(nil)
	_ transfer.Target    = (*postgres.Store)(nil)
	_ shared             = (*postgres.Store)(nil)
	_ handlers.Store     = (*embedded.Store)(nil)
	_ handlers.Index     = (*index.Index)(nil)
	_ handlers.Writing   = (*access.Policy)(nil)
	_ handlers.Reading   = (*access.Policy)(nil)
	_ handlers.Progress  = (*outbox.Follower)(nil)
	_ handlers.Accepted  = (*access.Accepted)(nil)
	_ handlers.Metrics   = (*metrics.Metrics)(nil)
	_ outbox.Log         = (*embedded.Store)(nil)
	_ outbox.Log         = (*postgres.Followed)(nil)
	_ outbox.Log         = (*chain)(nil)
	_ outbox.Index       = (*index.Index)(nil)
	_ outbox.Access      = (*access.Policy)(nil)
	_ outbox.Controls    = (*access.Cutter)(nil)
	_ outbox.Controls    = (*purge)(nil)
	_ outbox.Metrics     = (*metrics.Metrics)(nil)
	_ access.Groups      = (*group.Book)(nil)
	_ access.Connections = (*registry.Registry)(nil)
	_ access.Index       = (*index.Index)(nil)
	_ access.Metrics     = (*metrics.Metrics)(nil)
	_ manage.Store       = (*embedded.Store)(nil)
	_ manage.Progress    = (*outbox.Follower)(nil)
	_ manage.Letters     = (*outbox.Follower)(nil)
	_ store.Letters      = (*embedded.Store)(nil)
	_ store.Letters      = (*postgres.Store)(nil)
	_ web.Manager        = (*manage.API)(nil)
	_ web.Roster         = roster{}
	_ store.Sessions     = (*postgres.Store)(nil)
	_ store.Sessions     = (*session.Memory)(nil)
	_ conn.Metrics       = (*metrics.Metrics)(nil)
	_ conn.Session       = (*handlers.Session)(nil)
	_ publish.Store      = (*embedded.Store)(nil)
	_ publish.Submitter  = (*handlers.Handlers)(nil)
	_ publish.Engine     = (*kv.Engine)(nil)
	_ kv.KV              = (*dapr.Client)(nil)
	_ kv.Sink            = (*publish.Sink)(nil)
	_ nip98.Ledger       = (*postgres.Store)(nil)
)

// patience is how long a start waits for a database that does not answer.
const patience = 30 * time.Second

// OpenStore opens the store that c names, which must be closed. The schema of a
// database is brought up to date before, and a database that does not answer is waited
// for, half a minute at most. ctx bounds the opening only.
func OpenStore(ctx context.Context, c config.Config, log *slog.Logger) (store.Store, error) {
	return openStore(ctx, c, log, false)
}

// openStore is OpenStore; for copying also of a store that holds part of another one.
func openStore(ctx context.Context, c config.Config, log *slog.Logger, copying bool) (store.Store, error) {
	if url := c.Store.Postgres.URL.Reveal(); url != "" {
		return opened(postgres.Open(ctx, url, postgres.Options{
			Now: time.Now, Logger: log, MaxConns: c.Store.Postgres.MaxConns, Migrate: true, Patience: patience, Copying: copying,
		}))
	}
	return opened(embedded.Open(c.Data, embedded.Options{
		Now: time.Now, CacheBytes: int64(c.Store.CacheSize()), Search: c.Store.Search, Logger: log, Copying: copying,
	}))
}

// opened returns s, and no store beside an error.
func opened[S store.Store](s S, err error) (store.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// HoldsStore reports whether c names a store that exists. It makes none.
func HoldsStore(ctx context.Context, c config.Config) (bool, error) {
	if c.Store.Postgres.URL == "" {
		return embedded.Exists(c.Data)
	}
	_, version, err := SchemaStatus(ctx, c)
	return version > 0, err
}

// Migration is one step of the schema of a database.
type Migration = postgres.Migration

// ErrNoDatabase says that a configuration names no database.
var ErrNoDatabase = errors.New("store.postgres.url is not set: the embedded store needs no migrations")

// SchemaStatus returns all steps that this program knows, in order, and how many the
// database of c has, which are more when a newer program migrated it.
func SchemaStatus(ctx context.Context, c config.Config) (all []Migration, version int, err error) {
	if c.Store.Postgres.URL == "" {
		return nil, 0, ErrNoDatabase
	}
	return postgres.Status(ctx, c.Store.Postgres.URL.Reveal())
}

// MigrateSchema applies the steps that the database of c lacks and returns them. Of
// several calls at once one works and the others wait for it.
func MigrateSchema(ctx context.Context, c config.Config) ([]Migration, error) {
	if c.Store.Postgres.URL == "" {
		return nil, ErrNoDatabase
	}
	return postgres.Up(ctx, c.Store.Postgres.URL.Reveal())
}

// parts are what New wires together.
type parts struct {
	*permissions
	store    store.Store
	sessions store.Sessions
	registry *registry.Registry
	index    *index.Index
	metrics  *metrics.Metrics
	purge    *purge
	follower *outbox.Follower
	history  *history
	handlers *handlers.Handlers
	conns    *conn.Server
}

// build wires a relay over s. name is that of this replica, h the log up to whose end
// may holds.
func build(g *lifecycle.Group, c config.Config, s store.Store, may *permissions, h *history, name string, log *slog.Logger) *parts {
	p := &parts{permissions: may, store: s, sessions: sessions(s), registry: registry.New(), index: index.New(), metrics: metrics.New()}
	p.cut(access.CutterOptions{Connections: p.registry, Index: p.index, Metrics: p.metrics})
	p.purge = newPurge(s, may.self, may.left, p.cutter, log)
	may.left = nil
	p.follower = outbox.New(outbox.Options{
		Log: h.log, Index: p.index, Access: p.policy, Controls: p.purge, Metrics: p.metrics, Now: time.Now, Logger: log, Start: h.start.Head,
		Readers: p.cutter, MaxLag: trustedFor(c), Letters: lettersOf(s), Replica: name,
	})
	p.policy.Trust(p.follower.Fresh)
	may.progress = p.follower
	p.history, h.applied = h, p.follower.Applied
	p.handlers = handlers.New(handlers.Options{
		Store: s, Index: p.index, Progress: p.follower,
		Writing: p.policy, Reading: p.policy, Metrics: p.metrics,
		Pool: lifecycle.NewPool(g, runtime.GOMAXPROCS(0)),
		Now:  time.Now, Logger: log, Limits: handlerLimits(c), Search: s.Searches(), Replicas: isShared(s),
	})
	o := connOptions(c)
	o.Open = func(c *lifecycle.Conn) conn.Session { return p.handlers.Open(c) }
	o.Sight, o.OnEnded, o.Blocked = p.policy.Sight, p.handlers.Ended, p.policy.Blocked
	o.SightOfRemoved = p.policy.SightOfRemoved
	o.Registry, o.Logger, o.Metrics = p.registry, log, p.metrics
	p.conns = conn.NewServer(g.Context(), o)
	p.metrics.Observe(metrics.Observed{
		Subscriptions: p.index.Len, OutboundBytes: p.outboundBytes, Negotiated: p.handlers.Held, Lag: p.lag,
		Head:      func() uint64 { return uint64(h.head()) },
		Listening: func() bool { return hears(s) },
		Losses:    losses(s),
		Deferred:  func() int { return len(p.follower.Deferred()) },
		Damaged:   damaged(s),
		Refusing:  func() bool { return refuses(s) },
	})
	return p
}

// lettersOf returns where dead letters are kept; every store of this program does so.
func lettersOf(s store.Store) outbox.Letters {
	l, _ := s.(outbox.Letters)
	return l
}

// followed returns the log of s for the follower, which must not wait for clients.
func followed(s store.Store) outbox.Log {
	if p, ok := s.(*postgres.Store); ok {
		return p.Followed()
	}
	return s
}

// isShared reports whether other processes may write to s as well.
func isShared(s store.Store) bool {
	_, ok := s.(shared)
	return ok
}

// damaged returns what counts the events of s that could not be read; every store of this
// program does so.
func damaged(s store.Store) func() uint64 {
	if c, ok := s.(counting); ok {
		return c.Damaged
	}
	return nil
}

// share reports whether two keys are known to be members of a common group.
func (p *parts) share(one, other string) bool { return p.follower.Fresh() && p.book.Share(one, other) }

// trustedFor returns for how long permissions are trusted without a look at the log. The
// one writer of an embedded store is this process.
func trustedFor(c config.Config) time.Duration {
	if c.Store.Postgres.URL == "" {
		return 0
	}
	return c.Access.MaxLag
}

// outboundBytes returns what is queued for all connections.
func (p *parts) outboundBytes() int {
	n := 0
	p.registry.Each(func(c *lifecycle.Conn) bool {
		n += c.Usage().Bytes
		return true
	})
	return n
}

// webOptions are what the HTTP side asks of the relay.
func (r *Relay) webOptions() web.Options {
	p, operators, strangers := r.parts, r.verifier(), r.verifier()
	return web.Options{
		Config: r.current, Socket: p.conns, Gate: p.conns.Gate, Metrics: p.metrics.Handler(), Ready: r.readiness,
		Manager:  manage.New(manage.Options{Access: p.policy, Mirrors: r.mirrorStatus, Store: p.store, Progress: p.follower, Letters: p.follower, Now: time.Now, Logger: r.log}),
		Verifier: operators, Strangers: strangers, Roster: roster{p.sessions, r.current, p.share}, API: r.publishers(strangers), Logger: r.log, Version: r.version, Self: r.key.public, Search: p.store.Searches(),
		Log: p.positions,
	}
}

// positions says from where a changes feed can go on.
func (p *parts) positions(ctx context.Context) (wire.Log, error) {
	info, err := p.store.Log(ctx)
	return wire.Log{Epoch: string(info.Epoch), Floor: uint64(info.Floor), Head: uint64(info.Head)}, err
}

// bases returns the URLs under which r may be asked for (NIP-98).
func (r *Relay) bases(request *http.Request) []string {
	c := r.current()
	if len(c.Relay.URLs) > 0 {
		return c.Relay.URLs
	}
	return []string{conn.ClientPeer(request, c.Network.TrustedProxies).URL}
}

func handlerLimits(c config.Config) handlers.Limits {
	return handlers.Limits{
		Filters: c.Subscriptions.MaxFilters, FilterValues: c.Subscriptions.MaxFilterValues,
		MaxLimit: c.Subscriptions.MaxLimit, DefaultLimit: c.Subscriptions.DefaultLimit,
		MaxTotal: c.Subscriptions.MaxTotal, MaxCount: c.Subscriptions.MaxCount,
		Values: c.Subscriptions.MaxValues, QueryTimeout: c.Subscriptions.QueryTimeout,
		Tags: c.Events.MaxTags, TagValue: c.Events.MaxTagValue, Content: c.Events.MaxContent,
		MinPoW: c.Events.MinPoW, CreatedPast: c.Events.CreatedAtPast, CreatedFuture: c.Events.CreatedAtFuture,
		NegRecords: c.Negentropy.MaxRecords, NegSessions: c.Negentropy.MaxSessions, NegHeld: c.Negentropy.MaxHeld,
		NegFrame: int(c.Negentropy.MaxFrame), NegIdle: c.Negentropy.IdleTimeout,
		AuthWindow: c.Auth.Window, URLs: c.Relay.URLs,
	}
}

func connLimits(c config.Config) lifecycle.Limits {
	return lifecycle.Limits{
		QueueFrames: c.Queue.MaxFrames, QueueBytes: int(c.Queue.MaxBytes),
		HoldFrames: c.Queue.HoldFrames, HoldBytes: int(c.Queue.HoldBytes),
		Subscriptions: config.Bound(c.Subscriptions.Max), Weight: c.Subscriptions.MaxWeight, Queries: c.Subscriptions.Queries,
		Pending: c.Events.Pending, PendingBytes: int(c.Events.PendingBytes), RoomTimeout: c.Queue.RoomTimeout,
	}
}

func connOptions(c config.Config) conn.Options {
	return conn.Options{
		Limits: connLimits(c), CloseAck: c.Subscriptions.CloseAck, MaxMessage: int64(c.WebSocket.MaxMessage),
		PingInterval: c.WebSocket.PingInterval, PongTimeout: c.WebSocket.PongTimeout,
		WriteTimeout: c.WebSocket.WriteTimeout, FlushTimeout: c.WebSocket.FlushTimeout,
		TrustedProxies: c.Network.TrustedProxies, MaxPerAddress: c.Network.MaxConnectionsPerAddress,
		MaxTotal: c.Network.MaxConnections, Compression: c.WebSocket.Compression,
	}
}
