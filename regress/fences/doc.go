// Package fences runs writers as processes of their own against real relays and judges
// afterwards what the log has of them.
//
// A Writer claims one stream, publishes event after event, repeats what was not answered,
// and claims again when it is refused. It tells what it did on its standard output, a
// Line each. The suites run six of them on one stream, stop them (SIGSTOP) for longer than
// the lease, kill them when they have claimed, and let them revoke.
//
// Check knows nothing of fences. It reads the log and the tales of the writers: each epoch
// has one writer (P1), epochs never go back (P6), the frames stand in the log in the order
// of their numbers without a hole, each once, and none is missing that was answered (P8,
// P16).
//
// The crash suites kill a child process by SIGKILL while it is parked at a pause point,
// before and after each write, and let another process go on.
package fences
