package presence

import (
	"time"

	"fencepost/relay/store"
)

// State is one word about a key.
type State string

// States; see the package comment.
const (
	Online  State = "online"
	Idle    State = "idle"
	Stale   State = "stale"
	Offline State = "offline"
	Unknown State = "unknown"
)

// Windows are how long what was observed holds. Idle is the shorter one, or nobody
// would ever be idle (R10): relay/config refuses anything else.
type Windows struct {
	Idle  time.Duration // a client that is quiet for longer is idle
	Stale time.Duration // a node that is silent for longer is stale
}

// Presence is what is known of a key.
type Presence struct {
	State  State
	AsOf   time.Time     // when what State rests on was observed; zero for Unknown
	Age    time.Duration // of that, at the moment of reading
	Active time.Time     // the last message that is known of; zero for Unknown
}

// Of derives the presence of one key from its sessions, which come from one reading
// of the index. The most present one counts.
func Of(sessions []store.SessionSeen, w Windows) Presence {
	best := Presence{State: Unknown}
	for i := range sessions {
		s := &sessions[i]
		p := Presence{State: stateOf(s, w), AsOf: s.Observed, Age: s.Age, Active: s.Active}
		switch {
		case rank(p.State) < rank(best.State), p.State == best.State && p.Age < best.Age:
			p.Active = later(p.Active, best.Active)
			best = p
		default:
			best.Active = later(p.Active, best.Active)
		}
	}
	return best
}

func stateOf(s *store.SessionSeen, w Windows) State {
	silent := s.Age >= w.Stale
	switch {
	case s.Ended && (s.Gone || !silent):
		return Offline
	case s.Ended || silent || s.Gone:
		return Stale
	case s.Observed.Sub(s.Active) >= w.Idle:
		return Idle
	default:
		return Online
	}
}

// rank orders states: what is certain of a session that is open comes first, and an
// open session that nobody reports on outweighs one that ended elsewhere.
func rank(s State) int {
	switch s {
	case Online:
		return 0
	case Idle:
		return 1
	case Stale:
		return 2
	case Offline:
		return 3
	default:
		return 4
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
