package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"fencepost/relay/wire"
)

// Direction says which way events go.
type Direction string

// Directions.
const (
	Down Direction = "down" // from the upstream to here
	Up   Direction = "up"   // from here to the upstream
	Both Direction = "both"
)

// Start says with what a mirror begins that never ran.
type Start string

// Starts.
const (
	Now   Start = "now"   // with what comes from now on
	All   Start = "all"   // with everything
	Since Start = "since" // with what was created since a time
	// Reconcile begins with what each side lacks (NIP-77), and so after each connect.
	Reconcile Start = "reconcile"
)

// Spec is what one mirror does.
type Spec struct {
	URL       string       // of the upstream, ws or wss
	Filter    *wire.Filter // without since, until, limit and search
	Direction Direction
	Start     Start
	Since     int64 // Unix seconds, with Start Since
}

func (s *Spec) down() bool { return s.Direction != Up }
func (s *Spec) up() bool   { return s.Direction != Down }

// streamName tells mirrors apart: one with another filter or direction begins anew.
func (s *Spec) streamName() string {
	text := wire.AppendFilter([]byte(s.URL+"\n"+string(s.Direction)+"\n"), s.Filter)
	sum := sha256.Sum256(text)
	return "mirror-" + hex.EncodeToString(sum[:12])
}

const (
	// Lease is how long a mirror without an owner waits for the next one.
	Lease = 15 * time.Second
	// Overlap is how much of what was seen before is fetched again after a connect, for
	// events that came late to the upstream.
	Overlap = 15 * time.Minute
)

const (
	renewEvery = Lease / 3
	parallel   = 16              // events that are judged or published at once
	pageLimit  = 500             // events of one page
	mostOfPage = 2 * pageLimit   // that are read of one, whatever the upstream sends
	mostBytes  = 32 << 20        // the same, in bytes
	readBatch  = 256             // rows of the log that are read at once
	settled    = time.Minute     // a connection that lasted so long resets the back-off
	firstRetry = time.Second     // after a connection that failed
	lastRetry  = time.Minute     // the longest pause between two attempts
	maxTries   = 5               // of an event that the upstream wants to be asked about later
	patience   = 5 * time.Second // for the last words of an owner
)
