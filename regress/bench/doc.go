// Package bench measures a relay by URL, and beside it what the machine allows:
// fencepost bench. It takes part in no promise; it says what they cost.
//
// A row is one kind of work. It runs in rounds, between two relays in turn
// (A, B, A, B, ...), and a figure is the median of its rounds. The work of a round
// is bounded in count or time. What is published is signed before the clock
// starts and kept in files, so that repeats are quick; messages are put into
// WebSocket frames and masked beforehand; a frame that comes in is looked at only
// as far as counting it needs. So the generator costs a small part of what the
// relay does, and each row says which part.
//
// A figure is given only when the relay did all of the work: every event got
// OK true and was new to it, every event reached each subscription that it
// matches exactly once and no other, every REQ was answered with as many events
// as are stored. Otherwise, and when nothing comes for Options.Patience, the row
// has failed and says why. A row takes for granted that nobody else publishes
// its events to the relay: a second run against the same data needs another seed.
//
// "Per CPU-s" divides by the user and system time of the relay's process, all
// threads, as /proc/PID/stat counts it between the first message sent and the
// last answer received: so it needs the relay's process id, on this machine,
// under Linux. Memory is what /proc/PID/smaps_rollup says: resident pages (RSS),
// and with pages that processes share divided between them (PSS). The memory of
// idle connections is the growth since the start of the run, so it is measured
// first, in one round, and means something only for a relay that was just started.
//
// The limits of the machine are measured in the same run, before, between and
// after the rows, in this process and on the core that it runs on: a signature
// check (as this binary is built: pure Go or libsecp256k1) and writes to sockets
// per CPU-second of the thread that does them, a commit of 100 events to an empty
// embedded store per CPU-second of this process, one fsync by the clock. The bars
// are what the relay is held to, nearly all of them relative to a limit or to
// another figure of the same run. A quick run is held to none.
//
// At scale n the relay first gets n times the stored events, subscriptions and
// subscribers grow by n, and what a single event or REQ finds stays the same. So
// the cost of one unit should stay the same as well. Idle connections, whose cost
// is their own, and the churn's do not grow.
//
// Run blocks until all rows are done; its goroutines end before it returns. Of
// this module it uses only the vocabulary and lifecycle.Group. It needs Linux
// for what /proc tells, and works elsewhere without those figures.
package bench
