// Package outbox carries the committed log to the subscribers: one follower
// reads it in position order, asks the index for candidates, and delivers.
//
// The follower publishes a position as begun before it looks it up in the
// index, and as applied when it is done with it. A REQ that is indexed first and
// reads begun second misses nothing: what is above finds it in the index, what
// is at or below is in the store.
//
// A lost wake-up delays and never drops (E3): a poll is the floor. An error of
// the log is retried with a jittered back-off; nothing is skipped. Run is one
// goroutine; Step is what it repeats. Begun and Applied may be read anywhere.
package outbox
