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
	// Losses returns how often it has lost what it hears of that by.
	Losses() uint64
}

// hears reports whether commits of other replicas are heard of at once, if there can
// be any.
func hears(s store.Store) bool {
	l, ok := s.(listening)
	return !ok || l.Listening()
}

// losses returns what a store tells of how often it did not hear, nil if it always does.
func losses(s store.Store) func() uint64 {
	if l, ok := s.(listening); ok {
		return l.Losses
	}
	return nil
}

// refusing is a store that knows whether it takes writes.
type refusing interface {
	// Refusing reports whether the last commit failed, and not because of what it was about.
	Refusing() bool
}

// refuses reports whether nothing can be written, as far as s knows; every store of this
// program does.
func refuses(s store.Store) bool {
	r, ok := s.(refusing)
	return ok && r.Refusing()
}

// counting is a store that counts the events that it could not read.
type counting interface {
	// Damaged returns how often one was left out of an answer, or removed unread.
	Damaged() uint64
}

// readiness says whether a balancer should send clients here.
func (r *Relay) readiness() web.Readiness {
	out := condition{
		draining: r.draining.Load(), lag: r.parts.lag(), maxLag: r.current().Access.MaxLag,
		stuck: r.parts.follower.Stuck(), hears: hears(r.parts.store), refuses: refuses(r.parts.store),
	}.readiness()
	out.Position = uint64(r.parts.follower.Applied())
	return out
}

// condition is what readiness depends on.
type condition struct {
	draining    bool
	lag, maxLag time.Duration
	stuck       bool // at a control row
	hears       bool
	refuses     bool // to write
}

// readiness is no while the relay drains, has lost touch with its log, or cannot go on
// in it. A listener that is away is told and is no reason, as long as the poll keeps
// up (O21), and neither is a store that can be read only.
func (c condition) readiness() (out web.Readiness) {
	if c.draining {
		out.Reasons = append(out.Reasons, "draining")
	}
	if c.lag > c.maxLag {
		out.Reasons = append(out.Reasons, "the log was not read to its end for longer than access.max_lag")
	}
	if c.stuck {
		out.Reasons = append(out.Reasons, "the log cannot be followed: it holds a change of permissions that this program cannot apply")
	}
	if !c.hears {
		out.Degraded = append(out.Degraded, "listener")
	}
	if c.refuses {
		out.Degraded = append(out.Degraded, "writes")
	}
	out.Ready = len(out.Reasons) == 0
	return out
}

// lag returns for how long nothing is known of the log.
func (p *parts) lag() time.Duration { return time.Since(p.follower.Confirmed()) }
