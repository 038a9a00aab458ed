// Package regress is where the relay's promises are held. Nothing but commands
// imports anything below it, and those only what tests no code: race, trace and
// bench.
//
//	trace     reads one connection's messages and frames and says what is wrong
//	harness   a relay in memory that can be parked at its pause points
//	suites    one file a race: park one side, let the other by, check the frames
//	explore   every interleaving of a few operations, against the same checks
//	race      the storm over real sockets, at any relay
//
// Which suite holds which promise (relay/DESIGN.md has their words):
//
//	G1  CLOSE is the end of a generation        suites/close_test.go
//	G2  a newer REQ is the end of the older     suites/replacement_test.go
//	G3  eviction ends what it selected only     suites/evict_test.go
//	G5  a refused REQ ends the older            suites/refused_test.go
//	G6  stored, EOSE, live, without a seam      suites/seam_test.go
//	    a failed query is CLOSED, never EOSE    suites/failure_test.go
//	G7  one predicate for stored and live       suites/predicate_test.go
//	G8  slow readers, and healthy ones          suites/slow_test.go
//	G9  messages take effect in reading order   suites/order_test.go
//	G10 nothing outlives the connection         suites/disconnect_test.go
//	E1  OK comes after the commit               suites/order_test.go
//	E3  the follower delays and drops nothing   suites/failure_test.go
//
// Every suite ends with the trace checker and with the accounting of index and
// queue, so most of them notice when another's promise is broken.
package regress
