// Package regress is where the relay's promises are held. Nothing but commands
// imports anything below it, tests aside, and those only what tests no code: race,
// trace and bench.
//
//	trace     reads one connection's messages and frames and says what is wrong
//	harness   a relay in memory that can be parked at its pause points
//	suites    one file a race: park one side, let the other by, check the frames
//	explore   every interleaving of a few operations, against the same checks
//	mutants   each fence removed by a small edit; a suite must fail
//	race      the storm over real sockets, at any relay
//	bench     how fast any relay is, beside the limits of the machine
//	storm     the same against this relay, in one process
//	kill      SIGKILL, SIGTERM and SIGHUP of a real process
//	postgres  a real PostgreSQL, and a proxy that spoils the way to it
//	cluster   several real processes over one database, under faults
//	fences    six writer processes on one stream; processes killed at pause points
//	dapr      stands in for a Dapr sidecar
//	conformance  the protocol by URL, and real clients from npm
//	browser   headless Chromium
//	arch      the house: imports, sizes, forbidden words
//
// Which suite holds which promise (relay/DESIGN.md has their words):
//
//	G1  CLOSE is the end of a generation        suites/close_test.go
//	G2  a newer REQ is the end of the older     suites/replacement_test.go
//	G3  eviction ends what it selected only     suites/evict_test.go
//	    over real permissions                   suites/cut_test.go
//	G4  a decision holds when its frame is taken
//	    against REQ, CLOSE, fan-out, COUNT      suites/cut_*_test.go
//	    against REQ, replay, queued frames      suites/revoke_req_test.go, revoke_live_test.go
//	    bans, AUTH, reconnections               suites/ban_test.go, revoke_auth_test.go
//	    events on their way into the store      suites/revoke_event_test.go
//	    vanish, deletion, groups                suites/vanish_test.go, group_race_test.go
//	    across replicas                         cluster/revoke_test.go, storm/replicas_test.go
//	G5  a refused REQ ends the older            suites/refused_test.go
//	G6  stored, EOSE, live, without a seam      suites/seam_test.go
//	    a failed query is CLOSED, never EOSE    suites/failure_test.go
//	G7  one predicate for stored and live       suites/predicate_test.go
//	G8  slow readers, and healthy ones          suites/slow_test.go
//	G9  messages take effect in reading order   suites/order_test.go
//	G10 nothing outlives the connection         suites/disconnect_test.go
//	E1  OK comes after the commit               suites/order_test.go
//	E2  one transaction for event and effects   relay/store/storetest
//	E3  the follower delays and drops nothing   suites/failure_test.go
//	P1  one of many claims wins                 lifecycle/fence, relay/store/storetest, fences
//	P3  a token is good until it is replaced    lifecycle/fence, suites/fenced_test.go
//	P5  a lost claim costs one lease            fences/crash_test.go
//	P6  an owner that was replaced is refused   suites/fenced_test.go, relay/store/postgres, lifecycle/fence/kv, fences
//	P7  admission is one write                  lifecycle/fence/kv, fences/crash_test.go
//	P8  one order over all owners               relay/store/storetest, lifecycle/fence/kv, fences
//	P9 to P13  fences beside the store          lifecycle/fence/kv
//	P14 the clock of the database               relay/store/postgres
//	P16 published twice, admitted once          relay/store/storetest, handlers, relay/publish
//	R1  a resume is exact, then live            suites/changes_test.go
//	R2  retention is a resync, never a hole     suites/changes_slow_test.go
//	R3  other histories are found               suites/changes_slow_test.go, handlers/changes_test.go
//	R4  judged when it resumes                  suites/changes_revoke_test.go
//
// Every suite ends with the trace checker and with the accounting of index and
// queue, so most of them notice when another's promise is broken. The checker holds
// every frame to the permissions of the moment at which it was taken, and to those
// of the event's own position: harness.Client.Judge knows them from the log.
package regress
