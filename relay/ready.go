package relay

import (
	"time"

	"fencepost/relay/store"
	"fencepost/relay/web"
)

// listening is a store of several replicas, which hears of what the others commit.
type listening interface {
	// Listening reports whether it hears of that at once, and not by a poll.
	Listening() bool
}

// hears reports whether commits of other replicas are heard of at once, if there can
// be any.
func hears(s store.Store) bool {
	l, ok := s.(listening)
	return !ok || l.Listening()
}

// readiness says whether a balancer should send clients here (O21): not while the
// relay drains or has lost touch with its log. A listener that is away is no reason
// as long as the poll keeps up.
func (r *Relay) readiness() web.Readiness {
	out := web.Readiness{Position: uint64(r.parts.follower.Applied())}
	if r.draining.Load() {
		out.Reasons = append(out.Reasons, "draining")
	}
	if r.parts.lag() > r.current().Access.MaxLag {
		out.Reasons = append(out.Reasons, "the log was not read to its end for longer than access.max_lag")
	}
	if !hears(r.parts.store) {
		out.Degraded = append(out.Degraded, "listener")
	}
	out.Ready = len(out.Reasons) == 0
	return out
}

// lag returns for how long nothing is known of the log.
func (p *parts) lag() time.Duration { return time.Since(p.follower.Confirmed()) }
