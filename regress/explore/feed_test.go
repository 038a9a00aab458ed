//go:build !nopause

package explore_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing/synctest"

	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Live feeds from a position, and one that is over with its EOSE.
const (
	feedApples     = `["CHANGES","x",{"kinds":[1],"since":1,"live":true,"removed":true}]`
	feedPears      = `["CHANGES","x",{"kinds":[2],"since":0,"live":true}]`
	feedOnce       = `["CHANGES","x",{"kinds":[1],"since":1}]`
	feedSecrets    = `["CHANGES","x",{"#h":["club"],"live":true}]`
	feedEverything = `["CHANGES","x",{"kinds":[1,2,9],"live":true,"removed":true}]`
)

// feedPoints are the places of a live CHANGES.
var feedPoints = []pause.Point{
	pause.ReqReserved, pause.ReqStarted, pause.ReqIndexed, pause.ReqBegun, pause.ReqPage, pause.ReqReplayed,
}

// feedScenarios are about changes feeds: R1 to R4, and what holds for every
// generation.
func feedScenarios() []scenario {
	return slices.Concat(feedSeamScenarios(), feedEndScenarios(), feedRevocationScenarios())
}

func feedSeamScenarios() []scenario {
	return []scenario{
		{
			name: "R1 commit, fan-out, CHANGES", points: points(feedPoints, fanoutPoints), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(5), apple(6))
				return []explore.Operation{w.publisher(apple(3)), w.follower(w.head() + 1), a.reader(feedApples)}
			},
		},
		{
			name: "R1 two commits, fan-out, CHANGES, writer", long: true,
			points: only(pause.ReqIndexed, pause.ReqBegun, pause.ReqPage, pause.ReqReplayed, pause.FanoutBegun),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(5), apple(6))
				return []explore.Operation{w.publisher(apple(3), apple(7)), w.follower(w.head() + 2), a.reader(feedApples), a.writer(1)}
			},
		},
		{
			name: "R1 commit that deletes, fan-out, CHANGES", points: points(feedPoints[2:], fanoutPoints), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1), apple(2))
				a.owes(apple(1))
				return []explore.Operation{w.publisher(deletion(apple(1))), w.follower(w.head() + 2), a.reader(feedApples)}
			},
		},
		{
			name: "R1 hold overflows, removal, what is read again from the log", long: true,
			points:  only(pause.ReqReplayed, pause.ReqRestarted, pause.ReqCaughtUp, pause.FanoutBegun, pause.FanoutDecided),
			options: tight(1, 64),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1), apple(2))
				a.owes(apple(1))
				return []explore.Operation{w.publisher(apple(3), deletion(apple(1)), apple(4)), w.follower(w.head() + 4), a.reader(feedApples)}
			},
		},
		{
			name: "R2 retention, CHANGES, writer", points: feedPoints, trims: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1), apple(2), apple(3))
				return []explore.Operation{w.retention(2, 4), a.reader(feedApples), a.writer(1)}
			},
		},
		{
			name: "R2 retention, CHANGES whose hold overflows, fan-out", options: tight(1, 64), trims: true, long: true,
			points: only(pause.ReqReplayed, pause.ReqRestarted, pause.ReqCaughtUp, pause.FanoutBegun),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1))
				return []explore.Operation{
					w.publisher(apple(2), apple(3)), w.follower(w.head() + 2), w.retention(3), a.reader(feedApples),
				}
			},
		},
	}
}

func feedEndScenarios() []scenario {
	short := only(pause.ReqReserved, pause.ReqStarted, pause.ReqIndexed, pause.ReqReplayed)
	return []scenario{
		{
			name: "G2 fan-out, CHANGES by REQ, writer", points: points(reqSteps[:3], fanoutSteps), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1))
				a.follows(feedApples)
				w.commit(apple(2))
				w.commit(pear(1))
				return []explore.Operation{w.follower(w.head()), a.reader(reqPears), a.writer(1)}
			},
		},
		{
			name: "G2 fan-out, REQ by CHANGES, writer", points: points(short, fanoutSteps), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				a.open("x", apples)
				w.commit(apple(2))
				w.commit(pear(1))
				return []explore.Operation{w.follower(w.head()), a.reader(feedPears), a.writer(1)}
			},
		},
		{
			name: "G2 CHANGES, CHANGES, fan-out", points: points(short, only(pause.FanoutDecided)), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1), pear(1))
				w.commit(apple(2))
				w.commit(pear(2))
				return []explore.Operation{w.follower(w.head()), a.reader(feedApples, feedPears)}
			},
		},
		{
			name: "G1 CHANGES, CLOSE, fan-out, writer", points: points(short, closePoints, only(pause.FanoutDecided)), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1), apple(2))
				w.commit(apple(3))
				return []explore.Operation{w.follower(w.head()), a.reader(feedApples, closeX), a.writer(1)}
			},
		},
		{
			name:   "G1 CHANGES that is over with EOSE, CLOSE, writer",
			points: points(only(pause.ReqReserved, pause.ReqStarted, pause.ReqReplayed), closePoints),
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1), apple(2))
				return []explore.Operation{a.reader(feedOnce, closeX), a.writer(2)}
			},
		},
		{
			name: "G3 CHANGES, eviction, CHANGES again", points: points(short, only(pause.EvictSelected, pause.Evicted)), long: true,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1), apple(2))
				return []explore.Operation{w.eviction("eviction", a, "x", apple(1)), a.reader(feedApples, feedPears)}
			},
		},
	}
}

