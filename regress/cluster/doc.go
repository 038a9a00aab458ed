// Package cluster runs several real replicas over one real database, publishes and
// subscribes on all of them, and judges afterwards what everybody received. The suites
// of this package do it under faults; others may use the parts.
//
// Start runs `fencepost serve` N times over one database, each replica on a port of its
// own that it keeps when it is started again, and, when asked, behind a proxy of its
// own. A Replica can be killed, stopped, continued and started again, and asked for its
// readiness and its metrics.
//
// A Publisher sends one event after another to one replica and repeats each until it is
// accepted, as a client does that wants it to be kept; the Ledger notes when each was
// sent, refused and accepted. A Subscriber holds one subscription on one replica and
// subscribes anew when its connection ends; each Session of it is what one connection
// heard. All of them end by themselves: publishers with their context, subscribers with
// the last word, which is published when all else has been.
//
// Check knows nothing of the relay: it reads the log of the database by a statement of
// its own and compares. Every accepted event is in the log, once. Of each session, what
// was stored and what was live together is every matching event up to the last that it
// heard, each once; live events come in the order of their positions; a session that was
// not cut ends with the last word, so that nothing is missing at the end either. What is
// ephemeral is never stored, and nothing is missing of it from the first live event on.
//
// Times that are bounded are measured in this process, so a Stall runs beside them: how
// late its own timer came is what the machine has added.
package cluster
