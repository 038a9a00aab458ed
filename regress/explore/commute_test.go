//go:build !nopause

package explore_test

import (
	"slices"
	"strings"

	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
)

// commutes states the independence relation of the reduced scenarios.
const commutes = "steps commute when they touch different connections, and steps that only touch a connection commute with the commit and with the begin of a fan-out"

// touched is what a step may read or write. A connection is its lifecycle lock's
// fields, its goroutines, its handles and their entries in the index, and its
// trace; who adds to the index first only changes the order of candidates, which
// the index leaves open. The relation is for REQ and CLOSE of events that no control
// row concerns. It holds while queues are roomy enough that nobody waits for room, and
// no event is ephemeral (whether one is owed depends on the order of commit and EOSE).
type touched struct {
	connection string // "" none, "*" all
	begun      access
	log        access
}

type access uint8

const (
	untouched access = iota
	reads
	writes
)

// also returns what both touch, of one connection.
func (t touched) also(o touched) touched {
	return touched{max(t.connection, o.connection), max(t.begun, o.begun), max(t.log, o.log)}
}

// stretch is the way from a point to the next one.
type stretch struct {
	from pause.Point
	touched
}

// replaying is the way of a REQ, with what it touches beside its connection.
var replaying = []stretch{
	{from: pause.ReqStarted},
	{pause.ReqIndexed, touched{log: reads}}, // opens the snapshot
	{from: pause.ReqSnapshot},
	{from: pause.ReqBegun},
	{from: pause.ReqPage},
	{from: pause.ReqReplayed},
	{pause.ReqRestarted, touched{begun: reads, log: reads}},
	{from: pause.ReqCaughtUp},
	{pause.ReqRestarted, touched{begun: reads, log: reads}}, // again
}

// following is the way of the follower. It looks up and delivers, and goes on with the
// next rows, which it may have to read.
var following = []stretch{
	{explore.Start, touched{log: reads}},
	{pause.FanoutRead, touched{begun: writes}},
	{pause.FanoutBegun, touched{connection: "*", log: reads}},
	{pause.FanoutSelected, touched{connection: "*", log: reads}},
	{pause.FanoutDecided, touched{connection: "*", log: reads}},
	{pause.FanoutRead, touched{begun: writes}}, // of the next row
}

// along returns what a step from a point on touches that ends where stops has the next
// point. Whoever is not on the way may begin it, where there are stops on it.
func along(way []stretch, from pause.Point, stops []pause.Point) (all touched) {
	if !slices.ContainsFunc(way, func(s stretch) bool { return slices.Contains(stops, s.from) }) {
		return all
	}
	at := slices.IndexFunc(way, func(s stretch) bool { return s.from == from })
	for i, s := range way {
		if i > at && slices.Contains(stops, s.from) {
			break
		}
		if i >= at {
			all = all.also(s.touched)
		}
	}
	return all
}

// touches says what the step that begins with c may touch at most, in a scenario that
// parks at stops.
func touches(c explore.Choice, stops []pause.Point) touched {
	name, role, _ := strings.Cut(c.Thread, ".")
	switch {
	case role != "":
		return along(replaying, c.Point, stops).also(touched{connection: name})
	case name == "publisher": // may wake the follower
		return along(following, explore.Start, stops).also(touched{log: writes})
	default:
		return along(following, c.Point, stops)
	}
}

// independent returns the independence relation of a reduced scenario, nil for another.
func (s scenario) independent() func(a, b explore.Choice) bool {
	if !s.reduced {
		return nil
	}
	return func(a, b explore.Choice) bool {
		x, y := touches(a, s.points), touches(b, s.points)
		return !sameConnection(x.connection, y.connection) && !conflict(x.begun, y.begun) && !conflict(x.log, y.log)
	}
}

func sameConnection(x, y string) bool {
	return x != "" && y != "" && (x == y || x == "*" || y == "*")
}

func conflict(x, y access) bool { return x+y > 2*reads }
