// Package outbox carries the committed log to the subscribers: one follower
// reads it in position order, asks the index for candidates, and delivers to those
// who may see the event.
//
// The follower publishes a position as begun before it looks it up in the
// index, and as applied when it has passed it. A REQ that is indexed first and opens
// its snapshot second misses nothing: what the snapshot does not hold finds it in the
// index.
//
// Control rows are applied at their position, between the events around them:
// what comes after a revocation is decided under it, on every replica alike. Who
// needs a row to be in force waits with Await. Who may see an event is asked once
// an event (Access.Sight), then of each candidate without waiting; a decision from
// outside is left to the connection, which takes it before the frame is written.
//
// Removal rows are told to the changes feeds that asked for them, by what their
// headers match; SightOf of the reader's connection says who may know.
//
// A lost wake-up delays and never drops (E3): a poll is the floor. An error of the
// log is retried with a jittered back-off, and is nobody's fault (O11).
//
// A row that cannot be read, or whose delivery panics before anybody has got it, is
// deferred, and the rows behind it go on (O9), but for those of its aggregate, which
// wait for it (O10): nobody sees the newer state before the older. A deferred row is
// read again and tried up to five times within two seconds or so, and is then a dead
// letter: it is written down (Letters), counted, and the subscriptions that it could
// have matched are ended with CLOSED "error: ..." (O17). What waited for it goes on.
// Of deferred rows only positions are kept, at most 4,096; where there are more, the
// first of the aggregate is a dead letter at once. A row of a newer version of the
// program fares the same, on this replica only (O13). A panic with one candidate ends
// that subscription alone. Requeue has a dead letter tried again.
//
// A control row is never deferred. While it cannot be applied everything behind it is
// kept from everybody (O16), Failing and Fresh say so, and what rests on permissions
// is ended (Readers). The same happens when the end of the log has not been seen for
// MaxLag (O18): Watch looks after that while Run hangs in a read. A read that reaches the
// end confirms as soon as its control rows are in force, before the events behind them are
// decided about. Who was away for more than 256 rows decides about the first ones untrusted.
//
// Run is one goroutine; Step is what it repeats. Watch is another one. Everything
// else may be called anywhere.
package outbox