func feedRevocationScenarios() []scenario {
	return []scenario{
		{
			name: "R4 G4 CHANGES, revocation that ends it, writer", long: true,
			points: points(decidePoints, only(pause.ReqJudged, pause.ReqDecided, pause.ReqReplayed, pause.ControlChanged, pause.Evicted)),
			given: func(w *world) []explore.Operation {
				a := w.guest("a")
				w.stored(secret(1))
				return []explore.Operation{w.expulsion(member), w.follower(w.head() + 1), a.reader(feedSecrets), a.writer(2)}
			},
		},
		{
			name: "R4 G4 CHANGES, revocation that leaves something, writer", long: true,
			points: points(decidePoints, only(pause.ReqDecided, pause.ReqReplayed, pause.ControlChanged)),
			given: func(w *world) []explore.Operation {
				a := w.guest("a")
				w.stored(secret(1), apple(1))
				return []explore.Operation{w.expulsion(member), w.follower(w.head() + 1), a.reader(feedEverything), a.writer(2)}
			},
		},
		{
			name:   "R4 G4 CHANGES of a log that is ahead of the permissions, writer",
			points: only(pause.ReqIndexed, pause.ReqBegun, pause.ReqDecided, pause.ReqReplayed, pause.FanoutBegun, pause.ControlChanged), long: true,
			given: func(w *world) []explore.Operation {
				a := w.guest("a")
				w.stored(apple(1))
				w.expel(member)
				w.commit(secret(1))
				return []explore.Operation{w.follower(w.head()), a.reader(feedEverything), a.writer(2)}
			},
		},
		{
			name: "G4 fan-out of a removal, revocation, writer", long: true,
			points: points(controlPoints[:2], decidePoints, fanoutSteps),
			given: func(w *world) []explore.Operation {
				a := w.guest("a")
				w.stored(secret(1), apple(1))
				a.follows(feedEverything)
				w.commit(deletion(secret(1)))
				w.expel(member)
				return []explore.Operation{w.follower(w.head()), a.writer(3)}
			},
		},
	}
}

// follows sends a CHANGES and receives what is there, before the operations begin.
func (c *client) follows(msg string) {
	c.send(msg)
	synctest.Wait()
	c.write()
}

// owes expects that the client is told once that ev was removed.
func (c *client) owes(ev *wire.Event) {
	c.world.last = append(c.world.last, func() {
		if n := c.removals[ev.ID]; n != 1 {
			c.world.problem("%s: the removal of %s was told %d times", c.name, ev.ID, n)
		}
	})
}

// gotChangeLocked checks what the trace does not.
func (c *client) gotChangeLocked(m wire.RelayMessage) {
	switch m.Change {
	case "ERR":
		c.gotClosedLocked(m)
	case "EOSE":
		if s := c.subs[m.Sub]; s != nil && s.feed != nil && !s.feed.Live {
			delete(c.subs, m.Sub) // that was all of it
		}
	case "REMOVED":
		c.removals[m.ID]++
		c.world.relay.Committed(0, func(_ store.Position, ev *wire.Event) {
			if ev.ID == m.ID && !c.Judge().May(store.Position(m.Position), ev) {
				c.world.problem("%s: is told of the removal of %s, which it may not see", c.name, m.ID)
			}
		})
	}
}

// floored is a store whose log begins at a floor.
type floored struct {
	store.Store
	floor *atomic.Uint64
}

func (s floored) ReadLog(ctx context.Context, after store.Position, most int) ([]store.Entry, error) {
	if uint64(after)+1 < s.floor.Load() {
		return nil, store.ErrFloor
	}
	return s.Store.ReadLog(ctx, after, most)
}

func (s floored) Log(ctx context.Context) (store.LogInfo, error) {
	info, err := s.Store.Log(ctx)
	info.Floor = max(info.Floor, store.Position(s.floor.Load()))
	return info, err
}

// retention moves the floor, each time in one step, and never past the follower.
func (w *world) retention(floors ...uint64) explore.Operation {
	return explore.Operation{Name: "retention", Run: func(at func(pause.Point)) {
		for i, floor := range floors {
			if i > 0 {
				at(nextCommit)
			}
			w.floor.Store(min(floor, uint64(w.relay.Follower.Applied())+1))
		}
	}}
}
