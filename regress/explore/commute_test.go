//go:build !nopause

package explore_test

import (
	"strings"

	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
)

// commuting states the independence relation of the reduced scenarios.
const commuting = "steps commute when they touch different connections, and steps that only touch a connection commute with the commit and with the begin of a fan-out"

// touched is what a step may read or write. A connection is its lifecycle lock's
// fields, its goroutines, its handles and their entries in the index, and its
// trace; who adds to the index first only changes the order of candidates, which
// the index leaves open. The relation holds while ReqIndexed, ReqSnapshot, ReqRestarted
// and every point of the fan-out are parked at, queues are roomy enough that
// nobody waits for room, and no event is ephemeral (whether one is owed depends
// on the order of commit and EOSE).
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

// touches says what the step that begins with c may touch at most.
func touches(c explore.Choice) touched {
	name, role, _ := strings.Cut(c.Thread, ".")
	if role != "" {
		t := touched{connection: name}
		switch c.Point {
		case pause.ReqIndexed: // opens the snapshot
			t.log = reads
		case pause.ReqSnapshot: // looks at the log for control rows
			t.log = reads
		case pause.ReqRestarted: // reads the new A, then the log
			t.begun, t.log = reads, reads
		}
		return t
	}
	switch {
	case name == "publisher": // may wake the follower, which reads the log
		return touched{log: writes}
	case c.Point == explore.Start:
		return touched{log: reads}
	case c.Point == pause.FanoutRead:
		return touched{begun: writes}
	default: // looks up, delivers, and may read the next rows
		return touched{connection: "*", log: reads}
	}
}

// commute is the independence relation.
func commute(a, b explore.Choice) bool {
	x, y := touches(a), touches(b)
	return !sameConnection(x.connection, y.connection) && !conflict(x.begun, y.begun) && !conflict(x.log, y.log)
}

func sameConnection(x, y string) bool {
	return x != "" && y != "" && (x == y || x == "*" || y == "*")
}

func conflict(x, y access) bool { return x+y > 2*reads }
