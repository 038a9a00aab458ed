package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"

	"fencepost/lifecycle"
	"fencepost/relay/config"
	"fencepost/relay/mirror"
	"fencepost/relay/store"
	"fencepost/relay/throttle"
	"fencepost/relay/web"
)

// Options make a Relay.
type Options struct {
	Config  config.Config
	Logger  *slog.Logger
	Version string // shown in NIP-11
}

// Relay is one relay process.
type Relay struct {
	// Set at construction, never changed.
	parts    *parts
	log      *slog.Logger
	version  string
	key      identity
	started  config.Config // what needs a restart is in force as it stands here
	listener net.Listener
	server   *http.Server
	group    *lifecycle.Group
	mirrors  []*mirror.Mirror

	config   atomic.Pointer[config.Config] // the running one, swapped whole at reload
	draining atomic.Bool
}

// New opens the store and the listener. ctx bounds the opening, not the relay's
// life. The caller must call Run, which releases both. Of warnings and errors that are
// alike one is logged in a few seconds (throttle), since strangers can cause them.
func New(ctx context.Context, o Options) (*Relay, error) {
	o.Logger = slog.New(throttle.New(o.Logger.Handler(), throttle.Every))
	s, err := OpenStore(ctx, o.Config, o.Logger)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	r := &Relay{log: o.Logger, version: o.Version, started: o.Config}
	if err := r.open(ctx, s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return r, nil
}

// open makes everything that works on s.
func (r *Relay) open(ctx context.Context, s store.Store) (err error) {
	c := r.started
	if r.key, err = openIdentity(ctx, c.Data, s); err != nil {
		return err
	}
	history, err := newHistory(ctx, s)
	if err != nil {
		return err
	}
	may, err := newPermissions(ctx, c, r.key, s, r.log) // after the log: nothing up to its head is left out
	if err != nil {
		return fmt.Errorf("read permissions: %w", err)
	}
	listener, err := listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	r.warn(c)
	r.config.Store(&c)
	r.group = lifecycle.NewGroup(context.WithoutCancel(ctx))
	r.parts = build(r.group, c, s, may, history, nodeName(c, listener.Addr().String()), r.log)
	r.mirrors = r.makeMirrors()
	r.listener = r.parts.conns.Guard(listener, r.sockets(descriptors(), c.Network.MaxConnections))
	r.server = newHTTP(web.New(r.webOptions()), c.Network, r.log)
	return nil
}

// current returns the running configuration.
func (r *Relay) current() config.Config { return *r.config.Load() }

// Addr returns the address that the relay listens on.
func (r *Relay) Addr() net.Addr { return r.listener.Addr() }
