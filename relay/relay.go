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
	self     string        // public key of the relay, hex
	started  config.Config // what needs a restart is in force as it stands here
	listener net.Listener
	server   *http.Server
	group    *lifecycle.Group

	config   atomic.Pointer[config.Config] // the running one, swapped whole at reload
	draining atomic.Bool
}

// New opens the store and the listener. ctx bounds the opening, not the relay's
// life. The caller must call Run, which releases both.
func New(ctx context.Context, o Options) (*Relay, error) {
	s, err := OpenStore(o.Config, o.Logger)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	info, err := s.Log(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read log: %w", err), s.Close())
	}
	self, err := identity(o.Config.Data)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	listener, err := listen(ctx, o.Config.Listen)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	r := &Relay{log: o.Logger, version: o.Version, self: self, started: o.Config}
	r.warn(o.Config)
	r.config.Store(&o.Config)
	r.group = lifecycle.NewGroup(context.WithoutCancel(ctx))
	r.parts = build(r.group, o.Config, s, info.Head, o.Logger)
	r.listener = r.parts.conns.Guard(listener, r.sockets(descriptors(), o.Config.Network.MaxConnections))
	r.server = newHTTP(web.New(r.webOptions()), o.Config.Network, o.Logger)
	return r, nil
}

// current returns the running configuration.
func (r *Relay) current() config.Config { return *r.config.Load() }

// Addr returns the address that the relay listens on.
func (r *Relay) Addr() net.Addr { return r.listener.Addr() }

// readiness says whether a balancer should send clients here.
func (r *Relay) readiness() web.Readiness {
	out := web.Readiness{Position: uint64(r.parts.follower.Applied())}
	if r.draining.Load() {
		out.Reasons = append(out.Reasons, "draining")
	}
	if r.parts.follower.Failing() {
		out.Reasons = append(out.Reasons, "log cannot be read")
	}
	out.Ready = len(out.Reasons) == 0
	return out
}
