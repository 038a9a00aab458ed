package access

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Connections are those that are open. One that is registered after Each has begun
// may be missed: it asks the policy itself.
type Connections interface {
	Each(func(*lifecycle.Conn) bool)
}

// Index is where the fan-out finds subscriptions.
type Index interface {
	Remove(h *lifecycle.Handle) bool
}

// Metrics counts what was cut.
type Metrics interface {
	SubscriptionEnded(reason string)
}

// CutterOptions make a Cutter. Everything but Pause must be set.
type CutterOptions struct {
	Policy      *Policy
	Connections Connections
	Index       Index
	Metrics     Metrics
	Pause       *pause.Hook
}

// Cutter ends what depends on permissions that were taken away.
type Cutter struct{ o CutterOptions }

// NewCutter returns a cutter.
func NewCutter(o CutterOptions) *Cutter { return &Cutter{o: o} }

// policyViolation is a close code of RFC 6455 section 7.4.1.
const policyViolation = 1008

// Apply applies a control row to the policy and then ends the subscriptions that
// have lost all they ask for, and the connections of those who are banned. It waits
// for nobody, so it goes on when ctx ends. An error is the policy's, and nothing has
// been cut.
func (c *Cutter) Apply(_ context.Context, e *store.Entry) error {
	change, err := c.o.Policy.Apply(e)
	if err != nil {
		return err
	}
	c.cut(&change)
	return nil
}

// Recheck does the same for everybody, after Policy.SetRules.
func (c *Cutter) Recheck() { c.cut(&Change{Everyone: true}) }

// lost is a subscription that is to end.
type lost struct {
	handle *lifecycle.Handle
	reason wire.Reason
}

// cut chooses handles under the new permissions and acts on those handles only: a
// newer generation of the same id was judged by whoever began it (G3).
func (c *Cutter) cut(change *Change) {
	c.o.Pause.At(pause.ControlChanged)
	if change.nobody() {
		return
	}
	banned, selected := c.choose(change)
	c.o.Pause.At(pause.EvictSelected)
	for _, conn := range banned {
		conn.Close(lifecycle.Cause{Code: policyViolation, Text: change.Why.String()})
	}
	for i := range selected {
		c.evict(&selected[i])
	}
}

// choose looks only at the connections that the change concerns.
func (c *Cutter) choose(change *Change) (banned []*lifecycle.Conn, selected []lost) {
	losers := make(map[string]struct{}, len(change.Keys))
	for _, key := range change.Keys {
		losers[key] = struct{}{}
	}
	c.o.Connections.Each(func(conn *lifecycle.Conn) bool {
		keys := conn.Keys()
		concerned := change.Everyone || isFrom(change.Networks, conn.Peer().Addr) ||
			slices.ContainsFunc(keys, func(key string) bool { _, is := losers[key]; return is })
		switch {
		case !concerned:
		case change.Ban:
			banned = append(banned, conn)
		default:
			selected = c.chooseHandles(selected, change, keys, conn)
		}
		return true
	})
	return banned, selected
}

func (c *Cutter) chooseHandles(selected []lost, change *Change, keys []string, conn *lifecycle.Conn) []lost {
	for _, h := range conn.Handles() {
		if !change.isAbout(h.Filters()) {
			continue
		}
		err := c.o.Policy.lost(change, keys, h.Filters())
		if err == nil {
			continue
		}
		reason := wire.Because(wire.Restricted, "you may not read this any more")
		errors.As(err, &reason)
		selected = append(selected, lost{handle: h, reason: reason})
	}
	return selected
}

// isAbout reports whether the change can have closed a filter. That of a group
// closes what names it, and there can be thousands of subscriptions that do not.
func (c *Change) isAbout(filters []*wire.Filter) bool {
	return c.Group == "" || slices.ContainsFunc(filters, func(f *wire.Filter) bool {
		return f.AsksFor("h", c.Group) || f.AsksFor("d", c.Group)
	})
}

func (c *Cutter) evict(l *lost) {
	if !l.handle.Evict(l.reason) {
		return // race: CLOSE or a newer REQ came first, and has taken it out
	}
	c.o.Pause.At(pause.Evicted)
	c.o.Index.Remove(l.handle)
	c.o.Metrics.SubscriptionEnded(string(l.reason.Prefix))
}

func isFrom(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(net netip.Prefix) bool { return net.Contains(addr.Unmap().WithZone("")) })
}
