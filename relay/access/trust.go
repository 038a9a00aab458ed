package access

import (
	"context"
	"slices"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/wire"
)

// reasonStale refuses what rests on permissions that may be out of date.
var reasonStale = wire.Because(wire.Failed, "this relay has lost touch with its log and does not know what you may read; try again")

// Trust has p vouch for what is not for everybody only while fresh says that its state
// is that of the log (O16, O18): at other times such events are shown to nobody, and
// those that are queued are decided about again when they are to be taken. fresh must be
// quick and must not lock. Trust is called once, before anybody asks p. Without it the
// state is trusted at all times.
func (p *Policy) Trust(fresh func() bool) { p.fresh = fresh }

func (p *Policy) isFresh() bool { return p.fresh == nil || p.fresh() }

// vouched makes s hold only while the state is trusted, unless everybody may see the
// event. Whoever may not see it is not told that others could not either.
func (p *Policy) vouched(s lifecycle.Sight) lifecycle.Sight {
	if p.fresh == nil || s.May == nil && s.Ask == nil {
		return s
	}
	s.Grant = s.Grant.While(p.fresh)
	if !p.fresh() {
		s.Ask = func(context.Context, []string) (bool, error) { return false, reasonStale }
	}
	return s
}

// isSecret reports whether strangers may have nothing of what filters ask for, hidden
// groups included.
func (p *Policy) isSecret(filters []*wire.Filter) bool {
	return p.mayRead(nil, filters, func(keys []string, one []*wire.Filter) error {
		return p.lostIn(slices.Concat(one[0].Tags["h"], one[0].Tags["d"]), keys, one[0])
	}) != nil
}

// Distrust ends every subscription that strangers may not have, because the permissions
// may be out of date. One that was judged before and is reserved later is judged again,
// as Version has moved.
func (c *Cutter) Distrust() {
	c.o.Policy.version.Add(1)
	var selected []lost
	c.o.Connections.Each(func(conn *lifecycle.Conn) bool {
		for _, h := range conn.Handles() {
			if c.o.Policy.isSecret(h.Filters()) {
				selected = append(selected, lost{handle: h, reason: reasonStale})
			}
		}
		return true
	})
	c.o.Pause.At(pause.EvictSelected)
	for i := range selected {
		c.evict(&selected[i])
	}
}
