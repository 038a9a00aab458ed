package relay

import (
	"context"
	"time"

	"fencepost/lifecycle"
	"fencepost/relay/metrics"
	"fencepost/relay/mirror"
	"fencepost/relay/wire"
)

// sightPatience bounds the question whether everybody may read an event.
const sightPatience = 5 * time.Second

// makeMirrors makes the mirrors of the configuration, which do nothing yet.
func (r *Relay) makeMirrors() []*mirror.Mirror {
	var all []*mirror.Mirror
	p := r.parts
	for _, m := range r.started.Mirrors {
		spec := mirror.Spec{URL: m.URL, Filter: m.Filter, Direction: mirror.Direction(m.Direction), Start: mirror.Start(m.Start)}
		if spec.Start == mirror.Since {
			spec.Since = m.Since.Unix()
		}
		all = append(all, mirror.New(mirror.Options{
			Spec: spec, Self: r.key.public, Secret: r.key.secret, Store: p.store, Events: p.handlers, Progress: p.follower,
			Public: r.public, Now: time.Now, Logger: r.log,
		}))
	}
	p.metrics.ObserveMirrors(func() []metrics.Mirror { return measured(all) })
	return all
}

// startMirrors runs them until g ends.
func (r *Relay) startMirrors(g *lifecycle.Group) {
	for _, m := range r.mirrors {
		g.Go("mirror", m.Run)
	}
}

// public reports whether everybody may read ev, who authenticated or not.
func (r *Relay) public(ev *wire.Event) bool {
	ctx, cancel := context.WithTimeout(r.group.Context(), sightPatience)
	defer cancel()
	sight := r.parts.policy.Sight(ev)
	may, err := sight.Decide(ctx, nil)
	return may && err == nil
}

// mirrorStatus returns what the mirrors do, for the operator.
func (r *Relay) mirrorStatus() any {
	all := make([]mirror.Status, 0, len(r.mirrors))
	for _, m := range r.mirrors {
		all = append(all, m.Status())
	}
	return all
}

func measured(all []*mirror.Mirror) []metrics.Mirror {
	out := make([]metrics.Mirror, 0, len(all))
	for _, m := range all {
		s := m.Status()
		out = append(out, metrics.Mirror{
			URL: s.URL, Owned: s.Owned, Connected: s.Connected, Failures: s.Failures,
			Events: map[string]uint64{
				"stored": s.Stored, "known": s.Known, "refused": s.Refused, "published": s.Published, "rejected": s.Rejected,
			},
		})
	}
	return out
}
