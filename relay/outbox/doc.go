// Package outbox carries the committed log to the subscribers: one follower
// reads it in position order, asks the index for candidates, and delivers to those
// who may see the event.
//
// The follower publishes a position as begun before it looks it up in the
// index, and as applied when it is done with it. A REQ that is indexed first and
// reads begun second misses nothing: what is above finds it in the index, what
// is at or below is in the store.
//
// Control rows are applied at their position, between the events around them:
// what comes after a revocation is decided under it, on every replica alike. Who
// needs a row to be in force waits with Await. Who may see an event is asked once
// an event (Access.Sight), then of each candidate without waiting; a decision from
// outside is left to the connection, which takes it before the frame is written.
//
// A lost wake-up delays and never drops (E3): a poll is the floor. An error of
// the log, or of a control row, is retried with a jittered back-off; nothing is
// skipped, and Failing says so: a row that cannot be applied keeps all that
// follows it from everybody (O16). Run is one goroutine; Step is what it repeats.
// Begun, Applied, Await and Failing may be called anywhere.
package outbox
