package relay

import (
	"context"
	"errors"
	"fmt"
	"net"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

// drain ends the relay: first what comes in, then what goes out, the store last.
// It is bounded by network.drain_timeout.
func (r *Relay) drain(ctx context.Context) error {
	r.draining.Store(true)
	r.log.Info("draining", "connections", r.parts.registry.Len())
	ctx, cancel := context.WithTimeout(ctx, r.current().Network.DrainTimeout)
	defer cancel()

	err := r.listener.Close()
	r.parts.conns.Refuse() // before Each: who is registered later ends itself
	r.parts.registry.Each(func(c *lifecycle.Conn) bool {
		r.endConn(c)
		return true
	})
	err = errors.Join(err, r.parts.conns.Wait(ctx))
	// Shutdown closes the listener again, unless Serve has ended by then.
	if e := r.server.Shutdown(ctx); e != nil && !errors.Is(e, net.ErrClosed) {
		err = errors.Join(err, fmt.Errorf("stop serving: %w", e))
	}
	r.group.Cancel()
	err = errors.Join(err, r.group.Wait(ctx))
	if e := r.parts.store.Close(); e != nil {
		err = errors.Join(err, fmt.Errorf("close store: %w", e))
	}
	r.log.Info("stopped")
	return err
}

// endConn tells every subscription of c that it ends, then c itself.
func (r *Relay) endConn(c *lifecycle.Conn) {
	for _, h := range c.EvictAll(wire.Because(wire.Failed, "the relay is shutting down")) {
		r.parts.index.Remove(h)
	}
	c.Close(lifecycle.Cause{Code: 1001, Text: "the relay is shutting down"})
}
