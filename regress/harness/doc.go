// Package harness is a relay in memory for the race suites: real handlers, real
// index, real follower and real connections over the fake store, without
// sockets. It runs inside a testing/synctest bubble.
//
// Nothing happens by itself: a client's Send runs the reader's part of a message
// in the caller, Step runs the follower, Take is the writer. Queries and commits
// run in the connection's goroutines. A Controller parks any of them at a pause
// point, so that a test can put another operation in between.
package harness
