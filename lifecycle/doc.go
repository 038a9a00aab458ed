// Package lifecycle is a connection's life: its state, its subscriptions as
// generations, its outbound queue, and the goroutines that live as long as it.
//
// One mutex a connection, the lifecycle lock, guards state, subscription table
// and queue. Nothing blocks inside it: no I/O, no callback, no second lock but the
// crew's, which is held for a few assignments.
// Every frame passes one of the methods here, which lock, compare the handle,
// push and unlock; a frame that is no longer wanted cannot enter, and one that
// is in the queue already is dropped when the writer takes its batch.
//
// A *Handle is one generation of one subscription. Reserve begins it and retires
// its predecessor in the same critical section; Release, Evict, a newer Reserve,
// an overflow or Close retire it, and it never returns. Whoever retires a handle
// gets it back and takes it out of the index.
//
// A generation is that of a REQ or, from ReserveFeed, that of a changes feed, whose
// frames carry positions and whose end is said by ERR. One id has one generation,
// whichever of the two it is.
//
// Callers guarantee that Reserve, ReserveFeed, Refuse, RefuseFeed, Release and
// ReserveAnswer are called by one goroutine, the reader, in the order in which messages were read (G9),
// and Take by one goroutine, the writer. Everything else may be called from
// anywhere. A connection ends in this order: Close (nothing new enters), the
// writer flushes answers, Finish (nothing is left), then Group.Wait.
package lifecycle
