package bench

import "time"

// sizes are how much work a round is.
type sizes struct {
	ingest, connections, window         int           // events, connections, events under way on each
	alone                               int           // events
	subscribers, toAll, fanoutWindow    int           // subscribers, events, events under way
	diverse, diverseConnections, toFew  int           // subscriptions, connections, events
	lowSubscribers, low                 int           // subscribers, events
	stored                              int           // events
	askers, questions                   int           // connections, different REQs of each
	asking                              time.Duration // how long REQs are sent
	idle                                int           // connections
	settling                            time.Duration // before memory is measured
	churners, churnPublishers           int           // connections
	churning, cycle, churnPace          time.Duration // how long, between two connections, between two events
	verified, committed, synced, writes int           // of the limits: checks, events, fsyncs, writes
	sockets                             int           // of the limits
}

var usual = sizes{
	ingest: 20_000, connections: 8, window: 64,
	alone:       2000,
	subscribers: 200, toAll: 6000, fanoutWindow: 400,
	diverse: 5000, diverseConnections: 250, toFew: 10_000,
	lowSubscribers: 50, low: 1000,
	stored: 50_000,
	askers: 8, questions: 128, asking: 3 * time.Second,
	idle: 3000, settling: 5 * time.Second,
	churners: 40, churnPublishers: 4, churning: 5 * time.Second, cycle: 50 * time.Millisecond, churnPace: 4 * time.Millisecond,
	verified: 8000, committed: 20_000, synced: 300, writes: 100_000, sockets: 500,
}

var quick = sizes{
	ingest: 400, connections: 8, window: 64,
	alone:       50,
	subscribers: 20, toAll: 50, fanoutWindow: 40,
	diverse: 200, diverseConnections: 10, toFew: 100,
	lowSubscribers: 5, low: 20,
	stored: 1000,
	askers: 4, questions: 16, asking: 100 * time.Millisecond,
	idle: 50, settling: 100 * time.Millisecond,
	churners: 5, churnPublishers: 2, churning: 500 * time.Millisecond, cycle: 50 * time.Millisecond, churnPace: 10 * time.Millisecond,
	verified: 100, committed: 500, synced: 20, writes: 500, sockets: 20,
}

// batched is how many frames go into one write, and batch how many events into
// one commit, of the limits.
const (
	batched = 16
	batch   = 100
)

// scaled grows what a relay has to hold. The frames of a round stay as many.
func (s sizes) scaled(scale int) sizes {
	s.stored *= scale
	s.diverse *= scale
	s.subscribers *= scale
	s.toAll = max(1, s.toAll/scale)
	return s
}
