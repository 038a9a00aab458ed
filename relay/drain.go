package relay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

const (
	// httpGrace is how long a drain waits for HTTP requests, which are short
	// unless a client makes them long.
	httpGrace = 2 * time.Second
	// stopGrace is how long goroutines may take that were told to stop.
	stopGrace = 5 * time.Second
)

// drain ends the relay: first what comes in, then what goes out, the store last.
// Connections have network.drain_timeout to end; what comes after them has a
// grace of its own, so that the store is not closed while somebody uses it.
func (r *Relay) drain(ctx context.Context) error {
	r.draining.Store(true)
	r.log.Info("draining", "connections", r.parts.registry.Len())
	err := r.listener.Close()
	r.parts.conns.Refuse() // before Each: who is registered later ends itself
	r.parts.registry.Each(func(c *lifecycle.Conn) bool {
		r.endConn(c)
		return true
	})
	err = errors.Join(err, within(ctx, r.current().Network.DrainTimeout, r.parts.conns.Wait), r.stopHTTP(ctx))
	r.group.Cancel() // ends connections too, if any are left
	err = errors.Join(err, within(ctx, stopGrace, r.parts.conns.Wait), within(ctx, stopGrace, r.group.Wait))
	if e := r.parts.store.Close(); e != nil {
		err = errors.Join(err, fmt.Errorf("close store: %w", e))
	}
	r.log.Info("stopped")
	return err
}

// within calls wait with a context that ends after d.
func within(ctx context.Context, d time.Duration, wait func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return wait(ctx)
}

// stopHTTP ends the HTTP server. A request that takes too long is cut off, which
// is the client's fault and no error.
func (r *Relay) stopHTTP(ctx context.Context) error {
	err := within(ctx, httpGrace, r.server.Shutdown)
	if errors.Is(err, context.DeadlineExceeded) {
		err = r.server.Close()
	}
	// Both close the listener again, unless Serve has ended by then.
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("stop serving: %w", err)
	}
	return nil
}

// endConn tells every subscription of c that it ends, then c itself.
func (r *Relay) endConn(c *lifecycle.Conn) {
	for _, h := range c.EvictAll(wire.Because(wire.Failed, "the relay is shutting down")) {
		r.parts.index.Remove(h)
	}
	c.Close(lifecycle.Cause{Code: 1001, Text: "the relay is shutting down"})
}
